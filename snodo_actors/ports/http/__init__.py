"""Bytes to and from HTTP servers: one connection each, called a link."""
