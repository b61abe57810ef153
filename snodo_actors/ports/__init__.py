"""The ports: bytes and calls in and out of this program."""
