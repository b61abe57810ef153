"""The head of a response, and what it says about the body.

Read strictly: two readers that understand one head differently, such as a proxy and we, can be
made to see different responses. So what the standard (RFC 9112) does not allow is refused, also
where many readers let it pass: line ends other than CRLF, folded lines, blanks before a colon,
lengths that contradict each other, transfer codings besides `chunked`.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from snodo_actors.wire.http1_items import Head, Malformed, TooLarge

MAX_FIELDS: Final = 200
MAX_HEAD_BYTES: Final = 256 * 1024

# A body's length in bytes, or one of these.
CHUNKED: Final = -1
UNTIL_CLOSE: Final = -2

# Any byte of a line but the control characters, of which a tab is none. Written as what it may
# be: the same set written as what it may not be takes twice the time.
TEXT: Final = rb"[\t\x20-\x7e\x80-\xff]"
_STATUS: Final = rb"HTTP/1\.([0-9]) ([1-9][0-9][0-9])(?: %b*+)?\r\n" % TEXT
_FIELDS: Final = rb"((?:[!#$%%&'*+\-.^_`|~0-9A-Za-z]++:%b*+\r\n)*+)\r\n" % TEXT

# How long the body is, and whether the connection can carry a request after it.
Framing: TypeAlias = tuple[int, bool]

_START: Final = b"HTTP/1."
_HEAD: Final = re.compile(_STATUS + _FIELDS)
_STATUS_LINE: Final = re.compile(_STATUS)
_TRAILERS: Final = re.compile(rb"\r\n" + _FIELDS)
_BARE: Final = re.compile(rb"(?<!\r)\n|\r(?=[^\n])")

_BARE_END: Final = Malformed("a CR or an LF that is no CRLF")
_BAD_STATUS: Final = Malformed("no status line of HTTP/1")
_BAD_FIELD: Final = Malformed("a field that is not `name: value`")
_TOO_MANY: Final = Malformed(f"more than {MAX_FIELDS} fields")
_TOO_LONG: Final = Malformed(f"a head of more than {MAX_HEAD_BYTES} bytes")
_BAD_LENGTH: Final = Malformed("a content-length that is not one number")
_BAD_CODING: Final = Malformed("a transfer-encoding other than chunked")
_TWO_LENGTHS: Final = Malformed("both content-length and transfer-encoding")
_SWITCHED: Final = Malformed("a switch of protocols that nobody asked for")

_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding", b"connection"})
_MAX_DIGITS: Final = 18
_SHORT: Final = 1024
_MAX_SAID: Final = 64
_PRIVATE: Final = frozenset({b"dpop-nonce", b"mcp-session-id", b"set-cookie", b"www-authenticate"})
"""What is said to one client only, and not kept."""


def read_head(data: bytes, at: int, limit: int) -> tuple[Head, Framing | Malformed, int] | None:
    """Read the head at *at*, of at most *limit* bytes, what it says of the body, and its end.

    None: there is no whole, valid one.
    """
    end = data.find(b"\r\n\r\n", at) + 4
    if not 4 <= end <= at + limit:
        return None
    text = data[at:end]
    read = _said.get(text) or _read(text)
    return None if read is None else (*read, end)


_said: Final[dict[bytes, tuple[Head, Framing | Malformed]]] = {}
"""Short heads: most say what one of the last few said, as a date changes in a second."""


def _read(text: bytes) -> tuple[Head, Framing | Malformed] | None:
    head = _parse(text)
    if head is None:
        return None
    read = head, _read_framing(head)
    if len(text) <= _SHORT and _PRIVATE.isdisjoint(name for name, _ in head.fields):
        if len(_said) >= _MAX_SAID:
            _said.clear()
        _said[text] = read
    return read


def _parse(text: bytes) -> Head | None:
    match = _HEAD.fullmatch(text)
    if match is None:
        return None
    minor, status, lines = match.groups()
    parts = [line.partition(b":") for line in lines.splitlines()]
    fields = tuple([(name.lower(), value.strip()) for name, _, value in parts])
    return Head(int(status), int(minor), fields)


def fault_of(data: bytes) -> Malformed:
    """Say what is wrong with the head at the start of *data*, which `read_head` did not read."""
    if not data.startswith(_START):
        return _BAD_STATUS
    if _BARE.search(data, 0, data.index(b"\r\n\r\n") + 4):
        return _BARE_END
    return _BAD_FIELD if _STATUS_LINE.match(data) else _BAD_STATUS


def without_body(head: Head, framing: Framing | Malformed) -> Framing | Malformed:
    """Say how the response to a HEAD is framed, whose *head* tells of a body that is not there."""
    if isinstance(framing, Malformed) or head.status == 204:
        return framing
    return 0, framing[1]


def _read_framing(head: Head) -> Framing | Malformed:
    status, fields = head.status, head.fields
    if len(fields) > MAX_FIELDS:
        return _TOO_MANY
    lengths: bytes | None = None
    codings: bytes | None = None
    is_reusable = head.minor > 0
    for name, value in fields:
        if name in _FRAMING:
            if name == b"content-length":  # what is said several times is the same as a list
                lengths = value if lengths is None else b"%b,%b" % (lengths, value)
            elif name == b"transfer-encoding":
                codings = value if codings is None else b"%b,%b" % (codings, value)
            elif b"close" in value.lower():
                is_reusable = False
    length = UNTIL_CLOSE
    if codings is not None:
        if lengths is not None:
            return _TWO_LENGTHS
        if codings.lower() != b"chunked":
            return _BAD_CODING
        length = CHUNKED
    elif lengths is not None:
        length = _read_length(lengths)
        if length < 0:
            return _BAD_LENGTH
    if status == 101:
        return _SWITCHED
    if status == 204:
        # It has no body, whatever it says; whoever says otherwise may send one all the same.
        return 0, is_reusable and length in {0, UNTIL_CLOSE}
    if status == 304:
        return 0, is_reusable
    return length, is_reusable


def _read_length(lengths: bytes) -> int:
    """Read a length, or a list that says it several times; negative: it is none."""
    if b"," in lengths:
        texts = {text.strip() for text in lengths.split(b",")}
        lengths = texts.pop()
        if texts:
            return -1
    return int(lengths) if lengths.isdigit() and len(lengths) <= _MAX_DIGITS else -1


def head_limit(max_bytes: int | None) -> int:
    """Tell how many bytes a head may have: as many as the body, where that has a limit."""
    return MAX_HEAD_BYTES if max_bytes is None else max_bytes


class Section:
    """Gathers a head, or trailers, which came in pieces: all to the first blank line.

    Trailers begin with the line end before them. At most *limit* bytes are gathered. More are
    `TooLarge` where there are *max_bytes*, else what nobody writes as a head.
    """

    __slots__ = ("_limit", "_start", "_text", "_too_long")

    def __init__(self, limit: int, max_bytes: int | None, *, is_head: bool) -> None:
        self._start = _START if is_head else b"\r\n"
        self._limit = limit if is_head else limit + len(self._start)
        self._too_long = _TOO_LONG if max_bytes is None else TooLarge()
        self._text = bytearray()

    def take(self, data: bytes) -> bytes | Malformed | TooLarge | None:
        """Take the next bytes; give all that came when the blank line is there, None before."""
        before = len(self._text)
        self._text += data
        end = self._text.find(b"\r\n\r\n", max(0, before - 3)) + 4
        if 4 <= end <= self._limit:
            return bytes(self._text)
        start = self._text[: min(self._limit, len(self._start))]
        if not self._start.startswith(start):
            return _BAD_STATUS
        # The blank line may never come, so what cannot become valid is refused now. Only what
        # is within the limit is looked at, so that the answer is the same however it came.
        if _BARE.search(self._text, max(0, before - 1), self._limit):
            return _BARE_END
        return self._too_long if len(self._text) > self._limit else None


def read_trailers(data: bytes) -> int | Malformed:
    """Give the length of the whole trailers, with the line end before them, that begin *data*."""
    match = _TRAILERS.match(data)
    if match is None:
        return _BARE_END if _BARE.search(data, 0, data.index(b"\r\n\r\n") + 4) else _BAD_FIELD
    fields = data.count(b"\r\n", 0, match.end()) - 2
    return match.end() if fields <= MAX_FIELDS else _TOO_MANY
