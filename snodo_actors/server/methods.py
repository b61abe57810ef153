"""How each request is answered: one flow for each method."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from snodo_actors.ports.calls import Flow, Step
from snodo_actors.server.call import Call
from snodo_actors.server.dialects import Dialect
from snodo_actors.server.errors import (
    JSONRPCError,
    function_failed,
    invalid_params,
    not_offered,
    said_by,
)
from snodo_actors.server.inputs import InputNeeded, read_needed
from snodo_actors.server.offers import Freshness, Offers, Resource, Template, Tool
from snodo_actors.server.pages import page
from snodo_actors.server.results import (
    completion_result,
    prompt_result,
    resource_result,
    tool_failed,
    tool_result,
)
from snodo_actors.words.types import JSONObject, is_object

_log = logging.getLogger("snodo_actors.server")


@dataclass(frozen=True, slots=True)
class Question:
    """One request, as the methods see it."""

    offers: Offers
    dialect: Dialect
    call: Call
    params: JSONObject


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, and how long it may be kept where that can be said."""

    result: JSONObject
    freshness: Freshness | None = None


Method = Callable[[Question], Flow[Answer]]


def _listing(feature: str, name: str, items: Callable[[Offers], Mapping[str, Any]]) -> Method:
    def list_items(question: Question) -> Flow[Answer]:
        yield from ()
        offers = question.offers
        _offered(question, feature)
        found, cursor = page(items(offers), question.params.get("cursor"), offers.page_size)
        result: JSONObject = {name: [question.dialect.described(i.definition) for i in found]}
        if cursor is not None:
            result["nextCursor"] = cursor
        return Answer(result, offers.freshness)

    return list_items


def call_tool(question: Question) -> Flow[Answer]:
    """Run a tool; what it raises is its own report of a failure."""
    params, dialect = question.params, question.dialect
    _offered(question, "tools")
    name = _text(params, "name")
    tool = question.offers.tools.get(name)
    if tool is None:
        raise invalid_params(f"Unknown tool: {name}")
    given = _mapping(params, "arguments")
    try:
        step = _tool_step(tool, question.call, given)
    except msgspec.ValidationError as error:
        why = f"Invalid arguments for tool {name}: {error}"
        if not dialect.bad_arguments_are_results:
            raise invalid_params(why) from None
        return Answer(tool_failed(why))
    try:
        value = yield step
    except (JSONRPCError, InputNeeded):
        raise
    except Exception as error:  # noqa: BLE001  # whatever a tool raises is its report
        _log.info("tool %s raised", name, exc_info=True)
        return Answer(tool_failed(f"Error executing tool {name}: {said_by(error)}"))
    result = _made(f"tool {name}", value, lambda value: tool_result(tool, value))
    return Answer(dialect.tool_result(result))


def _tool_step(tool: Tool, call: Call, given: JSONObject) -> Step:
    if tool.converts:
        return tool.signature.called(call, **tool.signature.arguments(given))
    return tool.signature.called(call, given)


def read_resource(question: Question) -> Flow[Answer]:
    """Read what is at a URI: a resource, or what the first template that fits makes of it."""
    _offered(question, "resources")
    uri = _text(question.params, "uri")
    found, parts = _find_resource(question.offers, uri)
    if found is not None:
        what = f"resource {uri}"
        step = found.signature.called(question.call, **_arguments(found, parts, what))
        value = yield from _called(what, step)
        if value is not None:
            definition = found.definition
            result = _made(what, value, lambda value: resource_result(definition, uri, value))
            return Answer(result, found.freshness)
    code = question.dialect.resource_not_found
    raise JSONRPCError(code, f"Resource not found: {uri}", {"uri": uri})


def _find_resource(offers: Offers, uri: str) -> tuple[Resource | Template | None, dict[str, str]]:
    resource = offers.resources.get(uri)
    if resource is not None:
        return resource, {}
    for template in offers.templates.values():
        parts = template.uri.match(uri)
        if parts is not None:
            return template, parts
    return None, {}


def get_prompt(question: Question) -> Flow[Answer]:
    """Render a prompt."""
    _offered(question, "prompts")
    name = _text(question.params, "name")
    prompt = question.offers.prompts.get(name)
    if prompt is None:
        raise invalid_params(f"Unknown prompt: {name}")
    what = f"prompt {name}"
    arguments = _arguments(prompt, _mapping(question.params, "arguments"), what)
    value = yield from _called(what, prompt.signature.called(question.call, **arguments))
    return Answer(_made(what, value, lambda value: prompt_result(prompt.definition, value)))


def complete(question: Question) -> Flow[Answer]:
    """Complete an argument of a prompt, or a part of a template; nothing where nobody knows."""
    _offered(question, "completions")
    offers, params = question.offers, question.params
    ref, argument = _mapping(params, "ref"), _mapping(params, "argument")
    match ref.get("type"):
        case "ref/prompt" as kind:
            key, known = _text(ref, "name"), set(offers.prompts)
        case "ref/resource" as kind:
            key, known = _text(ref, "uri"), {*offers.templates, *offers.resources}
        case kind:
            raise invalid_params(f"Unknown kind of reference: {kind}")
    if key not in known:
        raise invalid_params(f"Unknown reference: {key}")
    signature = offers.completions.get((kind, key, _text(argument, "name")))
    if signature is None:
        return Answer(completion_result(()))
    settled = _mapping(_mapping(params, "context"), "arguments")
    what = f"completion of {key}"
    step = signature.called(question.call, _text(argument, "value"), settled)
    value = yield from _called(what, step)
    return Answer(_made(what, value, completion_result))


def extension(question: Question) -> Flow[Answer]:
    """Answer a request that an extension defines."""
    method = question.call.method
    signature = question.offers.methods[method]
    value = yield from _called(method, signature.called(question.call, question.params))
    return Answer(_made(method, value, dict))


METHODS: Final[Mapping[str, Method]] = {
    "tools/list": _listing("tools", "tools", lambda offers: offers.tools),
    "tools/call": call_tool,
    "resources/list": _listing("resources", "resources", lambda offers: offers.resources),
    "resources/templates/list": _listing(
        "resources", "resourceTemplates", lambda offers: offers.templates
    ),
    "resources/read": read_resource,
    "prompts/list": _listing("prompts", "prompts", lambda offers: offers.prompts),
    "prompts/get": get_prompt,
    "completion/complete": complete,
}
"""What is answered in every version, once it is known who asks."""


def _called(what: str, step: Step) -> Flow[Any]:
    try:
        return (yield step)
    except (JSONRPCError, InputNeeded):
        raise
    except Exception as error:
        _log.exception("%s raised", what)
        raise function_failed(what, error) from error


def _made(what: str, value: Any, make: Callable[[Any], JSONObject]) -> JSONObject:
    """Make a result of what a function returned, unless that is a wish for input."""
    needed = read_needed(value)
    if needed is not None:
        raise needed
    try:
        return make(value)
    except (TypeError, ValueError) as error:
        _log.exception("%s returned what cannot be sent", what)
        raise function_failed(what, error) from error


def _arguments(offer: Any, given: Mapping[str, Any], what: str) -> dict[str, Any]:
    try:
        arguments: dict[str, Any] = offer.signature.arguments(given, are_texts=True)
    except msgspec.ValidationError as error:
        raise invalid_params(f"Invalid arguments for {what}: {error}") from None
    return arguments


def _offered(question: Question, feature: str) -> None:
    if feature not in question.offers.features:
        raise not_offered(feature)


def _text(params: JSONObject, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise invalid_params(f"Invalid params: {name} must be a string")
    return value


def _mapping(params: JSONObject, name: str) -> JSONObject:
    value = params.get(name, {})
    if not is_object(value):
        raise invalid_params(f"Invalid params: {name} must be an object")
    return value
