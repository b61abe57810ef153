from __future__ import annotations

import pytest

from snodo_actors.wire.catalog import ROOTS_CHANGED, notification_refusal, refusal
from snodo_actors.words.versions import INITIALIZE, STATELESS

EVERYWHERE = [
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "completion/complete",
]
NEW = ["server/discover", "subscriptions/listen"]
OLD = ["initialize", "ping"]
# asked by the server, or said by either side
OTHERS = [
    "elicitation/create",
    "roots/list",
    "sampling/createMessage",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "notifications/subscriptions/acknowledged",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
]
UNLISTED = [
    "tasks/get",
    "tasks/list",
    "logging/setLevel",
    "resources/subscribe",
    "notifications/initialized",
    "Tools/list",
    "",
    "x/y",
]


@pytest.mark.parametrize("method", EVERYWHERE + NEW + OLD + UNLISTED)
def test_the_newest_version_is_open(method) -> None:
    assert refusal(method, STATELESS) is None


@pytest.mark.parametrize("version", INITIALIZE)
@pytest.mark.parametrize("method", EVERYWHERE + OLD)
def test_the_older_ones_have_their_requests(method, version) -> None:
    assert refusal(method, version) is None


REFUSED = [
    *((method, STATELESS) for method in OTHERS),
    *((method, version) for method in OTHERS + NEW + UNLISTED for version in INITIALIZE),
]


@pytest.mark.parametrize(("method", "version"), REFUSED)
def test_what_a_client_does_not_ask_is_refused(method, version) -> None:
    error = refusal(method, version)

    assert error is not None
    assert (error.code, error.kind, error.delivery) == (-32601, "protocol", "never_sent")
    assert error.data == {"method": method, "protocolVersion": version}


@pytest.mark.parametrize("version", INITIALIZE)
def test_the_older_ones_are_told_of_new_roots(version) -> None:
    assert notification_refusal(ROOTS_CHANGED, version) is None


@pytest.mark.parametrize(
    ("method", "version"),
    [
        (ROOTS_CHANGED, STATELESS),
        *(("notifications/initialized", version) for version in INITIALIZE),
    ],
)
def test_other_notifications_are_not_the_caller_s(method, version) -> None:
    error = notification_refusal(method, version)

    assert error is not None
    assert (error.code, error.delivery) == (-32601, "never_sent")
    assert error.data == {"method": method, "protocolVersion": version}
