"""Which arguments of which tool travel as headers too, as the server last listed them.

Knows definitions and calls; knows nothing of how a list is asked for. A tool whose annotations
break the rules is left out of a list, as it could not be called as its server wants it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

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
"""How many annotated tools of a server are remembered."""

# A list has the mark in its text if any of its tools has annotations; escapes may hide it.
_MARK: Final = ANNOTATION.encode()
_ESCAPED_MARK: Final = b"\\u00"


class ToolHeaders:
    """The annotated tools of one server, at most *max_tools*."""

    __slots__ = ("_max_tools", "_tools")

    def __init__(self, max_tools: int = MAX_TOOLS) -> None:
        self._max_tools = max_tools
        self._tools: dict[str, tuple[Annotation, ...]] = {}

    def listed(self, result: JSONObject, text: bytes) -> list[tuple[str, str]]:
        """Learn from the *result* of a list, whose JSON is *text*; take invalid tools out of it.

        Returns the name of each tool that was taken out, and why.
        """
        tools = result.get("tools")
        is_of_interest = self._tools or _MARK in text or _ESCAPED_MARK in text
        if not is_list(tools) or not is_of_interest:
            return []
        kept: list[Any] = []
        refused: list[tuple[str, str]] = []
        for tool in tools:
            reason = self._learn(tool)
            if reason is None:
                kept.append(tool)
            else:
                refused.append((str(tool.get("name")), reason))
        if refused:
            result["tools"] = kept
        return refused

    def _learn(self, tool: Any) -> str | None:
        if not is_object(tool):
            return None
        annotations = read_annotations(tool.get("inputSchema"))
        name = tool.get("name")
        if self.knows(name):
            del self._tools[name]
        if isinstance(annotations, Invalid):
            return annotations.reason
        if annotations and isinstance(name, str) and len(self._tools) < self._max_tools:
            self._tools[name] = annotations
        return None

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
            annotations = self._tools[name] if self.knows(name) else ()
        pairs = param_headers(annotations, params.get("arguments"))
        return tuple((name.encode(), encode_value(value).encode()) for name, value in pairs)
