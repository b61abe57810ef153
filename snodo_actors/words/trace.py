"""The W3C trace fields of a request: which values are valid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_MAX_LENGTH: Final = 512
_MAX_MEMBERS: Final = 32

_TRACEPARENT: Final = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<parent>[0-9a-f]{16})-[0-9a-f]{2}"
    r"(?P<more>|-[\x20-\x7e]*)"
)
_KEY: Final = re.compile(r"[a-z0-9][a-z0-9_*/@-]{0,255}")
_VALUE: Final = re.compile(r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]")

_MAX_BAGGAGE_MEMBERS: Final = 180
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"  # noqa: S105  # a word of HTTP's grammar
_PAIR: Final = rf"{_TOKEN}[ \t]*+=[ \t]*+[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*+"
_BAGGAGE_MEMBER: Final = re.compile(rf"{_PAIR}(?:[ \t]*+;[ \t]*+(?:{_PAIR}|{_TOKEN}))*+[ \t]*+")


def check_trace_context(value: Any) -> dict[str, str]:
    """Return the `_meta` entries of a trace context.

    Raises:
        TypeError: It is not a mapping of `traceparent` and perhaps `tracestate` to strings.
        ValueError: One of them is not as W3C defines it.
    """
    if not isinstance(value, Mapping):
        raise TypeError(
            'trace_context must be a mapping: write trace_context={"traceparent": "00-..."}'
        )
    entries: dict[Any, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType]
    if "traceparent" not in entries or not entries.keys() <= {"traceparent", "tracestate"}:
        raise ValueError("trace_context needs traceparent, may have tracestate, and nothing else")
    for name, item in entries.items():
        if not isinstance(item, str):
            raise TypeError(f"{name} must be a string, not {item!r}")
    if not is_traceparent(entries["traceparent"]):
        raise ValueError(f"not a W3C traceparent: {entries['traceparent'][:100]!r}")
    if not is_tracestate(entries.get("tracestate", "")):
        raise ValueError(f"not a W3C tracestate: {entries['tracestate'][:100]!r}")
    return entries


def is_traceparent(value: str) -> bool:
    """Tell whether *value* is a traceparent of version 00, or of one to come."""
    fields = _TRACEPARENT.fullmatch(value) if len(value) <= _MAX_LENGTH else None
    if fields is None or fields["version"] == "ff":
        return False
    if fields["version"] == "00" and fields["more"]:
        return False
    return fields["trace"].strip("0") != "" and fields["parent"].strip("0") != ""


def is_tracestate(value: str) -> bool:
    """Tell whether *value* is a tracestate of 512 bytes at most, which every system passes on."""
    return len(value.encode(errors="replace")) <= _MAX_LENGTH and has_tracestate_form(value)


def has_tracestate_form(value: str) -> bool:
    """Tell whether *value* is a tracestate; it may be empty, and so may its members."""
    members = [member.strip(" \t") for member in value.split(",")]
    pairs = [member.partition("=")[::2] for member in members if member]
    keys = {key for key, _ in pairs}
    return (
        len(members) <= _MAX_MEMBERS
        and len(keys) == len(pairs)
        and all(_KEY.fullmatch(key) and _VALUE.fullmatch(item) for key, item in pairs)
    )


def is_baggage(value: str) -> bool:
    """Tell whether *value* is a baggage: pairs, which may have properties; a key may come twice."""
    members = [member.strip(" \t") for member in value.split(",")]
    return len(members) <= _MAX_BAGGAGE_MEMBERS and all(map(_BAGGAGE_MEMBER.fullmatch, members))
