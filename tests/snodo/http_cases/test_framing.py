"""An answer that is not framed as it says is not taken, whole or in part."""

from __future__ import annotations

import pytest
from case_servers import MODERN, across, echoes, everywhere, lost, program, text_of, timed_out, took
from http_exchange import JSON, LAST_CHUNK, STREAM, chunk, encode, event, head, response
from http_outcomes import broken, malformed, refused, too_large
from http_server import HttpServer, result, text

BROKEN = [
    "short",
    "chunkcut",
    "badchunk",
    "twocl",
    "neg",
    "junkstatus",
    "nostatus",
    "eofhead",
    "nothing",
]


@everywhere
async def test_broken_framing(at, case):
    server = case("B-049")
    client = await at.get(server.connect(pool_size=1))
    for how in (*BROKEN, "clte", "trailers", "ext", "lf"):
        with took(below=1):
            outcome = await at.outcome(client.call_tool("bug", {"how": how}))
        if how in BROKEN or (how in ("clte", "lf") and isinstance(outcome, Exception)):
            lost(outcome)
        else:
            assert text_of(outcome) == f"framed {how}"
        await echoes(at, client, after=how)
        if how in (*BROKEN, "clte"):
            bug, echo = server.requests(rpc="tools/call")[-2:]
            assert bug["conn"] != echo["conn"], how
    with took(below=1.3):
        timed_out(await at.error(client.call_tool("bug", {"how": "shortkeep"}, timeout=0.5)), 0.5)
    await at.until(lambda: server.facts("gone"), within=1)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("sse", [True, False])
@everywhere
async def test_content_codings(at, case, sse):
    server = case("B-050")
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        assert text_of(await at.get(client.call_tool("bug", {"sse": sse}))) == "inflated"
    for more in ({}, {"enc": "deflate"}, {"enc": "br"}, {"enc": "zstd"}, {"garbage": True}):
        arguments = {"force": True, "sse": sse, **more}
        with took(below=1):
            outcome = await at.outcome(client.call_tool("bug", arguments))
        if isinstance(outcome, Exception):
            lost(outcome)
            assert outcome.delivery == "answered"
        else:
            assert text_of(outcome) == "inflated"
            assert arguments.get("enc", "gzip") == "gzip"
        await echoes(at, client)
    assert {fact["value"] for fact in server.facts("offered")} <= {None, "identity"}
    await at.get(client.close())


BOMB = """
import json, sys
sys.path.insert(0, ".")
from case_servers import Memory
import snodo_actors as snodo
client = snodo.connect(("http", sys.argv[1]), protocol="2025-11-25", timeout=10.0).get()
memory = Memory()
try:
    client.call_tool("bug", {"bomb": True, "force": True}).get()
except snodo.TransportError as error:
    cause = error.cause
print(json.dumps({"cause": cause, "peak": memory.peak()}))
client.close().get()
"""


def test_a_bomb_does_not_go_off(case):
    out = program(BOMB, case("B-050").url)
    assert out["cause"] in (["content_encoding", "gzip"], ["max_response_bytes", 16 * 1024 * 1024])
    assert out["peak"] < 50


# ---- cut off anywhere


def whole(framing, id):
    """An answer, and where in it the answer is complete."""
    own = result(id, text("é漢"))
    match framing:
        case "length":
            data = response(200, encode(own))
        case "chunks":
            fields = [("Content-Type", JSON), ("Transfer-Encoding", "chunked")]
            body = encode(own)
            data = (
                head(200, fields) + chunk(body[:20]) + chunk(body[20:]) + b"0\r\nX-Sum: 1\r\n\r\n"
            )
        case "stream":
            fields = [("Content-Type", STREAM), ("Transfer-Encoding", "chunked")]
            data = head(200, fields) + chunk(b": a\r\n\r\n") + chunk(event(own)) + LAST_CHUNK
            return data, len(data) - len(LAST_CHUNK) - 2
        case "until close":
            data = head(200, [("Content-Type", JSON)]) + encode(own)
    return data, len(data)


@pytest.mark.parametrize("how", ["close", "reset", "half_close"])
@pytest.mark.parametrize("framing", ["length", "chunks", "stream", "until close"])
@across
async def test_an_answer_cut_off_anywhere(at, server, framing, how):
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    longest, _ = whole(framing, 100_000)
    for cut in range(0, len(longest), 1 if how == "close" else 5):

        def script(exchange, cut=cut):
            data, _ = whole(framing, exchange.request["id"])
            exchange.send(data[:cut])
            if cut >= len(data) and framing != "until close":
                return  # whole, as its id was shorter
            exchange.connection.gone(0.002)  # a reset throws away what was not read yet
            getattr(exchange, how)()
            if how == "half_close":
                exchange.until_gone()

        server.once("tool bug", script)
        with took(below=1):
            outcome = await at.outcome(client.call_tool("bug"))
        _, enough = whole(framing, server.received("tool bug")[-1]["id"])
        if cut >= enough and (how != "reset" or isinstance(outcome, dict)):
            assert text_of(outcome) == "é漢", cut
        else:
            lost(outcome)
            assert outcome.delivery != "never_sent", (cut, outcome)
    assert len(server.received("tool bug")) == len({r["id"] for r in server.received("tool bug")})
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("framing", ["length", "chunks"])
@across
async def test_an_answer_in_two_pieces_whatever_the_cut(at, server, framing):
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    data, _ = whole(framing, 100_000)
    for cut in range(1, len(data) - 3):

        def script(exchange, cut=cut):
            data, _ = whole(framing, exchange.request["id"])
            exchange.send(data[:cut], data[cut:])

        server.once("tool bug", script)
        assert text_of(await at.get(client.call_tool("bug"))) == "é漢", cut
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("framing", ["length", "chunks", "stream", "until close"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@across
async def test_an_answer_in_many_pieces(at, server, framing, size):
    def script(exchange):
        data, _ = whole(framing, exchange.request["id"])
        exchange.drip(data, size)
        if framing == "until close":
            exchange.close()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    assert text_of(await at.get(client.call_tool("bug"))) == "é漢"
    await echoes(at, client)
    await at.get(client.close())


# ---- heads that are none


def framed(*lines, body=None, start=b"HTTP/1.1 200 OK"):
    """An answer with a head of these lines; @ in them is the right length."""

    def make(id):
        own = encode(result(id, text("own")))
        content = own if body is None else body.replace(b"OWN", own)
        length = b"%d" % len(own)
        fields = [line.replace(b"@", length) for line in lines]
        return b"\r\n".join([start, *fields, b"", b""]) + content

    return make


LENGTH = b"Content-Length: @"
CHUNKED = b"Transfer-Encoding: chunked"

MALFORMED = {
    "no HTTP": framed(LENGTH, start=b"SSH-2.0-OpenSSH_9.2"),
    "another protocol": framed(LENGTH, start=b"ICY 200 OK"),
    "another version": framed(LENGTH, start=b"HTTP/2 200 OK"),
    "no version": framed(LENGTH, start=b"HTTP 200 OK"),
    "small letters": framed(LENGTH, start=b"http/1.1 200 OK"),
    "a status too short": framed(LENGTH, start=b"HTTP/1.1 20 OK"),
    "a status too long": framed(LENGTH, start=b"HTTP/1.1 2000 OK"),
    "no status": framed(LENGTH, start=b"HTTP/1.1 OK"),
    "a status in letters": framed(LENGTH, start=b"HTTP/1.1 2oo OK"),
    "a status with a sign": framed(LENGTH, start=b"HTTP/1.1 +20 OK"),
    "NUL in the status line": framed(LENGTH, start=b"HTTP/1.1 200 O\0K"),
    "a folded line": framed(b"X-A: 1\r\n 2", LENGTH),
    "a folded first line": framed(b" X-A: 1", LENGTH),
    "a blank before the colon": framed(b"X-A : 1", LENGTH),
    "no colon": framed(b"X-A", LENGTH),
    "no name": framed(b": 1", LENGTH),
    "a blank in a name": framed(b"X A: 1", LENGTH),
    "NUL in a value": framed(b"X-A: 1\x002", LENGTH),
    "a bare CR in a value": framed(b"X-A: 1\r2", LENGTH),
    "a negative length": framed(b"Content-Length: -5"),
    "a length with a sign": framed(b"Content-Length: +@"),
    "a length in hex": framed(b"Content-Length: 0xff"),
    "a length with a point": framed(b"Content-Length: @.0"),
    "a length that is empty": framed(b"Content-Length: "),
    "a length in words": framed(b"Content-Length: many"),
    "a length with an underscore": framed(b"Content-Length: 1_0"),
    "a length in other digits": framed("Content-Length: ٣".encode()),
    "a very long length": framed(b"Content-Length: " + b"9" * 40),
    "two lengths": framed(LENGTH, b"Content-Length: 3"),
    "two lengths in one": framed(b"Content-Length: @, 3"),
    "a length and chunks": framed(LENGTH, CHUNKED, body=b"2\r\n{}\r\n0\r\n\r\n"),
    "chunks and a length": framed(CHUNKED, LENGTH, body=b"2\r\n{}\r\n0\r\n\r\n"),
    "another coding of the transfer": framed(b"Transfer-Encoding: gzip, chunked"),
    "chunked in the middle": framed(b"Transfer-Encoding: chunked, gzip"),
    "chunked twice": framed(b"Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n"),
    "chunked in two fields": framed(CHUNKED, CHUNKED, body=b"0\r\n\r\n"),
    "nearly chunked": framed(b"Transfer-Encoding: xchunked"),
    "a size in words": framed(CHUNKED, body=b"zz\r\nOWN\r\n0\r\n\r\n"),
    "a negative size": framed(CHUNKED, body=b"-1\r\nOWN\r\n0\r\n\r\n"),
    "a size with 0x": framed(CHUNKED, body=b"0x2\r\n{}\r\n0\r\n\r\n"),
    "a size with an underscore": framed(CHUNKED, body=b"0_2\r\n{}\r\n0\r\n\r\n"),
    "no size": framed(CHUNKED, body=b"\r\nOWN\r\n0\r\n\r\n"),
    "a size too long": framed(CHUNKED, body=b"0" * 17 + b"2\r\n{}\r\n0\r\n\r\n"),
    "a chunk longer than its size": framed(CHUNKED, body=b"2\r\n{}}\r\n0\r\n\r\n"),
    "nothing behind a chunk": framed(CHUNKED, body=b"2\r\n{}0\r\n\r\n"),
    "a size without an end": framed(CHUNKED, body=b"2;" + b"x" * 10_000),
}  # fmt: skip

GARBAGE = {
    "NUL": b"\0" * 1000,
    "TLS": b"\x15\x03\x01\x00\x02\x02\x28",
    "HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\0" * 18,
    "a request": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "line ends": b"\r\n" * 10,
    "a body without a head": b'{"jsonrpc":"2.0","id":1,"result":{}}',
    "a greeting": b"220 mail.example.test ESMTP\r\n",
}


@pytest.mark.parametrize("name", [*GARBAGE])
@across
async def test_garbage_and_the_end(at, server, name):
    def script(exchange):
        exchange.send(GARBAGE[name])
        exchange.connection.gone(0.005)
        exchange.close()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        failed = await at.error(client.call_tool("bug"))
    lost(failed)
    assert failed.delivery != "never_sent"
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("name", [*MALFORMED])
@across
async def test_what_is_no_http_is_refused_at_once(at, server, name):
    """Though the server keeps the connection open; no other call gets what it sent."""

    def script(exchange):
        exchange.send(MALFORMED[name](exchange.request["id"]))
        exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        malformed(await at.error(client.call_tool("bug")))
    await echoes(at, client)
    bug, echo = server.received("tools/call")
    assert bug.connection != echo.connection
    await at.until(lambda: server.connections[bug.connection - 1].closed, within=1.0)
    await at.get(client.close())


FINE = {
    "no reason": framed(LENGTH, start=b"HTTP/1.1 200 "),
    "no reason and no blank": framed(LENGTH, start=b"HTTP/1.1 200"),
    "a reason of any bytes": framed(LENGTH, start="HTTP/1.1 200 Très bien".encode()),
    "no blank behind the colon": framed(b"Content-Length:@", b"X-A:1"),
    "blanks around a value": framed(b"Content-Length: \t @ \t "),
    "an empty value": framed(b"X-A:", b"X-B: ", LENGTH),
    "odd names": framed(b"!#$%&'*+-.^_`|~: 1", LENGTH),
    "bytes over 127": framed("X-A: é漢".encode(), b"X-B: \xff", LENGTH),
    "any case": framed(b"CONTENT-LENGTH: @", b"content-TYPE: application/json"),
    "the same length twice": framed(LENGTH, LENGTH),
    "leading zeros": framed(b"Content-Length: 000@"),
    "chunked in capitals": framed(b"TRANSFER-ENCODING: Chunked", body=None),
    "many fields": framed(*(b"X-%d: 1" % n for n in range(90)), LENGTH),
    "a long field": framed(b"X-A: " + b"x" * 60_000, LENGTH),
    "the same field often": framed(*[b"Set-Cookie: a=b"] * 50, LENGTH),
}


@pytest.mark.parametrize("name", [*FINE])
@across
async def test_heads_that_are_unusual_and_fine(at, server, name):
    def script(exchange):
        id = exchange.request["id"]
        data = FINE[name](id)
        if name == "chunked in capitals":
            data = data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
            own = encode(result(id, text("own")))
            data += b"%X;a=b\r\n%b\r\n" % (len(own), own) + b"000;x\r\nA: b\r\n\r\n"
        exchange.send(data)

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    for _ in range(2):
        with took(below=1):
            assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("how", ["field", "reason"])
@across
async def test_a_head_may_be_as_long_as_a_body(at, server, how):
    """Longer than anybody writes one, and within the limit there is."""
    most = 1_000_000
    start = b"HTTP/1.1 200 %b\r\n" % (b"a" * most if how == "reason" else b"OK")
    field = b"X-A: " + (b"a" * most if how == "field" else b"a")

    def script(exchange):
        body = encode(result(exchange.request["id"], text("long")))
        head = b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        exchange.send(start + field + head + body)

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    for _ in range(2):
        assert text_of(await at.get(client.call_tool("bug"))) == "long"
    await at.get(client.close())
    client = await at.get(server.connect(pool_size=1, max_response_bytes=most))
    lost(await at.error(client.call_tool("bug")), ("max_response_bytes", most))
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("how", ["fields", "one field", "status line", "trailers", "1xx"])
@across
async def test_a_head_without_an_end(at, server, how):
    """It ends when it is larger than any head is."""

    def script(exchange):
        start = {
            "fields": b"HTTP/1.1 200 OK\r\n",
            "one field": b"HTTP/1.1 200 OK\r\nX-A: ",
            "status line": b"HTTP/1.1 200 ",
            "trailers": head(200, [("Transfer-Encoding", "chunked")]) + b"0\r\n",
            "1xx": b"HTTP/1.1 100 Continue\r\nX-A: ",
        }[how]
        piece = b"X-More: 1\r\n" * 100 if how in ("fields", "trailers") else b"a" * 1000
        exchange.send(start)
        for _ in range(20_000):
            exchange.send(piece)

    server.on("tool bug", script)
    client = await at.get(server.connect(max_response_bytes=100_000, pool_size=1))
    with took(below=2):
        failed = await at.error(client.call_tool("bug"))
    lost(failed)
    assert failed.cause == ("max_response_bytes", 100_000)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("minor", [0, 1])
@across
async def test_older_servers(at, server, minor):
    """Such a connection is not used again, unless it is said to be kept."""

    def script(exchange):
        own = encode(result(exchange.request["id"], text("own")))
        exchange.send(b"HTTP/1.%d 200 OK\r\nContent-Type: application/json\r\n\r\n" % minor, own)
        exchange.close()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    for _ in range(3):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("coding", ["identity", "", "Identity"])
@across
async def test_a_coding_that_is_none(at, server, coding):
    """Read or refused, but at once."""

    def script(exchange):
        own = encode(result(exchange.request["id"], text("own")))
        exchange.respond(200, own, [("Content-Encoding", coding)])

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        outcome = await at.outcome(client.call_tool("bug"))
    if isinstance(outcome, Exception):
        lost(outcome)
    else:
        assert text_of(outcome) == "own"
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "gzip, gzip", "br", "unheard-of", "*"])
@pytest.mark.parametrize("status", [200, 500])
@across
async def test_a_coding_that_was_not_asked_for(at, server, coding, status):
    server.on(
        "tool bug", lambda e: e.respond(status, b"\x1f\x8b\0\0", [("Content-Encoding", coding)])
    )
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        failed = await at.error(client.call_tool("bug"))
    lost(failed)
    assert failed.delivery == "answered"
    await echoes(at, client)
    await at.get(client.close())


# ---- the body of another call reaches nobody


@across
async def test_an_error_that_is_cut_off(at, server):
    def script(exchange):
        exchange.send(head(503, [("Content-Length", "1000")]), b"<p>later</p>")
        exchange.close()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        broken(await at.error(client.call_tool("bug")))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_page_until_the_connection_closes(at, server):
    def script(exchange):
        exchange.send(head(503, [("Content-Type", "text/html")]), b"<p>later</p>")
        exchange.close()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        refused(await at.error(client.call_tool("bug")), 503, b"<p>later</p>")
    await echoes(at, client)
    await at.get(client.close())


HUGE = """
import json, sys
sys.path.insert(0, ".")
from case_servers import Memory
import snodo_actors as snodo
client = snodo.connect(("http", sys.argv[1]), protocol="2025-11-25", timeout=30.0).get()
client.call_tool("echo").get()
memory = Memory()
causes = []
for _ in range(3):
    try:
        client.call_tool("bug", {"how": sys.argv[2]}).get()
    except snodo.TransportError as error:
        causes.append(error.cause)
print(json.dumps({"causes": causes, "peak": memory.peak(), "now": memory.now()}))
client.close().get()
"""


@pytest.mark.parametrize("how", ["length", "chunks", "until close", "stream", "one event"])
def test_a_huge_body_costs_bounded_memory(how):
    limit = 16 * 1024 * 1024
    with HttpServer() as server:

        @server.tool
        def bug(exchange):
            match how:
                case "length":
                    exchange.send(head(200, [("Content-Length", "300000000")]))
                case "until close":
                    exchange.send(head(500))
                case _:
                    exchange.stream(kind=JSON if how == "chunks" else STREAM)
            lines = b"data: " if how == "one event" else b": "
            piece = (
                b"x" * 65_536
                if how in ("chunks", "length", "until close", "one event")
                else ((lines + b"x" * 1000 + b"\n") * 64)
            )
            if how == "one event":
                exchange.chunk(lines)
            for _ in range(4000):
                exchange.send(piece if how in ("length", "until close") else chunk(piece))

        out = program(HUGE, server.url, how)
    assert out["causes"] == [["max_response_bytes", limit]] * 3
    assert out["peak"] < 3.5 * limit / 2**20
    assert server.errors == []


def test_too_large_is_what_it_is_called():
    """So that nobody has to look it up: the words for it name the option to raise."""
    from snodo_actors.words.lost import response_too_large

    too_large(response_too_large(5), 5)
    assert "max_response_bytes" in str(response_too_large(5))
