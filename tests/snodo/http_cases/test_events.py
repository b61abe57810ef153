"""An answer in an event stream is found however the stream is written, cut and sent."""

from __future__ import annotations

import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, text_of, timed_out, took
from http_exchange import LAST_CHUNK, STREAM, chunk, encode, event, head
from http_outcomes import broken, refused, said_no, too_large
from http_server import error, note, result, text

SEPARATORS = "a\u2028b\u2029c\u0085d\U0001f680漢é" * 20


@everywhere
async def test_everything_an_event_stream_may_hold(at, case):
    server = case("B-034")
    client = await at.get(server.connect(pool_size=1))
    for _ in range(2):
        with took(below=1):
            assert text_of(await at.get(client.call_tool("bug"))) == "assembled"
        await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("arguments", [{}, {"size": 1}, {"json": True}, {"json": True, "size": 1}])
@everywhere
async def test_line_separators_inside_a_line(at, case, arguments):
    client = await at.get(case("B-036").connect())
    assert text_of(await at.get(client.call_tool("bug", arguments))) == SEPARATORS
    await echoes(at, client)
    await at.get(client.close())


# ---- the same with streams of all kinds


def streamed(template, size=None, fields=()):
    """A script that sends a stream: ANSWER in it is the answer, DECOY a wrong one."""

    def script(exchange):
        id = exchange.request["id"]
        own = encode(result(id, text("own")))
        decoy = encode(result(id, text("decoy")))
        body = template.replace(b"ANSWER", own).replace(b"DECOY", decoy)
        exchange.stream(fields)
        pieces = [body] if size is None else [body[i : i + size] for i in range(0, len(body), size)]
        exchange.send(*(chunk(piece) for piece in pieces))
        exchange.until_gone()

    return script


STREAMS = {
    "LF": b"data: ANSWER\n\n",
    "CR LF": b"event: message\r\ndata: ANSWER\r\n\r\n",
    "CR": b"event: message\rdata: ANSWER\r\r",
    "all line ends": b": a\r: b\r\n: c\nevent: message\r\ndata: ANSWER\n\r\n",
    "LF and then CR LF": b"data: ANSWER\n\r\n",
    "byte order mark": b"\xef\xbb\xbfdata: ANSWER\n\n",
    "byte order mark and comment": b"\xef\xbb\xbf: hello\n\ndata: ANSWER\n\n",
    "a mark in the middle is none": b": a\n\n\xef\xbb\xbfdata: DECOY\n\ndata: ANSWER\n\n",
    "no space": b"data:ANSWER\n\n",
    "many spaces": b"data:    ANSWER\n\n",
    "a tab": b"data:\tANSWER\n\n",
    "blanks behind": b"data: ANSWER  \t \n\n",
    "comments around": b": a\n:b\n:\ndata: ANSWER\n: c\n\n: d\n\n",
    "blank lines before": b"\n\n\r\n\r\n\n\ndata: ANSWER\n\n",
    "fields around": b"id: 7\nretry: 10\ndata: ANSWER\nevent: message\nid: 8\n\n",
    "an event type without a name": b"event:\ndata: ANSWER\n\n",
    "an event type said twice": b"event: other\nevent: message\ndata: ANSWER\n\n",
    "other types before": b"event: other\ndata: DECOY\n\nevent: ping\ndata: x\n\ndata: ANSWER\n\n",
    "types are told apart by case": b"event: Message\ndata: DECOY\n\ndata: ANSWER\n\n",
    "a type with a blank": b"event:  message\ndata: DECOY\n\ndata: ANSWER\n\n",
    "a name with a blank": b" data: DECOY\n\ndata : DECOY\n\ndata: ANSWER\n\n",
    "another name": b"Data: DECOY\n\nDATA: DECOY\n\ndata2: DECOY\n\ndata: ANSWER\n\n",
    "empty data before": b"id: 1\ndata:\n\ndata\n\ndata: \n\ndata: ANSWER\n\n",
    "odd fields": b"nocolon\n:\nunknown: x\nid: a\x00b\nretry: soon\nretry: -1\ndata: ANSWER\n\n",
    "bytes that are no UTF-8": b": \xff\xfe\nevent: \xff\n\nx\x80: \xc3\n\ndata: ANSWER\n\n",
    "JSON that is none": b"data: {\n\ndata: oops\n\ndata: {'a': 1}\n\ndata: ANSWER\n\n",
    "JSON that is no message": b"data: 1\n\ndata: null\n\ndata: []\n\ndata: {}\n\ndata: ANSWER\n\n",
    "invalid UTF-8 in data": b'data: {"a":"\xff"}\n\ndata: ANSWER\n\n',
    "empty lines of data around": b"data\ndata:\ndata: ANSWER\ndata:\n\n",
    "the first answer counts": b"data: ANSWER\n\ndata: DECOY\n\n",
    "a batch is no message": b"data: [DECOY]\n\ndata: ANSWER\n\n",
}


@pytest.mark.parametrize("size", [None, 1, 7])
@across
async def test_streams_are_read_as_the_standard_says(at, server, size):
    client = await at.get(server.connect(pool_size=1))
    for name, template in STREAMS.items():
        server.once("tool bug", streamed(template, size))
        with took(below=2):
            outcome = await at.outcome(client.call_tool("bug"))
        assert not isinstance(outcome, Exception), (name, outcome)
        assert text_of(outcome) == "own", name
        bug = server.received("tool bug")[-1]
        await at.until(lambda bug=bug: server.connections[bug.connection - 1].closed, within=1.0)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@across
async def test_data_over_many_lines(at, server, newline):
    import json

    def script(exchange):
        message = result(exchange.request["id"], text("é—漢字\n\r\t"))
        lines = json.dumps(message, indent=2, ensure_ascii=False).split("\n")
        body = newline.join(f"data: {line}".encode() for line in lines)
        exchange.stream()
        exchange.send(*(chunk(body[i : i + 3]) for i in range(0, len(body), 3)))
        exchange.chunk(newline * 2)
        exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=2):
        assert text_of(await at.get(client.call_tool("bug"))) == "é—漢字\n\r\t"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_stream_cut_in_two_anywhere(at, server):
    """In the head, in the size of a chunk, in a character, between CR and LF."""

    def whole(id):
        body = b"\xef\xbb\xbf: a\r\n\r\nid: 1\r\ndata: %b\r\n\r\n" % encode(result(id, text("é😀")))
        fields = [("Content-Type", STREAM), ("Transfer-Encoding", "chunked")]
        return head(200, fields) + chunk(body) + LAST_CHUNK

    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    for cut in range(1, len(whole(100_000)) - 7):

        def script(exchange, cut=cut):
            data = whole(exchange.request["id"])
            exchange.send(data[:cut], data[cut:])

        server.once("tool bug", script)
        assert text_of(await at.get(client.call_tool("bug"))) == "é😀", cut
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize(
    "kind",
    [
        "text/event-stream; charset=utf-8",
        "text/event-stream;charset=UTF-8",
        "Text/Event-Stream",
        "TEXT/EVENT-STREAM ; x=y",
    ],
)
@across
async def test_how_a_stream_says_that_it_is_one(at, server, kind):
    def script(exchange):
        exchange.stream(kind=kind)
        exchange.event(result(exchange.request["id"], text("own")))
        exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("framing", ["until close", "length", "old", "chunked"])
@across
async def test_how_a_stream_is_framed(at, server, framing):
    def script(exchange):
        own = event(result(exchange.request["id"], text("own")))
        kind = [("Content-Type", STREAM)]
        match framing:
            case "until close":
                exchange.send(head(200, kind), own)
                exchange.until_gone()
            case "old":
                exchange.send(head(200, kind).replace(b"HTTP/1.1", b"HTTP/1.0"), own)
                exchange.close()
            case "length":
                exchange.send(head(200, [*kind, ("Content-Length", str(len(own)))]), own)
            case "chunked":
                exchange.stream()
                exchange.send(chunk(own), LAST_CHUNK)

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    for _ in range(3):
        with took(below=1):
            assert text_of(await at.get(client.call_tool("bug"))) == "own"
        await echoes(at, client)
    await at.get(client.close())


# ---- streams that end without an answer

ENDS = {
    "at once": b"",
    "after a comment": b": bye\n\n",
    "after other messages": event(note(level="info", data="x")),
    "after the answer to another": event(result(10**9, text("not yours"))),
    "after an event that is cut": b'data: {"jsonrpc":"2.0","id":',
    "after an event of another type": b"event: other\ndata: {}\n\n",
}


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@pytest.mark.parametrize("end", [*ENDS])
@across
async def test_a_stream_that_ends_without_the_answer(at, server, end, protocol):
    def script(exchange):
        exchange.stream()
        exchange.send(chunk(ENDS[end]) if ENDS[end] else b"", LAST_CHUNK)

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=protocol, pool_size=1))
    with took(below=1):
        refused(await at.error(client.call_tool("bug")), 200)
    assert len(server.received("tool bug")) == 1
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("how", ["close", "reset", "half_close"])
@pytest.mark.parametrize("end", [*ENDS])
@across
async def test_a_stream_that_breaks_off(at, server, end, how):
    def script(exchange):
        exchange.stream()
        if ENDS[end]:
            exchange.chunk(ENDS[end])
        getattr(exchange, how)()
        if how == "half_close":
            exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    with took(below=1):
        broken(await at.error(client.call_tool("bug")))
    assert len(server.received("tool bug")) == 1
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("how", ["close", "reset"])
@across
async def test_an_answer_that_came_is_given_though_the_stream_breaks_off(at, server, how):
    def script(exchange):
        exchange.stream()
        exchange.event(result(exchange.request["id"], text("own")))
        exchange.until_gone(0.2)
        getattr(exchange, how)()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    for _ in range(3):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await echoes(at, client)
    await at.get(client.close())


# ---- errors and other statuses


@pytest.mark.parametrize("status", [200, 400, 404, 500])
@across
async def test_an_error_in_a_stream_whatever_the_status(at, server, status):
    def script(exchange):
        exchange.stream(status=status)
        exchange.event(note(level="info", data="x"))
        exchange.event(error(exchange.request["id"], -32602, "no such thing", data={"hint": 1}))
        exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        failed = await at.error(client.call_tool("bug"))
    said_no(failed, -32602, "no such thing", data={"hint": 1})
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_key_that_is_there_twice_is_malformed(at, server):
    def script(exchange):
        id = exchange.request["id"]
        exchange.stream()
        exchange.chunk(b'data: {"jsonrpc":"2.0","id":%d,"result":{"a":1,"a":2}}\n\n' % id)
        exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        lost(await at.error(client.call_tool("bug")))
    await echoes(at, client)
    await at.get(client.close())


# ---- much


@across
async def test_a_large_event_in_small_pieces(at, server):
    """Quickly too: nothing is read twice."""
    said = "0123456789abcdef" * 250_000

    def script(exchange):
        body = event(result(exchange.request["id"], text(said)))
        exchange.stream()
        pieces = (body[i : i + 1000] for i in range(0, len(body), 1000))
        exchange.send(b"".join(chunk(piece) for piece in pieces))
        exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1, timeout=20.0))
    with took(below=5):
        assert text_of(await at.get(client.call_tool("bug"))) == said
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_many_messages_before_the_answer(at, server):
    def script(exchange):
        exchange.stream()
        body = event(note(level="info", data="x" * 100)) * 100
        for _ in range(200):
            exchange.chunk(body)
        exchange.event(result(exchange.request["id"], text("own")))
        exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(timeout=20.0))
    with took(below=8):
        calls = [client.call_tool("bug") for _ in range(3)]
        await echoes(at, client)
        for said in await at.all(*calls):
            assert text_of(said) == "own"
    await at.get(client.close())


@pytest.mark.parametrize("how", ["one event", "many events", "one line", "comments"])
@across
async def test_a_stream_over_the_limit(at, server, how):
    """The limit is for all of it, as for any other body."""
    pieces = {
        "one event": [b"data: ", *[b"x" * 5_000] * 30],
        "many events": [event(note(level="info", data="x" * 1000))] * 150,
        "one line": [b"x" * 5_000] * 30,
        "comments": [b": %b\n" % (b"x" * 1000)] * 150,
    }[how]

    def script(exchange):
        exchange.stream()
        for piece in pieces:
            exchange.chunk(piece)
        exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(max_response_bytes=100_000, pool_size=1))
    with took(below=1.5):
        too_large(await at.error(client.call_tool("bug")), 100_000)
    bug = server.received("tool bug")[0]
    await at.until(lambda: server.connections[bug.connection - 1].closed, within=1.0)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_stream_under_the_limit(at, server):
    def script(exchange):
        own = event(result(exchange.request["id"], text("own")))
        room = 100_000 - len(own)
        exchange.stream()
        exchange.chunk(b":" * (room - 2) + b"\n\n")
        exchange.chunk(own)
        exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(max_response_bytes=100_000, pool_size=1))
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_answer_in_a_stream_that_is_for_somebody_else(at, server):
    def script(exchange):
        id = exchange.request["id"]
        exchange.stream()
        for other in (id + 1, str(id), id + 0.5, None, True, [id], 0, -id):
            exchange.event(result(other, text("not yours")))
        exchange.wait("never")

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=2))
    call = client.call_tool("bug", timeout=0.4)
    await echoes(at, client, n=1)
    timed_out(await at.error(call), 0.4)
    await echoes(at, client, n=2)
    await at.get(client.close())
