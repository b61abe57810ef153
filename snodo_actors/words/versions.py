"""Which versions of the protocol this client speaks, and which one of its own it is."""

from __future__ import annotations

# The same as in pyproject.toml; a server is told it as part of the client's name.
LIBRARY = "0.1.0"

STATELESS = "2026-07-28"
INITIALIZE = ("2025-11-25", "2025-06-18")

# Newest first: of several that would do, the first is chosen.
VERSIONS = (STATELESS, *INITIALIZE)


def is_stateless(version: str) -> bool:
    """Tell whether *version* needs no session: each request says everything."""
    return version == STATELESS
