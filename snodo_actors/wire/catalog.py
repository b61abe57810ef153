"""Which methods a version has, and which of them a client may send.

2026-07-28 is open: extensions add methods, so only what the catalog lists as something else than a
client's request is refused. The older versions are closed.
"""

from __future__ import annotations

from typing import Final

from snodo_actors.words.errors import ProtocolError
from snodo_actors.words.failures import method_not_found
from snodo_actors.words.versions import is_stateless

LISTEN: Final = "subscriptions/listen"
DISCOVER: Final = "server/discover"
ROOTS_CHANGED: Final = "notifications/roots/list_changed"

_COMMON_REQUESTS: Final = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "tools/call",
        "tools/list",
    }
)

INITIALIZE_REQUESTS: Final = _COMMON_REQUESTS | {"initialize", "ping"}
STATELESS_REQUESTS: Final = _COMMON_REQUESTS | {DISCOVER, LISTEN}

# What 2026-07-28 lists, but not as a request of the client: the requests a server embeds in an
# `input_required` result, and the notifications of both sides.
STATELESS_OTHERS: Final = frozenset(
    {
        "elicitation/create",
        "roots/list",
        "sampling/createMessage",
        "notifications/cancelled",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    }
)


def refusal(method: str, version: str) -> ProtocolError | None:
    """Say why a client must not send *method* in *version*; None: it may."""
    if is_stateless(version):
        is_allowed = method not in STATELESS_OTHERS
    else:
        is_allowed = method in INITIALIZE_REQUESTS
    return None if is_allowed else method_not_found(method, version)


def notification_refusal(method: str, version: str) -> ProtocolError | None:
    """Say why a caller must not send the notification *method* in *version*; None: it may."""
    is_allowed = method == ROOTS_CHANGED and not is_stateless(version)
    return None if is_allowed else method_not_found(method, version)
