"""Which arguments of which tool travel as headers too, as the server last listed them.

Knows definitions and calls; knows nothing of how a list is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from snodo_actors.wire.headers import Fields, encode_value
from snodo_actors.wire.xmcp import (
    ANNOTATION,
    Annotation,
    Invalid,
    param_headers,
    read_annotations,
)
from snodo_actors.words.types import JSONObject, is_list, is_object

MAX_TOOLS: Final = 100_000
"""How many annotated tools are remembered."""

MARK: Final = ANNOTATION.encode()
"""What a list has in its text if any of its tools has annotations."""


class ToolHeaders:
    """The annotated tools of one server."""

    __slots__ = ("_tools",)

    def __init__(self) -> None:
        self._tools: dict[str, tuple[Annotation, ...]] = {}

    def listed(self, result: JSONObject, text: bytes) -> None:
        """Learn from the *result* of a list, whose JSON is *text*."""
        tools = result.get("tools")
        if is_list(tools) and (MARK in text or self._tools):
            for tool in tools:
                self._learn(tool)

    def _learn(self, tool: Any) -> None:
        name = tool.get("name") if is_object(tool) else None
        if not isinstance(name, str):
            return
        annotations = read_annotations(tool.get("inputSchema"))
        self._tools.pop(name, None)
        if not isinstance(annotations, Invalid) and annotations and len(self._tools) < MAX_TOOLS:
            self._tools[name] = annotations

    def fields(self, params: Mapping[str, Any], definition: Mapping[str, Any] | None) -> Fields:
        """Build the headers of a call with these *params*; *definition*: as the caller has it."""
        if definition is not None:
            read = read_annotations(definition.get("inputSchema"))
            annotations = () if isinstance(read, Invalid) else read
        elif self._tools:
            annotations = self._tools.get(params["name"], ())
        else:
            return ()
        pairs = param_headers(annotations, params.get("arguments"))
        return tuple((name.encode(), encode_value(value).encode()) for name, value in pairs)
