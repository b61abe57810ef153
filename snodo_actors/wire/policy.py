"""How a message travels over HTTP: its media types, and what of it is said in headers too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from snodo_actors.wire.meta import PROTOCOL_VERSION
from snodo_actors.words.errors import TransportError
from snodo_actors.words.lost import bad_extension
from snodo_actors.words.types import JSONObject
from snodo_actors.words.versions import is_stateless

# What the transport decides alone, and no policy may say.
OWNED: Final = frozenset({
    "authorization", "connection", "content-length", "content-type", "host", "transfer-encoding",
})  # fmt: skip

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class Mirror:
    """The string at *path* of the body travels in *header* too, encoded where it must be."""

    header: str
    path: tuple[str, ...]
    is_encoded: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """The media types of a request and its answer, and the mirrored headers."""

    content_type: str = "application/json"
    accept: str = "application/json, text/event-stream"
    mirrors: tuple[Mirror, ...] = ()


class Extension(Protocol):
    """What owns methods outside the core; `transport_policy(message, policy)` is optional."""

    @property
    def methods(self) -> Iterable[tuple[str, str]]:
        """The methods it owns, as pairs of protocol version and name."""
        ...


_PLAIN: Final = Policy()
_BASE: Final = (
    Mirror("mcp-protocol-version", ("params", "_meta", PROTOCOL_VERSION), is_encoded=False),
    Mirror("mcp-method", ("method",), is_encoded=False),
)
_STATELESS: Final = Policy(mirrors=_BASE)
NAMED_BY: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Which of its params says, by method, what a request is about."""

_NAMED: Final = {
    method: Policy(mirrors=(*_BASE, Mirror("mcp-name", ("params", field))))
    for method, field in NAMED_BY.items()
}


def core_policy(version: str | None, method: str) -> Policy:
    """Say how the core sends *method* in *version*; None: the version is not settled."""
    if version is None or not is_stateless(version):
        return _PLAIN
    return _NAMED.get(method, _STATELESS)


def extension_policy(extension: Any, version: str, message: JSONObject) -> Policy | TransportError:
    """Say how *extension* wants its *message* sent."""
    method = message["method"]
    base = core_policy(version, method)
    try:
        is_owner = (version, method) in {tuple(pair) for pair in extension.methods}
        adapt = getattr(extension, "transport_policy", None)
        policy = base if adapt is None else adapt(message, base)
        is_valid = is_owner and _is_policy(policy)
    except Exception as error:  # noqa: BLE001  # a foreign hook may raise anything
        return bad_extension(extension, error)
    return policy if is_valid else bad_extension(extension)


def _is_policy(policy: Any) -> bool:
    if not isinstance(policy, Policy):
        return False
    values: list[Any] = [policy.content_type, policy.accept]
    mirrors: list[Any] = list(policy.mirrors)
    return all(isinstance(value, str) and _VALUE.fullmatch(value) for value in values) and all(
        isinstance(mirror, Mirror) and tuple(mirror.path) and _may_mirror_in(mirror.header)
        for mirror in mirrors
    )


def _may_mirror_in(header: Any) -> bool:
    return (
        isinstance(header, str)
        and _NAME.fullmatch(header) is not None
        and header.lower() not in OWNED
    )
