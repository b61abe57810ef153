"""The entries a caller adds to the `_meta` of a request: which keys and trace fields may go out.

Reserved keys may: whoever names one wants it said otherwise than the client says it. The values of
all but the trace fields are the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Any, Final

from snodo_actors.words.checks import mapping
from snodo_actors.words.trace import has_tracestate_form, is_baggage, is_traceparent

_LABEL: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_KEY: Final = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*/)?(?:{_NAME})?")

# A tracestate may be longer here than in `trace_context`: W3C has no limit but that of members.
_TRACE_FIELDS: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    "traceparent": (is_traceparent, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    "tracestate": (has_tracestate_form, "vendor=value,other=value"),
    "baggage": (is_baggage, "key=value,other=value"),
}


def meta_entries(name: str, value: Any, overridden: Container[str] = ()) -> dict[str, Any]:
    """Accept a mapping whose keys `_meta` may have; return a copy, shallow.

    What is *overridden* does not go out, so a trace field among it may say anything.

    Raises:
        TypeError: It is not a mapping with strings as keys, or a trace field is no string.
        ValueError: A key is not as the protocol wants it, or a trace field not as W3C does.
    """
    entries = mapping(name, value)
    for key in entries:
        if _KEY.fullmatch(key) is None:
            raise ValueError(
                f"{name} must have keys of the form name or prefix/name, of letters, digits, - and "
                f". (and _ in a name), not {key[:100]!r}: "
                f'write {name}={{"com.example/name": ...}}'
            )
    for field, (has_form, example) in _TRACE_FIELDS.items():
        if field in entries and field not in overridden:
            _check_trace_field(f"{field} in {name}", entries[field], has_form, example)
    return entries


def _check_trace_field(
    what: str, value: Any, has_form: Callable[[str], bool], example: str
) -> None:
    if not isinstance(value, str):
        raise TypeError(f'{what} must be a string, not {value!r}: write "{example}"')
    if not has_form(value):
        raise ValueError(
            f'{what} must be as W3C defines it, not {value[:100]!r}: write "{example}"'
        )
