"""What tools, prompts, resources and completions give, as the protocol writes it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from snodo_actors.words.types import JSONObject


class Block(dict[str, Any]):
    """A block of content."""


class Message(dict[str, Any]):
    """A message of a prompt."""


class Contents(dict[str, Any]):
    """The contents of one resource."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returns that says all itself: content, structured content, whether it failed."""

    content: Sequence[Block] = ()
    structured: Any = None
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What a completion returns that knows how many there are."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None


def text(text: str, **more: Any) -> Block:
    """A block of text; *more* are its other fields, such as `annotations`."""
    return Block({"type": "text", "text": text, **more})


def image(data: bytes, mime_type: str, **more: Any) -> Block:
    """An image."""
    return Block({"type": "image", "data": _base64(data), "mimeType": mime_type, **more})


def audio(data: bytes, mime_type: str, **more: Any) -> Block:
    """A sound."""
    return Block({"type": "audio", "data": _base64(data), "mimeType": mime_type, **more})


def resource_link(uri: str, name: str, **more: Any) -> Block:
    """A link to a resource."""
    return Block({"type": "resource_link", "uri": uri, "name": name, **more})


def embedded(contents: Mapping[str, Any], **more: Any) -> Block:
    """A resource in the block itself; `contents(...)` makes it."""
    return Block({"type": "resource", "resource": dict(contents), **more})


def contents(uri: str, value: str | bytes, mime_type: str | None = None, **more: Any) -> Contents:
    """The contents of a resource: text or bytes."""
    made = Contents({"uri": uri, **more})
    if mime_type is not None:
        made["mimeType"] = mime_type
    if isinstance(value, str):
        made["text"] = value
    else:
        made["blob"] = _base64(value)
    return made


def message(role: Literal["user", "assistant"], content: str | Mapping[str, Any]) -> Message:
    """A message of a prompt: text, or one block."""
    block: JSONObject = text(content) if isinstance(content, str) else dict(content)
    return Message({"role": role, "content": block})


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
