"""JSON schemas of Python types, and values between the two; msgspec knows how."""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any, get_args, get_origin

import msgspec

from snodo_actors.words.types import JSONObject, is_list, is_object

_PLACE = "#/$defs/{name}"


def schema_of(type_: Any) -> JSONObject:
    """Build the schema of *type_*, with what it refers to under `$defs`.

    Raises:
        TypeError: The type has no form in JSON.
    """
    (schema,), parts = msgspec.json.schema_components([type_], ref_template=_PLACE)
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    if name in parts and set(schema) == {"$ref"} and not _refers_to(parts, name):
        schema = parts.pop(name)
    return {**schema, "$defs": parts} if parts else schema


def _refers_to(value: Any, name: str) -> bool:
    if is_object(value):
        refers = value.get("$ref") == f"#/$defs/{name}"
        return refers or any(_refers_to(item, name) for item in value.values())
    return is_list(value) and any(_refers_to(item, name) for item in value)


def to_json(value: Any) -> Any:
    """Turn *value* into dicts, lists and scalars of its own.

    Raises:
        TypeError: It has no form in JSON.
    """
    return msgspec.to_builtins(value, str_keys=True)


def described(type_: Any) -> Any:
    """Take a plain string in `Annotated` for a description."""
    if get_origin(type_) is not Annotated:
        return type_
    inner, *notes = get_args(type_)
    for note in notes:
        inner = Annotated[inner, msgspec.Meta(description=note) if isinstance(note, str) else note]
    return inner


def without(type_: Any, unwanted: tuple[Any, ...]) -> Any:
    """Take the *unwanted* types out of a union."""
    if get_origin(type_) not in (typing.Union, types.UnionType):
        return type_
    kept = tuple(part for part in get_args(type_) if part not in unwanted)
    return typing.Union[kept] if kept else None  # noqa: UP007  # of as many as there are
