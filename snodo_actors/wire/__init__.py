"""Bytes to messages and back: no input, no output, no clock."""
