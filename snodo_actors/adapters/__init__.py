"""Servers written with other libraries, as runtimes for `snodo_actors.direct`.

Each file needs the library it is for, so none is imported here.
"""
