"""Which arguments of which tool travel as headers too, as the server last listed them.

Knows definitions and calls; knows nothing of how a list is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from snodo_actors.wire.headers import Fields, encode_value
from snodo_actors.wire.xmcp import (
    Annotation,
    Invalid,
    may_have_annotations,
    param_headers,
    read_annotations,
)
from snodo_actors.words.types import JSONObject, is_list, is_object

MAX_TOOLS: Final = 100_000
"""How many annotated tools of a server are remembered."""


class ToolHeaders:
    """The annotated tools of one server, at most *max_tools*."""

    __slots__ = ("_max_tools", "_tools")

    def __init__(self, max_tools: int = MAX_TOOLS) -> None:
        self._max_tools = max_tools
        self._tools: dict[str, tuple[Annotation, ...]] = {}

    def listed(self, result: JSONObject, text: bytes | bytearray) -> bool:
        """Learn from the *result* of a list, whose JSON is *text*; False: no tool is annotated."""
        tools = result.get("tools")
        may_be_annotated = may_have_annotations(text)
        if is_list(tools) and (self._tools or may_be_annotated):
            for tool in tools:
                self._learn(tool)
        return may_be_annotated

    def _learn(self, tool: Any) -> None:
        name = tool.get("name") if is_object(tool) else None
        if not isinstance(name, str):
            return
        annotations = read_annotations(tool.get("inputSchema"))
        self._tools.pop(name, None)
        if isinstance(annotations, Invalid) or not annotations:
            return
        if len(self._tools) < self._max_tools:
            self._tools[name] = annotations

    def knows(self, name: Any) -> TypeGuard[str]:
        """Tell whether the tool *name* has annotations, as far as is known."""
        return isinstance(name, str) and name in self._tools

    def fields(self, params: Mapping[str, Any], definition: Mapping[str, Any] | None) -> Fields:
        """Build the headers of a call with these *params*; *definition*: as the caller has it."""
        if definition is not None:
            read = read_annotations(definition.get("inputSchema"))
            annotations = () if isinstance(read, Invalid) else read
        else:
            name = params.get("name")
            if not self.knows(name):
                return ()  # as nearly always
            annotations = self._tools[name]
        pairs = param_headers(annotations, params.get("arguments"))
        return tuple((name.encode(), encode_value(value).encode()) for name, value in pairs)
