"""Redirect URIs that lead to a port of this machine (RFC 8252, section 7.3)."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

ADDRESSES = {
    "127.0.0.1": ("127.0.0.1",),
    "::1": ("::1",),
    # Browsers try one of the two first, and not all the same one.
    "localhost": ("127.0.0.1", "::1"),
}
"""The addresses that each host listens at."""

_PATH = re.compile(r"/[A-Za-z0-9\-._~!$&'()*+,;=:@/]*")


def build_redirect_uri(host: str, port: int, path: str) -> str:
    """Write the redirect URI."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"


def refuse_place(host: str, port: int, path: str) -> str | None:
    """Say what is wrong with where to listen, or None."""
    if host not in ADDRESSES:
        return f"host is {host!r}: write one of {', '.join(ADDRESSES)}, which nobody else reaches"
    if not 0 <= port < 65536:
        return f"port is {port}: write one from 1 to 65535, or 0 for any that is free"
    if _PATH.fullmatch(path) is None or path.startswith("//"):
        return f"path is {path!r}: write one such as '/callback', without a query"
    return None


def read_port(redirect_uri: str | None, path: str) -> int:
    """Find the port of an earlier redirect URI that leads to *path* here; 0: it does not."""
    try:
        parts = urlsplit(redirect_uri or "")
        port = parts.port or 0
    except ValueError:
        return 0
    fits = parts.scheme == "http" and parts.hostname in ADDRESSES and parts.path == path
    return port if fits else 0
