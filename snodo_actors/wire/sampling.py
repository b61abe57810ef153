"""The answer to `sampling/createMessage`: which ones are valid.

Fields the protocol does not define are allowed beside `role`, but not inside a content block.
"""

from __future__ import annotations

from typing import Any, Final

from snodo_actors.wire.shapes import (
    Check,
    fits,
    fits_exactly,
    is_anything,
    is_boolean,
    is_json,
    is_text,
)
from snodo_actors.words.types import is_list, is_object


def is_valid_response(response: Any) -> bool:
    """Tell whether *response* is a CreateMessageResult."""
    return fits(
        response,
        {"role": _is_role, "model": is_text, "content": _is_content},
        {"stopReason": is_text, "_meta": is_object},
    ) and is_json(response)


def _is_content(value: Any) -> bool:
    blocks = value if is_list(value) else [value]
    return bool(blocks) and all(_is_block(block, _MESSAGE_BLOCKS) for block in blocks)


def _is_tool_content(value: Any) -> bool:
    return is_list(value) and all(_is_block(block, _TOOL_RESULT_BLOCKS) for block in value)


def _is_block(value: Any, blocks: dict[str, tuple[dict[str, Check], dict[str, Check]]]) -> bool:
    type_: Any = value.get("type") if is_object(value) else None
    if not isinstance(type_, str) or type_ not in blocks:
        return False
    needed, optional = blocks[type_]
    return fits_exactly(value, {"type": is_text, **needed}, {"_meta": is_object, **optional})


def _is_role(value: Any) -> bool:
    return value in ("user", "assistant")


def _is_annotations(value: Any) -> bool:
    return fits_exactly(
        value, {}, {"audience": _is_audience, "priority": _is_priority, "lastModified": is_text}
    )


def _is_audience(value: Any) -> bool:
    return is_list(value) and all(map(_is_role, value))


def _is_priority(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_resource(value: Any) -> bool:
    return any(
        fits_exactly(
            value, {"uri": is_text, body: is_text}, {"mimeType": is_text, "_meta": is_object}
        )
        for body in ("text", "blob")
    )


# By type: the fields a block needs, and those it may have beside them and `_meta`.
_Blocks = dict[str, tuple[dict[str, Check], dict[str, Check]]]
_ANNOTATED: Final[dict[str, Check]] = {"annotations": _is_annotations}
_MEDIA: Final[dict[str, Check]] = {"data": is_text, "mimeType": is_text}
_CONTENT_BLOCKS: Final[_Blocks] = {
    "text": ({"text": is_text}, _ANNOTATED),
    "image": (_MEDIA, _ANNOTATED),
    "audio": (_MEDIA, _ANNOTATED),
}
_MESSAGE_BLOCKS: Final[_Blocks] = {
    **_CONTENT_BLOCKS,
    "tool_use": ({"id": is_text, "name": is_text, "input": is_object}, {}),
    "tool_result": (
        {"toolUseId": is_text, "content": _is_tool_content},
        {"isError": is_boolean, "structuredContent": is_anything},
    ),
}
_TOOL_RESULT_BLOCKS: Final[_Blocks] = {
    **_CONTENT_BLOCKS,
    "resource": ({"resource": _is_resource}, _ANNOTATED),
    "resource_link": (
        {"uri": is_text, "name": is_text},
        {
            **_ANNOTATED,
            **dict.fromkeys(("title", "description", "mimeType"), is_text),
            **dict.fromkeys(("size", "icons"), is_anything),
        },
    ),
}
