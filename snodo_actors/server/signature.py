"""What a function takes and gives: its parameters as a schema, and arguments as its parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Union, get_type_hints

import msgspec

from snodo_actors.server.call import Call
from snodo_actors.server.content import Block, ToolResult
from snodo_actors.server.inputs import InputNeeded
from snodo_actors.server.schemas import described, schema_of, to_json, without
from snodo_actors.words.types import InputRequired, JSONObject

_MARKS = (InputNeeded, InputRequired)
_NO_SCHEMA = (*_MARKS, Any, object, None, type(None), str, Block, list[Block], ToolResult)
"""Return types that are content only, or say nothing."""


class Signature:
    """The signature of the function *what*, which may take the `Call` too.

    Raises:
        TypeError: A hint cannot be read, or has no form in JSON.
    """

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        self.function = function
        self.what = what
        self._hints = _hints(function, what)
        parameters = inspect.signature(function).parameters
        self._call_name = next((name for name in parameters if self._hints.get(name) is Call), None)
        self._parameters = {
            name: parameter for name, parameter in parameters.items() if name != self._call_name
        }

    @property
    def description(self) -> str | None:
        """The function's docstring."""
        return inspect.getdoc(self.function) if inspect.isroutine(self.function) else None

    @property
    def names(self) -> list[str]:
        """The names of the parameters, but for the call."""
        return list(self._parameters)

    def required(self, name: str) -> bool:
        """Tell whether a parameter has no default."""
        return self._parameters[name].default is inspect.Parameter.empty

    def called(self, call: Call, *values: Any, **named: Any) -> Callable[[], Any]:
        """The call of the function with these values; as many of the first as it takes."""
        if self._call_name is not None:
            named = {**named, self._call_name: call}
        taken = values[: len(self._parameters)]
        return functools.partial(self.function, *taken, **named)

    @functools.cached_property
    def _arguments(self) -> type[msgspec.Struct]:
        fields: list[Any] = []
        for name, parameter in self._parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError(
                    f"{self.what} takes *{name}, which has no schema: name its parameters, or give "
                    "input_schema="
                )
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise TypeError(f"{self.what} takes {name!r} by position only: let it have a name")
            hint = described(self._hints.get(name, Any))
            if self.required(name):
                fields.append((name, hint))
            else:
                fields.append((name, Union[hint, msgspec.UnsetType], msgspec.UNSET))  # noqa: UP007  # hints need not know `|`
        return msgspec.defstruct("Arguments", fields, kw_only=True)

    def input_schema(self) -> JSONObject:
        """The schema of the arguments.

        Raises:
            TypeError: A parameter has no form in JSON.
        """
        try:
            schema = schema_of(self._arguments)
        except TypeError as error:
            raise TypeError(
                f"{self.what} has a parameter without a form in JSON; change its type, or give "
                f"input_schema= ({error})"
            ) from None
        schema.pop("title", None)
        properties = schema.setdefault("properties", {})
        for name in self.names:
            default = self._parameters[name].default
            if not self.required(name) and _has_form(default):
                properties[name] = {**properties[name], "default": to_json(default)}
        return schema

    def arguments(self, values: Mapping[str, Any], *, are_texts: bool = False) -> dict[str, Any]:
        """Turn the *values* of a request into the arguments of the function.

        Where they *are_texts*, one such as "7" may become a number.

        Raises:
            msgspec.ValidationError: They do not fit; its text says which.
        """
        struct = msgspec.convert(values, self._arguments, strict=not are_texts)
        named = {name: getattr(struct, name) for name in self.names}
        return {name: value for name, value in named.items() if value is not msgspec.UNSET}

    def output_schema(self) -> JSONObject | None:
        """The schema of what the function returns; None if that is text, content or unknown.

        Raises:
            TypeError: The return type has no form in JSON.
        """
        hint = without(self._hints.get("return", Any), _MARKS)
        if hint in _NO_SCHEMA:
            return None
        try:
            return schema_of(described(hint))
        except TypeError as error:
            raise TypeError(
                f"{self.what} returns a type without a form in JSON; change it, or give "
                f"structured=False ({error})"
            ) from None


def _hints(function: Callable[..., Any], what: str) -> dict[str, Any]:
    plain: Any = function
    while isinstance(plain, functools.partial):
        plain = plain.func
    if not inspect.isroutine(plain):
        plain = type(plain).__call__
    try:
        return get_type_hints(plain, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"the hints of {what} cannot be read: {error}. Let the types stand at the top of a file"
        ) from None


def _has_form(default: Any) -> bool:
    try:
        to_json(default)
    except TypeError:
        return False
    return True
