"""The cases of `actors.py`: each measures one thing in one system, in a process of its own."""
