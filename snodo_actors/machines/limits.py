"""What is said to a request for which there is no room."""

from __future__ import annotations

from snodo_actors.words.errors import TransportError


def no_room(limit: int) -> TransportError:
    """As many requests as may wait, *limit*, are waiting already."""
    return TransportError(
        -32000,
        f"{limit} requests are waiting already; send fewer at a time, or try again later",
        cause=("max_waiting", limit),
        delivery="never_sent",
    )
