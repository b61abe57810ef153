from __future__ import annotations

import pytest

from snodo_actors.wire.policy import Mirror, Policy, core_policy, extension_policy
from snodo_actors.words.errors import TransportError
from snodo_actors.words.versions import STATELESS

MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "x/y", "params": {}}
MINE = [(STATELESS, "x/y")]


class Extension:
    """Owns some methods, with a hook or none."""

    def __init__(self, methods, hook=None) -> None:
        self.methods = methods
        if hook is not None:
            self.transport_policy = hook


def fail(message, policy):
    raise RuntimeError("broken")


def with_mirror(mirror):
    return lambda message, policy: Policy(mirrors=(*policy.mirrors, mirror))


def test_an_extension_without_a_hook_travels_as_the_core_does() -> None:
    assert extension_policy(Extension(MINE), STATELESS, MESSAGE) == core_policy(STATELESS, "x/y")
    assert extension_policy(Extension([list(MINE[0])]), STATELESS, MESSAGE) == core_policy(
        STATELESS, "x/y"
    )


def test_an_extension_adapts_the_policy_of_the_core() -> None:
    seen = []
    mirror = Mirror("mcp-name", ("params", "taskId"))

    def hook(message, policy):
        seen.append((message, policy))
        return Policy(mirrors=(*policy.mirrors, mirror))

    policy = extension_policy(Extension(MINE, hook), STATELESS, MESSAGE)

    assert seen == [(MESSAGE, core_policy(STATELESS, "x/y"))]
    assert policy == Policy(mirrors=(*core_policy(STATELESS, "x/y").mirrors, mirror))


@pytest.mark.parametrize(
    "extension",
    [
        Extension([]),
        Extension([("2025-11-25", "x/y")]),
        Extension([(STATELESS, "x/z")]),
        Extension(None),
        Extension([5]),
        object(),
        Extension(MINE, fail),
        Extension(MINE, lambda message, policy: None),
        Extension(MINE, lambda message, policy: {"mirrors": ()}),
        Extension(MINE, lambda: None),
        Extension(MINE, 5),
        Extension(MINE, lambda message, policy: Policy(mirrors=None)),
        Extension(MINE, lambda message, policy: Policy(mirrors=(("a", "b"),))),
        Extension(MINE, lambda message, policy: Policy(content_type=5)),
        Extension(MINE, lambda message, policy: Policy(accept="a\r\nb: c")),
        Extension(MINE, with_mirror(Mirror("Content-Length", ("method",)))),
        Extension(MINE, with_mirror(Mirror("authorization", ("method",)))),
        Extension(MINE, with_mirror(Mirror("a b", ("method",)))),
        Extension(MINE, with_mirror(Mirror("", ("method",)))),
        Extension(MINE, with_mirror(Mirror(5, ("method",)))),
        Extension(MINE, with_mirror(Mirror("a", 5))),
        Extension(MINE, with_mirror(Mirror("a", ()))),
    ],
)
def test_an_extension_that_cannot_send_is_told(extension) -> None:
    error = extension_policy(extension, STATELESS, MESSAGE)

    assert isinstance(error, TransportError)
    assert (error.code, error.cause, error.delivery) == (-32000, extension, "never_sent")


def test_what_a_hook_raised_is_shown() -> None:
    error = extension_policy(Extension(MINE, fail), STATELESS, MESSAGE)

    assert "RuntimeError('broken')" in str(error)
    assert isinstance(error.__cause__, RuntimeError)
