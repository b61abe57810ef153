"""What is no answer fails at once, with its status and body; what is one counts in any dress."""

from __future__ import annotations

import json

import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, text_of, took
from http_exchange import JSON, encode, head, response
from http_outcomes import malformed, refused, said_no, too_large
from http_server import error, result, text

import snodo_actors as snodo

STATUSES = [400, 401, 403, 406, 410, 429, 500, 502, 503, 504, 999]


@pytest.mark.parametrize("drop", [False, True])
@everywhere
async def test_a_page_instead_of_an_answer(at, case, drop):
    server = case("B-041")
    client = await at.get(server.connect(pool_size=1))
    for status in STATUSES:
        body = b"<html><body><h1>%d upstream trouble</h1></body></html>" % status
        with took(below=1):
            failed = await at.error(client.call_tool("bug", {"status": status, "drop": drop}))
        if drop:
            lost(failed)
        else:
            refused(failed, status, body)
            assert str(status) in str(failed)
        await echoes(at, client)
    assert len(server.requests(tool="bug")) == len(STATUSES), "nothing is sent again"
    await at.get(client.close())


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@everywhere
async def test_an_error_of_json_rpc_whatever_the_status(at, case, protocol):
    server = case("B-043")
    client = await at.get(server.connect(pool_size=1, protocol=protocol))
    for status in (400, 404, 422, 500):
        for id in ("same", "null", "absent"):
            for kind in (JSON, "application/json; charset=utf-8"):
                arguments = {"status": status, "id": id, "ct": kind}
                with took(below=1):
                    failed = await at.error(client.call_tool("bug", arguments))
                said_no(failed, -32602, "no such thing", data={"hint": 1})
    await echoes(at, client)
    with took(below=1):
        outcome = await at.outcome(client.call_tool("bug", {"status": 400, "result": True}))
    if isinstance(outcome, Exception):
        refused(outcome, 400)
    else:
        assert text_of(outcome) == "with a 400"
    with took(below=1):
        failed = await at.error(client.call_tool("bug", {"status": 400, "ct": "text/plain"}))
    if failed.code == -32000:
        refused(failed, 400)
    else:
        said_no(failed, -32602, "no such thing")
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("to", ["other", "same", "loop", "rel"])
@everywhere
async def test_redirects_lead_nowhere(at, case, to):
    server = case("B-045")
    secret = [("X-Api-Key", "k-45"), ("Authorization", "Bearer t-45")]
    client = await at.get(server.connect(pool_size=1, headers=secret))
    for status in (301, 302, 303, 307, 308):
        with took(below=1):
            failed = await at.error(client.call_tool("bug", {"status": status, "to": to}))
        refused(failed, status, b"go away")
    await echoes(at, client)
    await at.get(client.close())
    assert server.facts("leak") == []
    assert server.facts("followed") == []
    assert server.requests(http="GET") == []
    assert len(server.requests(tool="bug")) == 5


@pytest.mark.parametrize(
    "what", ["initialize", "notifications/initialized", "subscriptions/listen"]
)
@across
async def test_redirects_of_other_messages_lead_nowhere_either(at, serve, what):
    server, other = serve(), serve()
    server.on(what, lambda e: e.respond(307, b"go", [("Location", other.url)], kind="text/plain"))
    protocol = MODERN if what == "subscriptions/listen" else LEGACY
    outcome = await at.outcome(server.connect(protocol=protocol))
    if isinstance(outcome, snodo.Client):
        refused(await at.error(outcome.listen({"toolsListChanged": True})), 307, b"go")
        await at.get(outcome.close())
    else:
        refused(outcome, 307, b"go")
    assert other.connections == []


@across
async def test_a_redirect_at_the_end_of_a_session_leads_nowhere(at, serve):
    server, other = serve(sessions=True), serve()
    server.on("DELETE", lambda e: e.respond(307, b"", [("Location", other.url)]))
    client = await at.get(server.connect())
    with took(below=1):
        await at.get(client.close())
    assert other.connections == []
    assert len(server.received("DELETE")) == 1


# ---- bodies that are no answer


def own(exchange):
    return encode(result(exchange.request["id"], text("own")))


NO_ANSWERS = {
    "nothing": b"",
    "blanks": b" \r\n ",
    "a page": b"<html>It works!</html>",
    "null": b"null",
    "a number": b"17",
    "a string": b'"ok"',
    "an array": b"[]",
    "an object": b"{}",
    "another object": b'{"ok":true}',
    "no version": b'{"id":1,"result":{}}',
    "another version": b'{"jsonrpc":"1.0","id":1,"result":{}}',
    "half": b'{"jsonrpc":"2.0","id":1,"resu',
    "NaN": b'{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}',
    "infinity": b'{"jsonrpc":"2.0","id":1,"result":{"a":-Infinity}}',
    "a number too long": b'{"jsonrpc":"2.0","id":1,"result":{"a":%b}}' % (b"1" * 65),
    "a very long number": b'{"jsonrpc":"2.0","id":1,"result":{"a":%b}}' % (b"7" * 1_500_000),
    "bytes that are no UTF-8": b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}',
    "a key twice": b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}',
    "very deep": b'{"jsonrpc":"2.0","id":1,"result":' + b'{"a":' * 100_000,
    "single quotes": b"{'jsonrpc':'2.0','id':1,'result':{}}",
    "UTF-16": '{"jsonrpc":"2.0","id":1,"result":{}}'.encode("utf-16"),
    "an event stream": b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n',
}


@pytest.mark.parametrize("status", [200, 500])
@across
async def test_a_body_that_is_no_answer(at, server, status):
    client = await at.get(server.connect(pool_size=1))
    for name, body in NO_ANSWERS.items():
        server.once("tool bug", lambda e, body=body: e.respond(status, body))
        with took(below=1.5):
            failed = await at.outcome(client.call_tool("bug"))
        assert isinstance(failed, snodo.TransportError), (name, failed)
        refused(failed, status, body)
        await echoes(at, client)
    await at.get(client.close())


@across
async def test_what_follows_the_answer_in_the_body(at, server):
    """A second message, a batch or garbage behind it: this is no JSON."""
    client = await at.get(server.connect(pool_size=1))
    for change in (
        lambda body: body + body,
        lambda body: body + b"\n" + body,
        lambda body: b"[" + body + b"]",
        lambda body: body + b"x",
        lambda body: body + b"\0",
        lambda body: b"while(1);" + body,
    ):
        server.once("tool bug", lambda e, change=change: e.respond(200, change(own(e))))
        refused(await at.error(client.call_tool("bug")), 200)
    server.once("tool bug", lambda e: e.respond(200, b" \r\n\t" + own(e) + b"\r\n \n"))
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await at.get(client.close())


@across
async def test_a_byte_order_mark_before_json(at, server):
    """Read or refused, but at once."""
    server.on("tool bug", lambda e: e.respond(200, b"\xef\xbb\xbf" + own(e)))
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        outcome = await at.outcome(client.call_tool("bug"))
    if isinstance(outcome, Exception):
        refused(outcome, 200)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "application/json;charset=utf-8",
        "APPLICATION/JSON",
        "application/json-rpc",
        "application/vnd.api+json",
        "text/plain",
        "text/html",
        "application/octet-stream",
        "text/event-strea",
        "application/json, text/event-stream",
        "nonsense",
        ";;;",
    ],
)
@across
async def test_an_answer_is_one_whatever_it_is_called(at, server, kind):
    server.on("tool bug", lambda e: e.respond(200, own(e), kind=kind))
    client = await at.get(server.connect(pool_size=1))
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("status", [201, 202, 203, 226, 299, 300, 304, 404, 418, 500])
@across
async def test_an_answer_is_one_whatever_its_status(at, server, status):
    def script(exchange):
        if status == 304:  # has no body, whatever it says
            exchange.send(head(304, [("Content-Type", JSON)]))
        else:
            exchange.respond(status, own(exchange))

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        outcome = await at.outcome(client.call_tool("bug"))
    if status == 304:
        refused(outcome, 304, b"")
    elif isinstance(outcome, Exception):
        refused(outcome, status)
    else:
        assert text_of(outcome) == "own"
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("status", [200, 202, 204, 205, 404, 405, 500])
@across
async def test_a_request_that_is_answered_with_nothing(at, server, status):
    def script(exchange):
        fields = [] if status == 204 else [("Content-Length", "0")]
        exchange.send(head(status, fields))

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    for _ in range(2):
        with took(below=1):
            refused(await at.error(client.call_tool("bug")), status, b"")
    assert len(server.received("tool bug")) == 2
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("status", [200, 202, 204, 299])
@pytest.mark.parametrize("body", [b"", b"ok", b"{}", b"<html>"])
@across
async def test_a_notification_is_taken_by_any_2xx(at, server, status, body):
    def script(exchange):
        exchange.send(head(204) if status == 204 else response(status, body))

    server.on("notifications/initialized", script)
    client = await at.get(server.connect(pool_size=1))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_heads_that_come_before_the_head(at, server):
    def script(exchange):
        exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nX: 1\r\n\r\n")
        exchange.send(b"HTTP/1.1 102 Processing\r\n\r\n" * 3)
        exchange.respond(200, own(exchange))

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    for _ in range(2):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_nobody_asked_for_another_protocol(at, server):
    def script(exchange):
        exchange.send(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"
        )
        exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    with took(below=1):
        malformed(await at.error(client.call_tool("bug")))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_only_the_beginning_of_a_body_is_shown(at, server):
    body = b"<p>" + bytes(range(256)) * 100
    server.on("tool bug", lambda e: e.respond(502, body, kind="text/html"))
    client = await at.get(server.connect(pool_size=1))
    failed = await at.error(client.call_tool("bug"))
    refused(failed, 502, body)
    assert len(str(failed)) < 2000
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("framing", ["length", "chunks", "until close"])
@pytest.mark.parametrize("status", [200, 404, 500])
@across
async def test_a_body_over_the_limit_whatever_the_status(at, server, status, framing):
    """It is cut as soon as that is known: the server still has most of it to send."""
    sent = []

    def script(exchange):
        if framing == "length":
            exchange.send(head(status, [("Content-Length", "300000000")]))
        elif framing == "chunks":
            exchange.stream(status=status, kind=JSON)
        else:
            exchange.send(head(status, [("Content-Type", JSON)]))
        for _ in range(4000):
            piece = b"x" * 65_536
            exchange.chunk(piece) if framing == "chunks" else exchange.send(piece)
            sent.append(len(piece))

    server.on("tool bug", script)
    client = await at.get(server.connect(max_response_bytes=100_000, pool_size=1))
    with took(below=1.5):
        too_large(await at.error(client.call_tool("bug")), 100_000)
    await echoes(at, client)
    await at.get(client.close())
    assert sum(sent) < 50_000_000


@pytest.mark.parametrize("framing", ["length", "chunks", "one chunk", "until close"])
@across
async def test_a_body_as_large_as_the_limit(at, server, framing):
    limit = 100_000

    def script(exchange):
        size = limit + exchange.request.arguments["over"]
        body = own(exchange)
        body = body[:-1] + b" " * (size - len(body)) + body[-1:]
        match framing:
            case "length":
                exchange.respond(200, body)
            case "until close":
                exchange.send(head(200, [("Content-Type", JSON)]), body)
                exchange.close()
            case _:
                exchange.stream(kind=JSON)
                step = 1000 if framing == "chunks" else size
                for i in range(0, size, step):
                    exchange.chunk(body[i : i + step])
                exchange.end()

    server.on("tool bug", script)
    client = await at.get(server.connect(max_response_bytes=limit, pool_size=1))
    for over in (0, 1, -1, 5000):
        outcome = await at.outcome(client.call_tool("bug", {"over": over}))
        if over > 0:
            too_large(outcome, limit)
        else:
            assert text_of(outcome) == "own"
        await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_large_answer(at, server):
    said = 'é漢😀\u2028"\\\n' * 700_000

    def script(exchange):
        exchange.json(result(exchange.request["id"], text(said)))

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1, timeout=30.0))
    with took(below=8):
        assert text_of(await at.get(client.call_tool("bug"))) == said
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602, -32603, -32000, -32001, -5, 7])
@across
async def test_the_servers_errors_are_its_own(at, server, code):
    def script(exchange):
        exchange.json(error(exchange.request["id"], code, "its words", data=[1, {"a": None}]), 200)

    server.on("tool bug", script)
    client = await at.get(server.connect(pool_size=1))
    said_no(await at.error(client.call_tool("bug")), code, "its words", data=[1, {"a": None}])
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_unicode_both_ways(at, server):
    client = await at.get(server.connect(pool_size=1))
    said = {"é\u2028": "漢字 😀 \x7f \x00 \u0085", "": [None, True, -1.5e300, 10**15]}
    answer = await at.get(client.call_tool("echo", said))
    assert json.loads(text_of(answer)) == said
    await at.get(client.close())
