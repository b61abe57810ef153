"""What the functions of a server return, as the results the protocol has."""

from __future__ import annotations

from typing import Any

from snodo_actors.server.content import (
    Block,
    Completion,
    Contents,
    Message,
    ToolResult,
    contents,
    message,
    text,
)
from snodo_actors.server.offers import Tool
from snodo_actors.server.schemas import to_json
from snodo_actors.wire import codec
from snodo_actors.words.types import JSONObject, is_list, is_object

MAX_COMPLETIONS = 100


def tool_result(tool: Tool, value: Any) -> JSONObject:
    """Build the result of a tool from what its function returned.

    Raises:
        TypeError: It has no form in JSON.
    """
    if isinstance(value, ToolResult):
        return _whole(value)
    blocks = _blocks(value)
    if blocks is not None:
        return {"content": blocks}
    plain = to_json(value)
    result: JSONObject = {"content": [] if plain is None else [text(_as_text(plain))]}
    if tool.structured:
        result["structuredContent"] = {"result": plain} if tool.is_wrapped else plain
    return result


def tool_failed(why: str) -> JSONObject:
    """Build the result of a tool that reports its failure."""
    return {"content": [text(why)], "isError": True}


def resource_result(definition: JSONObject, uri: str, value: Any) -> JSONObject:
    """Build the contents of the resource at *uri* from what its function returned.

    Raises:
        TypeError: They have no form in JSON.
    """
    if isinstance(value, Contents):
        return {"contents": [value]}
    if is_list(value) and value and all(isinstance(item, Contents) for item in value):
        return {"contents": value}
    mime_type = definition.get("mimeType")
    if isinstance(value, str | bytes):
        return {"contents": [contents(uri, value, mime_type)]}
    return {"contents": [contents(uri, _as_text(to_json(value)), mime_type or "application/json")]}


def prompt_result(definition: JSONObject, value: Any) -> JSONObject:
    """Build a rendered prompt from what its function returned: one message, or several.

    Raises:
        TypeError: It is none.
    """
    messages = [_message(item) for item in (value if is_list(value) else [value])]
    result: JSONObject = {"messages": messages}
    if "description" in definition:
        result["description"] = definition["description"]
    return result


def completion_result(value: Any) -> JSONObject:
    """Build the result of a completion from what its function returned.

    Raises:
        TypeError: It is no list of strings.
    """
    whole = value if isinstance(value, Completion) else Completion(list(value or ()))
    values: list[Any] = list(whole.values)
    if not all(isinstance(item, str) for item in values):
        raise TypeError(f"a completion returns strings, not {values!r}")
    total, has_more = whole.total, whole.has_more
    if len(values) > MAX_COMPLETIONS:
        total = len(values) if total is None else total
        values, has_more = values[:MAX_COMPLETIONS], True
    completion: JSONObject = {"values": values}
    if total is not None:
        completion["total"] = total
    if has_more is not None:
        completion["hasMore"] = has_more
    return {"completion": completion}


def _whole(value: ToolResult) -> JSONObject:
    structured = to_json(value.structured)
    blocks = list(value.content)
    if structured is not None and not blocks:
        blocks = [text(_as_text(structured))]
    result: JSONObject = {"content": blocks}
    if structured is not None:
        result["structuredContent"] = structured
    if value.is_error:
        result["isError"] = True
    if value.meta is not None:
        result["_meta"] = dict(value.meta)
    return result


def _blocks(value: Any) -> list[JSONObject] | None:
    items: list[Any] = [*value] if is_list(value) or isinstance(value, tuple) else [value]
    if not any(isinstance(item, Block) for item in items):
        return None
    return [item if isinstance(item, Block) else text(_as_text(to_json(item))) for item in items]


def _message(item: Any) -> JSONObject:
    if isinstance(item, Message) or (is_object(item) and "role" in item):
        return item
    if isinstance(item, str | Block):
        return message("user", item)
    raise TypeError(f"a prompt returns texts, blocks or messages, not {item!r}")


def _as_text(plain: Any) -> str:
    return plain if isinstance(plain, str) else codec.encode(plain).decode()
