"""The bytes of a request."""

from __future__ import annotations

from collections.abc import Iterable


def request_prefix(method: str, target: str, host: str) -> bytes:
    """Write the request line and the host, which were checked where the URL was read."""
    return f"{method} {target} HTTP/1.1\r\nhost: {host}\r\n".encode()


def field_lines(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Write *fields*, which were checked, and have none of host, length, connection."""
    return b"".join([b"%b: %b\r\n" % field for field in fields])


def request_bytes(prefix: bytes, lines: bytes, body: bytes, keep_alive: bool) -> bytes:
    """Write a whole request, with the *lines* of its fields."""
    connection = b"keep-alive" if keep_alive else b"close"
    return b"%b%bcontent-length: %d\r\nconnection: %b\r\n\r\n%b" % (
        prefix,
        lines,
        len(body),
        connection,
        body,
    )
