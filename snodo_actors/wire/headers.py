"""The header fields of an HTTP request that the message itself decides.

Host, length and connection belong to whoever writes the request. The fields a caller gave are
checked where the options are; what is checked here comes out of messages and tokens.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from snodo_actors.wire.policy import Policy
from snodo_actors.words.checks import pairs
from snodo_actors.words.errors import TransportError
from snodo_actors.words.http_options import is_header_name, is_owned
from snodo_actors.words.lost import bad_header
from snodo_actors.words.types import JSONObject, is_object

# Lower-case names, except those of `Mcp-Param-`; ready to be sent.
Fields: TypeAlias = tuple[tuple[bytes, bytes], ...]

_UNSAFE: Final = re.compile("[\x00\r\n\ud800-\udfff]")
_PLAIN: Final = re.compile("[\x20-\x7e]*")
_TOKEN: Final = re.compile("[^\x00\r\n \t\ud800-\udfff]+")
_OPEN, _CLOSE = "=?base64?", "?="


def encode_fields(checked: Iterable[tuple[str, str]]) -> Fields:
    """Make pairs that were checked ready to be sent."""
    return tuple((name.lower().encode(), value.encode()) for name, value in checked)


def decode_fields(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Read the fields of an answer; what came several times is one list with commas."""
    headers: dict[str, str] = {}
    for field, content in fields:
        name, value = field.decode("latin-1").lower(), content.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def session_fields(version: str, session_id: str | None) -> Fields:
    """Build what every message of an initialize-era session carries."""
    fields = ((b"mcp-protocol-version", version.encode()),)
    return fields if session_id is None else (*fields, (b"mcp-session-id", session_id.encode()))


def authorization_fields(token: str | None) -> Fields:
    """Build what carries a checked bearer token; nothing where there is none."""
    return () if token is None else ((b"authorization", b"Bearer " + token.encode()),)


def provider_fields(given: Any) -> Fields | None:
    """Make what a token provider authorizes a message with ready to be sent; None: it cannot be."""
    try:
        found = pairs("authorize()", given)
    except TypeError:
        return None
    return encode_fields(found) if all(_is_free(*pair) for pair in found) else None


def _is_free(name: Any, value: Any) -> bool:
    are_strings = isinstance(name, str) and isinstance(value, str)
    return are_strings and is_header_name(name) and not is_owned(name) and is_field_value(value)


def message_fields(
    message: JSONObject,
    policy: Policy,
    *,
    token: str | None = None,
    params: Iterable[tuple[str, str]] = (),
) -> Fields | TransportError:
    """Build what comes before the fields of the session and of the caller.

    *message* is the final body, *params* are the `Mcp-Param-` headers with their plain values.
    """
    fields = [
        *authorization_fields(token),
        (b"content-type", policy.content_type.encode()),
        (b"accept", policy.accept.encode()),
    ]
    for mirror in policy.mirrors:
        value = _at(message, mirror.path)
        if isinstance(value, str):
            field = _mirrored(mirror.header, value, mirror.is_encoded)
            if field is None:
                return bad_header(mirror.header)
            fields.append(field)
    fields += ((name.encode(), encode_value(value).encode()) for name, value in params)
    return tuple(fields)


@lru_cache(maxsize=128)  # the same few versions, methods and names, on the way of every request
def _mirrored(header: str, value: str, is_encoded: bool) -> tuple[bytes, bytes] | None:
    text = encode_value(value) if is_encoded else value
    return (header.lower().encode(), text.encode()) if is_field_value(text) else None


def encode_value(value: str) -> str:
    """Write *value* so that it survives as a header: plain if it can be, else in Base64."""
    looks_encoded = value.startswith(_OPEN) and value.endswith(_CLOSE)
    if _PLAIN.fullmatch(value) and value.strip() == value and not looks_encoded:
        return value
    return f"{_OPEN}{b64encode(value.encode(errors='surrogatepass')).decode()}{_CLOSE}"


def is_field_value(value: str) -> bool:
    """Tell whether *value*, such as a session id, can be sent without breaking the head."""
    return _UNSAFE.search(value) is None


def is_token(value: Any) -> bool:
    """Tell whether *value* can be sent as a bearer token."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def _at(message: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        message = message.get(name) if is_object(message) else None
    return message
