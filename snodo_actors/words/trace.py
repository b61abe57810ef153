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
    """Tell whether *value* is a tracestate; it may be empty, and so may its members."""
    members = [member.strip(" \t") for member in value.split(",")]
    if len(value.encode(errors="replace")) > _MAX_LENGTH or len(members) > _MAX_MEMBERS:
        return False
    pairs = [member.partition("=")[::2] for member in members if member]
    keys = {key for key, _ in pairs}
    return len(keys) == len(pairs) and all(
        _KEY.fullmatch(key) and _VALUE.fullmatch(item) for key, item in pairs
    )
