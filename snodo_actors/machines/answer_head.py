"""What the head of an answer settles, whatever its body says.

Knows statuses and fields; knows nothing of JSON-RPC.
"""

from __future__ import annotations

from snodo_actors.machines.answer_deeds import Accepted, Failed, SessionGone, Unauthenticated
from snodo_actors.machines.authorization import (
    Guard,
    Refresh,
    SendAgain,
    Tried,
    Unauthorized,
    judge,
)
from snodo_actors.wire.http1 import Head
from snodo_actors.words.lost import content_coded


def refused(head: Head, guard: Guard, tried: Tried) -> Unauthenticated | Failed | None:
    """Say what becomes of a message that the server refused for its token; None: it did not."""
    if head.status not in (401, 403):
        return None
    challenges = [value.decode("latin-1") for value in head.all(b"www-authenticate")]
    match judge(head.status, challenges, guard, tried):
        case Refresh(challenge):
            return Unauthenticated(head.status, challenge)
        case SendAgain(challenge):
            return Unauthenticated(head.status, challenge, same_token=True)
        case Unauthorized(error):
            return Failed(error)
        case _:
            return None


def settled(
    head: Head, *, wants_response: bool, in_session: bool
) -> Accepted | SessionGone | Failed | None:
    """Say what became of the message, where the body makes no difference; None: it does."""
    if in_session and head.status == 404:
        return SessionGone()
    if not wants_response and 200 <= head.status < 300:
        return Accepted()
    return Failed(content_coded(head.coding)) if head.coding else None
