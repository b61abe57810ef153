"""How a function becomes a tool, resource, template or prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from snodo_actors.server.offers import Freshness, Prompt, Resource, Template, Tool
from snodo_actors.server.signature import Signature
from snodo_actors.server.templates import UriTemplate
from snodo_actors.words.types import JSONObject


def make_tool(
    function: Callable[..., Any],
    name: str | None,
    fields: Mapping[str, Any],
    input_schema: Mapping[str, Any] | None,
    output_schema: Mapping[str, Any] | None,
    *,
    structured: bool,
) -> Tool:
    """Make a tool; schemas that are not given come from the hints of *function*.

    Raises:
        TypeError: The hints cannot be read, or have no form in JSON.
    """
    name = name or _name(function)
    signature = Signature(function, f"tool {name}")
    given = None if input_schema is None else dict(input_schema)
    output, is_wrapped = None if output_schema is None else dict(output_schema), False
    if output is None and structured:
        output = signature.output_schema()
        is_wrapped = output is not None and output.get("type") != "object"
        if is_wrapped:
            output = _wrapped(output or {})
    definition = _definition(
        {"name": name, "inputSchema": given or signature.input_schema()},
        signature,
        {**fields, "outputSchema": output},
    )
    return Tool(definition, signature, given is None, output is not None, is_wrapped)


def make_resource(
    function: Callable[..., Any],
    uri: str,
    name: str | None,
    fields: Mapping[str, Any],
    freshness: Freshness,
) -> Resource:
    """Make a resource.

    Raises:
        TypeError: *function* takes more than the call.
    """
    signature = Signature(function, f"resource {uri}")
    if signature.names:
        raise TypeError(
            f"the function of a resource takes nothing but the call, not {signature.names}: "
            "use resource_template()"
        )
    definition = _definition({"uri": uri, "name": name or _name(function)}, signature, fields)
    return Resource(definition, signature, freshness)


def make_template(
    function: Callable[..., Any],
    uri_template: str,
    name: str | None,
    fields: Mapping[str, Any],
    freshness: Freshness,
) -> Template:
    """Make a template, whose parts are the parameters of *function*.

    Raises:
        TypeError: They are not.
        ValueError: The template is none.
    """
    uri = UriTemplate(uri_template)
    signature = Signature(function, f"resource template {uri_template}")
    if set(uri.names) != set(signature.names):
        raise TypeError(
            f"the function of {uri_template} has to take {', '.join(uri.names)}, "
            f"and takes {', '.join(signature.names) or 'nothing'}"
        )
    needed = {"uriTemplate": uri_template, "name": name or _name(function)}
    return Template(_definition(needed, signature, fields), signature, freshness, uri)


def make_prompt(
    function: Callable[..., Any],
    name: str | None,
    fields: Mapping[str, Any],
    descriptions: Mapping[str, str],
) -> Prompt:
    """Make a prompt, whose arguments are the parameters of *function*."""
    name = name or _name(function)
    signature = Signature(function, f"prompt {name}")
    arguments: list[JSONObject] = [
        {
            "name": argument,
            **({"description": descriptions[argument]} if argument in descriptions else {}),
            "required": signature.required(argument),
        }
        for argument in signature.names
    ]
    more = {**fields, "arguments": arguments or None}
    return Prompt(_definition({"name": name}, signature, more), signature)


def _definition(needed: JSONObject, signature: Signature, fields: Mapping[str, Any]) -> JSONObject:
    """Put a definition together; what is None is left out."""
    optional = {"_meta" if key == "meta" else key: value for key, value in fields.items()}
    if optional.get("description") is None:
        optional["description"] = signature.description
    return {**needed, **{key: value for key, value in optional.items() if value is not None}}


def _wrapped(schema: JSONObject) -> JSONObject:
    """The schema of an object that has what *schema* describes as its `result`."""
    inner = dict(schema)
    parts = inner.pop("$defs", None)
    outer: JSONObject = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
    return outer if parts is None else {**outer, "$defs": parts}


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or name == "<lambda>":
        raise TypeError(f"{function!r} has no name to be called by: give one")
    return name
