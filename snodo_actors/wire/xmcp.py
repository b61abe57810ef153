"""Arguments that travel as headers too: the `x-mcp-header` annotation of a tool's input schema.

An annotation names the header of one argument. It counts only on a property of a simple type that
is reached from the root through `properties` alone; anywhere else it makes the tool invalid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from snodo_actors.wire.codec import encode
from snodo_actors.words.types import is_list, is_object

ANNOTATION: Final = "x-mcp-header"

_MARK: Final = ANNOTATION.encode()
_ESCAPED_ASCII: Final = b"\\u00"
_PREFIX: Final = "Mcp-Param-"
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TYPES: Final = ("string", "integer", "boolean")
# What stands here is data that happens to look like a schema.
_DATA: Final = frozenset({"const", "default", "enum", "examples"})
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Annotation:
    """The argument at *path* travels in the header *name* too."""

    name: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Invalid:
    """The schema has an annotation that breaks the rules, for *reason*."""

    reason: str


def may_have_annotations(text: bytes | bytearray) -> bool:
    """Tell whether the JSON *text* has an annotation, or may have one that escapes hide."""
    # The one backslash is for speed: a byte is found much faster than four.
    return _MARK in text or (b"\\" in text and _ESCAPED_ASCII in text)


def read_annotations(input_schema: Any) -> tuple[Annotation, ...] | Invalid:
    """Read the annotations of a tool's input schema; one that is no object has none."""
    found: dict[str, Annotation] = {}
    for path, schema in _places(input_schema):
        name = schema[ANNOTATION]
        reason = _breach(path, schema, name)
        if reason is None and name.lower() in found:
            reason = f"the name {name!r} is used twice"
        if reason is not None:
            return Invalid(reason)
        assert path is not None
        found[name.lower()] = Annotation(name, path)
    return tuple(found.values())


def invalid_reason(tool: Mapping[str, Any]) -> str | None:
    """Say why a client must leave out this *tool* over HTTP; None: it is usable."""
    annotations = read_annotations(tool.get("inputSchema"))
    return annotations.reason if isinstance(annotations, Invalid) else None


def param_headers(annotations: Iterable[Annotation], arguments: Any) -> tuple[tuple[str, str], ...]:
    """Build the headers of a call with *arguments*; their values are not yet encoded."""
    pairs = ((a.name, _text(_lookup(arguments, a.path))) for a in annotations)
    return tuple((_PREFIX + name, text) for name, text in pairs if text is not None)


def _breach(path: _Path, schema: Mapping[str, Any], name: Any) -> str | None:
    if path is None:
        return "an annotation is not on a property reached through properties alone"
    if not isinstance(name, str) or not name:
        return f"the name at {'.'.join(path)!r} is no string, or empty"
    if _TOKEN.fullmatch(name) is None:
        return f"the name {name!r} has characters a header must not have"
    if schema.get("type") not in _TYPES:
        return f"the property {'.'.join(path)!r} is not of type string, integer or boolean"
    return None


# Where a schema stands: the names of its properties from the root; None: out of reach.
_Path: TypeAlias = tuple[str, ...] | None


def _places(root: Any) -> Iterator[tuple[_Path, Mapping[str, Any]]]:
    """Find every annotated schema, in the order of the text; the root itself is out of reach."""
    left: list[tuple[_Path, Any]] = [((), root)] if is_object(root) else []
    while left:
        path, value = left.pop()
        if is_list(value):
            left += [(None, item) for item in reversed(value)]
        elif is_object(value):
            if ANNOTATION in value:
                yield path or None, value
            left += reversed(list(_inner(path, value)))


def _inner(path: _Path, schema: Mapping[str, Any]) -> Iterator[tuple[_Path, Any]]:
    for key, value in schema.items():
        if key == "properties" and is_object(value):
            for name, item in value.items():
                yield None if path is None else (*path, name), item
        elif key not in _DATA and key != ANNOTATION:
            yield None, value


def _lookup(arguments: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        arguments = arguments.get(name, _ABSENT) if is_object(arguments) else _ABSENT
    return arguments


def _text(value: Any) -> str | None:
    """Write an argument as a header says it, a number as the body does; None: not at all."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return encode(value).decode()
    return None
