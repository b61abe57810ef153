"""The options of every client, however it is connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from snodo_actors.words.capabilities import merge_capabilities
from snodo_actors.words.checks import (
    boolean,
    is_iterable,
    mapping,
    positive,
    seconds,
    takes_one_argument,
    text,
)
from snodo_actors.words.errors import ProtocolError
from snodo_actors.words.failures import unknown_protocol
from snodo_actors.words.types import InputHandler, InputKind, JSONObject, is_mapping
from snodo_actors.words.versions import LIBRARY, VERSIONS

TIMEOUT: Final = 30.0
PROBE_TIMEOUT: Final = 10.0
MAX_INPUT_ROUNDS: Final = 10
MAX_PAGES: Final = 1000

_KINDS: Final[tuple[InputKind, ...]] = ("form", "url", "sampling", "roots")


def allowed_versions(protocol: Any = VERSIONS) -> tuple[str, ...] | ProtocolError:
    """Read the `protocol` option: the versions it allows, newest first, or why it allows none.

    Raises:
        TypeError: It is no string and no list of strings.
        ValueError: It is an empty list.
    """
    example = 'write protocol="2026-07-28" or protocol=["2026-07-28", "2025-11-25"]'
    names: Any = [protocol] if isinstance(protocol, str) else protocol
    if not is_iterable(names):
        raise TypeError(f"protocol must be a version or a list of versions: {example}")
    names = list(names)
    if not names:
        raise ValueError(f"protocol must name a version: {example}")
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"protocol must be strings, not {names!r}: {example}")
    unknown = [name for name in names if name not in VERSIONS]
    if unknown:
        return unknown_protocol(unknown[0])
    return tuple(version for version in VERSIONS if version in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """What `connect` and `direct` both take; times are seconds, and None means no limit.

    `capabilities` is what is sent: the declared ones, with what the input handlers imply.
    """

    client_capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    client_info: Mapping[str, Any] = field(
        default_factory=lambda: {"name": "snodo", "version": LIBRARY}
    )
    input_handlers: Mapping[InputKind, InputHandler] = field(
        default_factory=dict[InputKind, InputHandler]
    )
    max_input_rounds: int = MAX_INPUT_ROUNDS
    max_pages: int = MAX_PAGES
    cache: bool = False
    timeout: float | None = TIMEOUT
    probe_timeout: float | None = PROBE_TIMEOUT
    auth: Any = None
    capabilities: JSONObject = field(init=False)

    def __post_init__(self) -> None:
        declared = mapping("client_capabilities", self.client_capabilities)
        handlers = _handlers(self.input_handlers)
        checked: dict[str, Any] = {
            "client_capabilities": declared,
            "client_info": _client_info(self.client_info),
            "input_handlers": handlers,
            "max_input_rounds": positive("max_input_rounds", self.max_input_rounds),
            "max_pages": positive("max_pages", self.max_pages),
            "cache": boolean("cache", self.cache),
            "timeout": seconds("timeout", self.timeout),
            "probe_timeout": seconds("probe_timeout", self.probe_timeout),
            "capabilities": merge_capabilities(declared, handlers),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def _client_info(value: Any) -> JSONObject:
    info = mapping("client_info", value)
    example = 'write client_info={"name": "my-program", "version": "1.0"}'
    if "name" not in info or "version" not in info:
        raise ValueError(f"client_info needs a name and a version: {example}")
    if not text("client_info['name']", info["name"]):
        raise ValueError(f"client_info needs a name that is not empty: {example}")
    text("client_info['version']", info["version"])
    return info


def _handlers(value: Any) -> dict[InputKind, InputHandler]:
    example = 'write input_handlers={"form": answer_form}'
    if not is_mapping(value):
        raise TypeError(f"input_handlers must be a mapping, not {value!r}: {example}")
    handlers = dict(value)
    for kind, handler in handlers.items():
        if kind not in _KINDS:
            raise ValueError(f"input_handlers has no kind {kind!r}, only {', '.join(_KINDS)}")
        if not takes_one_argument(handler):
            raise TypeError(f"the {kind} handler must be a function of one argument: {example}")
    return handlers
