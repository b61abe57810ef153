"""What the head of an answer settles, whatever its body says.

Knows statuses and fields; knows nothing of JSON-RPC.
"""

from __future__ import annotations

from snodo_actors.machines.answer_deeds import Accepted, Failed, SessionGone, Unauthenticated
from snodo_actors.machines.authorization import Refresh, judge
from snodo_actors.wire.http1 import Head
from snodo_actors.words.lost import content_coded


def settled(
    head: Head, *, wants_response: bool, guarded: bool, refreshed: bool, in_session: bool
) -> Accepted | Unauthenticated | SessionGone | Failed | None:
    """Say what became of the message, where the body makes no difference; None: it does."""
    if guarded and head.status in (401, 403):
        challenges = [value.decode("latin-1") for value in head.all(b"www-authenticate")]
        verdict = judge(head.status, challenges, refreshed=refreshed)
        if isinstance(verdict, Refresh):
            return Unauthenticated(head.status, verdict.challenge)
        if verdict is not None:
            return Failed(verdict.error)
    if in_session and head.status == 404:
        return SessionGone()
    if not wants_response and 200 <= head.status < 300:
        return Accepted()
    if head.first(b"content-encoding") is None:
        return None
    coding = _coding(head)
    return Failed(content_coded(coding)) if coding else None


def _coding(head: Head) -> str:
    """Name what the body was coded with besides `identity`; empty: nothing."""
    codings = [
        coding.strip().decode("latin-1").lower()
        for value in head.all(b"content-encoding")
        for coding in value.split(b",")
    ]
    return ", ".join(coding for coding in codings if coding not in ("", "identity"))
