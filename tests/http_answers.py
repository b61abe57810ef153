"""HTTP responses as bytes, and what an `Answer` says to them, in a form a table can hold."""

from __future__ import annotations

from snodo_actors.machines import answer as says
from snodo_actors.wire.http1 import ResponseReader
from snodo_actors.words.errors import ServerError

RESULT = b'{"jsonrpc":"2.0","id":1,"result":{}}'
LIMIT = 4000


def http(status, body=b"", *fields, framing="length"):
    """Write a response; *fields* are lines such as ``content-type: text/plain``."""
    lines = [f"HTTP/1.1 {status} Because".encode(), *(field.encode() for field in fields)]
    if framing == "length" and status != 204:
        lines.append(b"content-length: %d" % len(body))
    elif framing == "chunked":
        lines.append(b"transfer-encoding: chunked")
        body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
    return b"\r\n".join([*lines, b"", body])


def stream(*events, status=200, framing="chunked", type="text/event-stream"):
    """Write a response that is an event stream."""
    return http(status, b"".join(events), f"content-type: {type}", framing=framing)


def data(text):
    return b"data: %b\n\n" % text


def hear(sent, *, id=1, size=100_000, closed=False, limit=LIMIT, **options):
    """Give what an answer says to the bytes *sent*, in pieces of *size*, and then to their end."""
    reader, answer = ResponseReader(limit), says.Answer(id, max_bytes=limit, **options)
    deeds = []
    for at in range(0, len(sent), size):
        deeds += answer.take(reader.feed(sent[at : at + size]))
    if closed:
        deeds += answer.take(reader.finish())
    return deeds


def told(deeds):
    return [short(deed) for deed in deeds]


def short(deed):
    match deed:
        case says.Over(reusable):
            return "over, reusable" if reusable else "over"
        case says.Failed(ServerError() as error):
            return ("refused", error.code)
        case says.Failed(error):
            delivery = "unknown" if error.cause == "closed" else "answered"
            assert (error.code, error.kind, error.delivery) == (-32000, "transport", delivery)
            return ("failed", error.cause)
        case says.Interrupted(last_event_id, retry, error):
            return ("interrupted", last_event_id, retry, error.cause)
        case says.Response(message):
            return ("response", message)
        case says.Began(head):
            return ("began", head.status)
        case says.Message(message):
            return ("message", message["method"])
        case says.Unauthenticated(status, challenge, True):
            return ("same token", status, challenge and challenge.scheme)
        case says.Unauthenticated(status, challenge):
            return ("unauthenticated", status, challenge and challenge.scheme)
        case _:
            return type(deed).__name__
