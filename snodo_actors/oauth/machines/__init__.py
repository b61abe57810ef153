"""The rules of authorization: what is asked, believed and refused, without clock or connection."""
