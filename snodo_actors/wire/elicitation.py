"""The answer to `elicitation/create`: which ones are valid.

The content of an accepted form is not compared with the schema it was asked by.
"""

from __future__ import annotations

from typing import Any

from snodo_actors.wire.shapes import fits, is_json


def is_valid_response(response: Any) -> bool:
    """Tell whether *response* is an ElicitResult."""
    return fits(response, {"action": _is_action}, {}) and is_json(response)


def _is_action(value: Any) -> bool:
    return value in ("accept", "decline", "cancel")
