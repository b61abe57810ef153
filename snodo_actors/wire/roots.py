"""The answer to `roots/list`: which ones are valid."""

from __future__ import annotations

import re
from typing import Any, Final

from snodo_actors.wire.shapes import fits, is_json, is_text
from snodo_actors.words.types import is_list, is_object

# The characters RFC 3986 allows, after the scheme: an authority, then a path, query and fragment.
_PART: Final = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_HOST: Final = r"(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)"
_FILE_URI: Final = re.compile(
    rf"file://(?:{_PART}*@)?{_HOST}(?::[0-9]*)?(?:/{_PART}*)*(?:\?(?:{_PART}|[/?])*)?(?:\#(?:{_PART}|[/?])*)?"
)


def is_valid_response(response: Any) -> bool:
    """Tell whether *response* is a ListRootsResult; fields it does not define are allowed."""
    return fits(response, {"roots": _is_roots}, {"_meta": is_object}) and is_json(response)


def is_file_uri(value: Any) -> bool:
    """Tell whether *value* is a URI that names a file."""
    return isinstance(value, str) and _FILE_URI.fullmatch(value) is not None


def _is_roots(value: Any) -> bool:
    return is_list(value) and all(map(_is_root, value))


def _is_root(value: Any) -> bool:
    return fits(value, {"uri": is_file_uri}, {"name": is_text, "_meta": is_object})
