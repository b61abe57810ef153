"""Which arguments of which tool travel as headers too, as the server last listed them.

Knows definitions and calls; knows nothing of how a list is asked for. A tool whose annotations
break the rules is left out of a list, as it could not be called as its server wants it.
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

    def listed(self, result: JSONObject, text: bytes) -> list[tuple[str, str]]:
        """Learn from the *result* of a list, whose JSON is *text*; take invalid tools out of it.

        Returns the name of each tool that was taken out, and why.
        """
        tools = result.get("tools")
        if not is_list(tools) or (MARK not in text and not self._tools):
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
        name = tool.get("name") if is_object(tool) else None
        if not isinstance(name, str):
            return None
        annotations = read_annotations(tool.get("inputSchema"))
        self._tools.pop(name, None)
        if isinstance(annotations, Invalid):
            return annotations.reason
        if annotations and len(self._tools) < MAX_TOOLS:
            self._tools[name] = annotations
        return None

    def knows(self, name: Any) -> bool:
        """Tell whether the tool *name* has annotations, as far as is known."""
        return name in self._tools

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
