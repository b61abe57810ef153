"""A small MCP server that lives in the client's own Python process."""

from snodo_actors.server.call import Call
from snodo_actors.server.content import (
    Block,
    Completion,
    Contents,
    Message,
    ToolResult,
    audio,
    contents,
    embedded,
    image,
    message,
    resource_link,
    text,
)
from snodo_actors.server.errors import JSONRPCError
from snodo_actors.server.inputs import InputNeeded, ask_form, ask_roots, ask_sampling, ask_url
from snodo_actors.server.runtime import Runtime
from snodo_actors.server.server import Server

__all__ = [
    "Block",
    "Call",
    "Completion",
    "Contents",
    "InputNeeded",
    "JSONRPCError",
    "Message",
    "Runtime",
    "Server",
    "ToolResult",
    "ask_form",
    "ask_roots",
    "ask_sampling",
    "ask_url",
    "audio",
    "contents",
    "embedded",
    "image",
    "message",
    "resource_link",
    "text",
]
