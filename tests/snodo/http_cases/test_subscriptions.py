"""A subscription over HTTP begins with its acknowledgement and ends with its owner or server."""

from __future__ import annotations

import pytest
from case_servers import MODERN, across, echoes, everywhere, lost, program, timed_out, took
from http_exchange import LAST_CHUNK, encode, event, head
from http_outcomes import broken, not_connected, refused, said_no, too_large
from http_server import error, event_for, note, result, text

import snodo_actors as snodo
import supervisors

FILTER = {"toolsListChanged": True}
CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


async def payloads(at, subscription, timeout=5.0):
    """All there is, to the end."""
    came = []
    while not came or came[-1][0] != "closed":
        came.append(await at.get(subscription.next(timeout=timeout)))
    return came


def numbers(came):
    return [payload[2].get("n") for payload in came if payload[0] == "notification"]


def acknowledge(exchange, filter=FILTER):
    exchange.event(event_for(exchange.request["id"], ACKNOWLEDGED, notifications=filter))


def change(exchange, n, **more):
    exchange.event(event_for(exchange.request["id"], CHANGED, n=n, **more))


# ---- the cases


@everywhere
async def test_what_comes_before_the_acknowledgement_is_not_delivered(at, case):
    server = case("B-063")
    client = await at.get(server.connect(protocol=MODERN))
    with took(below=1.2, least=0.4):
        subscription = await at.get(
            client.listen({"toolsListChanged": True, "promptsListChanged": True})
        )
    assert subscription.accepted == {"toolsListChanged": True}
    kind, method, params = await at.get(subscription.next(timeout=2.0))
    assert (kind, method, params["n"]) == ("notification", CHANGED, 3)
    timed_out(await at.error(subscription.next(timeout=0.2)), 0.2)
    await at.get(subscription.close())
    await at.until(lambda: server.facts("listen_closed"), within=1.0)
    await at.get(client.close())


@pytest.mark.parametrize("mode", ["never", "end", "error", "http404", "json"])
@everywhere
async def test_subscriptions_that_do_not_begin(at, case, mode):
    server = case("B-063", CASE_LISTEN=mode)
    client = await at.get(server.connect(protocol=MODERN))
    with took(below=1.0):
        failed = await at.error(client.listen(FILTER, timeout=0.5))
    match mode:
        case "never":
            timed_out(failed, 0.5)
            await at.until(lambda: server.facts("listen_closed"), within=1.0)
        case "error" | "http404":
            said_no(failed, -32601, "no subscriptions")
        case _:
            lost(failed)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("mode", ["dup", "lost", "graceful"])
@everywhere
async def test_subscriptions_that_end(at, case, mode):
    server = case("B-063", CASE_LISTEN=mode)
    client = await at.get(server.connect(protocol=MODERN))
    subscription = await at.get(client.listen(FILTER))
    assert subscription.accepted == FILTER
    if mode == "dup":
        assert (await at.get(subscription.next(timeout=2.0)))[2]["n"] == 1
        await at.get(subscription.close())
    else:
        *came, end = await payloads(at, subscription)
        assert numbers(came) == [1]
        if mode == "graceful":
            assert end == ("closed", "complete")
        else:
            lost(end[1])
        again = await at.get(subscription.next(timeout=2.0))
        assert again[0] == "closed"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_the_limit_is_for_each_event(at, case):
    server = case("B-063", CASE_LISTEN="bigevent")
    client = await at.get(server.connect(protocol=MODERN, max_response_bytes=100_000))
    subscription = await at.get(client.listen(FILTER, max_buffer=1000))
    *came, end = await payloads(at, subscription)
    assert numbers(came) == [1, *range(100)]
    too_large(end[1], 100_000)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("end", ["returns", "raises", "killed"])
@everywhere
async def test_the_end_of_the_owner_ends_its_stream(at, case, end, silent):
    server = case("B-064", **({"CASE_SILENT": "1"} if silent else {}))
    client, box = await at.get(server.connect(protocol=MODERN)), []

    async def own():
        box.append(await client.listen(FILTER))
        await supervisors.receive("go".__eq__)
        if end == "raises":
            raise LookupError("the owner broke")

    ref = supervisors.spawn(own)
    subscription = (await at.until(lambda: box))[0]
    supervisors.exit(ref, "kill") if end == "killed" else ref.send("go")
    with took(below=2):
        await at.until(lambda: server.facts("listen_closed", id=subscription.id))
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_fifty_owners_end_and_the_others_go_on(at, case):
    server = case("B-064")
    client, box = await at.get(server.connect(protocol=MODERN)), []
    mine = await at.get(client.listen(FILTER))

    async def own():
        box.append(await client.listen(FILTER))
        await supervisors.receive("go".__eq__)

    refs = [supervisors.spawn(own) for _ in range(50)]
    await at.until(lambda: len(box) == 50)
    for ref in refs:
        supervisors.exit(ref, "kill")
    with took(below=4):
        await at.until(lambda: len(server.facts("listen_closed")) == 50)
    for _ in range(3):
        assert (await at.get(mine.next(timeout=3.0)))[0] in ("notification", "dropped")
    await at.get(mine.close())
    await at.get(client.close())


@everywhere
async def test_nothing_comes_after_the_owner_closed_it(at, case):
    server = case("B-064")
    client = await at.get(server.connect(protocol=MODERN))
    subscription = await at.get(client.listen(FILTER))
    subscription.demand(1000)
    await at.sleep(0.3)
    with took(below=1):
        await at.get(subscription.close())
    await at.until(lambda: server.facts("listen_closed", id=subscription.id), within=1)
    count = len(supervisors.mailbox())
    await at.sleep(0.4)
    assert len(supervisors.mailbox()) == count
    assert (await at.get(subscription.next()))[0] == "closed"
    await at.get(client.close())


ENDS = """
import sys
import snodo_actors as snodo
client = snodo.connect(("http", sys.argv[1]), protocol="2026-07-28").get()
streams = [client.listen({"toolsListChanged": True}).get() for _ in range(5)]
streams[0].next().get()
print(1)
"""


def test_a_program_ends_though_its_streams_are_open(case):
    server = case("B-064")
    with took(below=8):
        assert program(ENDS, server.url, timeout=20) == 1
    with took(below=3):
        while len(server.facts("listen_closed")) < 5:
            pass


# ---- the beginning


@across
async def test_the_request_of_a_subscription(at, server):
    client = await at.get(server.connect(protocol=MODERN, headers=[("x-own", "1")]))
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    trace = {"traceparent": parent, "tracestate": "a=b"}
    options = {"meta": {"a": 1, "traceparent": "theirs"}, "trace_context": trace}
    subscription = await at.get(client.listen(FILTER, **options))
    (request,) = server.received("subscriptions/listen")
    assert request.params["notifications"] == FILTER
    assert {name: request.meta[name] for name in ("a", *trace)} == {"a": 1, **trace}
    assert request["id"] == subscription.id
    assert request.all("mcp-method") == ["subscriptions/listen"]
    assert request.all("mcp-name") == []
    assert request.all("x-own") == ["1"]
    await at.get(subscription.close())
    await at.get(client.close())


BEFORE = {
    "comments": lambda e: e.chunk(b": still here\n\n"),
    "events": lambda e: change(e, 0),
    "events of others": lambda e: e.event(event_for("x", CHANGED)),
    "notifications": lambda e: e.event(note(level="info", data="x")),
    "acknowledgements of others": lambda e: e.event(
        event_for("x", ACKNOWLEDGED, notifications=FILTER)
    ),
}


@pytest.mark.parametrize("before", [*BEFORE])
@across
async def test_the_time_for_the_acknowledgement_holds_whatever_comes(at, server, before):
    def listen(exchange):
        exchange.stream()
        exchange.until_gone_or("never", lambda: BEFORE[before](exchange))

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN))
    with took(below=0.9, least=0.35):
        timed_out(await at.error(client.listen(FILTER, timeout=0.4)), 0.4)
    await at.until(lambda: server.connections[0].closed, within=1.0)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_the_time_for_the_acknowledgement_ends_with_it(at, server):
    def listen(exchange):
        exchange.stream()
        acknowledge(exchange)
        exchange.wait("go")
        change(exchange, 1)
        exchange.until_gone()

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN, timeout=0.3, pool_idle_timeout=0.2))
    subscription = await at.get(client.listen(FILTER))
    await at.sleep(0.6)
    server.open("go")
    assert (await at.get(subscription.next(timeout=2.0)))[2]["n"] == 1
    await at.get(subscription.close())
    await at.get(client.close())


@pytest.mark.parametrize(
    "params",
    [{"notifications": None}, {"notifications": [1]}, {"notifications": "all"}, {"other": 1}],
)
@across
async def test_an_acknowledgement_of_nothing(at, server, params):
    def listen(exchange):
        exchange.stream()
        exchange.event(event_for(exchange.request["id"], ACKNOWLEDGED, **params))
        exchange.until_gone()

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN))
    with took(below=1):
        lost(await at.error(client.listen(FILTER, timeout=3.0)))
    await at.until(lambda: server.connections[0].closed, within=1.0)
    await echoes(at, client)
    await at.get(client.close())


REFUSALS = {
    "a page": (lambda e: e.respond(503, b"later", kind="text/html"), "page"),
    "nothing": (lambda e: e.respond(200, b""), "page"),
    "202": (lambda e: e.respond(202, kind=""), "page"),
    "a result": (lambda e: e.json(result(e.request["id"], {})), "lost"),
    "an error": (lambda e: e.json(error(e.request["id"], -32602, "no"), 400), "error"),
    "an error of nobody": (lambda e: e.json(error(None, -32602, "no"), 400), "error"),
    "the end": (lambda e: e.close(), "broken"),
    "a reset": (lambda e: e.reset(), "broken"),
    "garbage": (lambda e: (e.send(b"garbage\r\n\r\n"), e.until_gone()), "lost"),
    "an empty stream": (lambda e: (e.stream(), e.end()), "lost"),
    "a broken stream": (lambda e: (e.stream(), e.reset()), "lost"),
    "another coding": (lambda e: e.stream([("Content-Encoding", "gzip")]), "lost"),
    "a large event": (lambda e: (e.stream(), e.chunk(b": " + b"x" * 200_000)), "large"),
    "an unknown method": (lambda e: e.json(error(e.request["id"], -32601, "no"), 404), "error"),
}  # fmt: skip


@pytest.mark.parametrize("how", [*REFUSALS])
@across
async def test_a_subscription_that_does_not_begin(at, server, how):
    script, fails = REFUSALS[how]

    def listen(exchange):
        script(exchange)
        exchange.connection.gone(0.2)

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN, max_response_bytes=100_000))
    for _ in range(2):
        with took(below=1):
            failed = await at.error(client.listen(FILTER))
        match fails:
            case "page":
                lost(failed)
                assert failed.cause[0] == "http_status"
            case "error":
                assert failed.code in (-32601, -32602)
                assert failed.message == "no"
            case "broken":
                broken(failed)
            case "large":
                too_large(failed, 100_000)
            case _:
                lost(failed)
        await echoes(at, client)
    assert len(server.received("subscriptions/listen")) == 2
    await at.get(client.close())


@across
async def test_nobody_listens(at, server):
    client = await at.get(server.connect(protocol=MODERN))
    port = server.port
    server.stop()
    with took(below=1):
        not_connected(await at.error(client.listen(FILTER)))
    server.start(port)
    subscription = await at.get(client.listen(FILTER))
    await at.get(subscription.close())
    await at.get(client.close())


@pytest.mark.parametrize("at", ["asyncio", "trio", "beside"], indirect=True)
@everywhere
async def test_who_gives_up_before_the_acknowledgement_opens_nothing(at, server):

    def listen(exchange):
        exchange.stream()
        exchange.wait("never")

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN))
    call = client.listen(FILTER)
    await at.until(lambda: server.waiting("never"))
    await at.give_up(call)
    await at.until(lambda: server.connections[0].closed, within=1.0)
    await echoes(at, client)
    await at.get(client.close())


# ---- events


@pytest.mark.parametrize("size", [None, 1])
@across
async def test_events_are_read_as_the_standard_says(at, server, size):
    def listen(exchange):
        id = exchange.request["id"]
        exchange.stream()

        def line(n):
            return encode(event_for(id, CHANGED, n=n, said="é漢\u2028"))

        ack = encode(event_for(id, ACKNOWLEDGED, notifications=FILTER))
        body = b"".join(
            [
                b"\xef\xbb\xbf: hello\n\nid: 1\nretry: 10\ndata:\n\n",
                b"event: message\ndata: " + ack + b"\n\n",
                b"data:" + line(1) + b"\r\n\r\n",
                b"data: " + line(2) + b"\r\r",
                b"event: ping\ndata: {}\n\n: ping\n\n",
                b"event: other\ndata: " + line(99) + b"\n\n",
                b"data: not json\n\ndata: [1]\n\ndata: null\n\n",
                b"data: " + line(3).replace(b",", b",\ndata: ") + b"\n\n",
                b"data: " + encode(event_for("somebody else", CHANGED, n=98)) + b"\n\n",
                b"data: " + encode({"jsonrpc": "2.0", "id": 7, "method": "ping"}) + b"\n\n",
                b"data: " + encode(result(10**9, {})) + b"\n\n",
                b"id: 9\ndata: " + line(4) + b"\nevent: message\n\n",
            ]
        )
        step = size or len(body)
        exchange.send(*(b"%x\r\n%b\r\n" % (len(p), p) for p in pieces(body, step)))
        exchange.event(result(id, {"resultType": "complete"}))
        exchange.end()

    def pieces(body, step):
        return [body[at : at + step] for at in range(0, len(body), step)]

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN))
    subscription = await at.get(client.listen(FILTER))
    *came, end = await payloads(at, subscription)
    assert numbers(came) == [1, 2, 3, 4]
    assert {payload[2]["said"] for payload in came} == {"é漢\u2028"}
    assert end == ("closed", "complete")
    await at.get(client.close())


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("complete", "complete"),
        ("error", "error"),
        ("end", "lost"),
        ("cut", "lost"),
        ("close", "lost"),
        ("reset", "lost"),
        ("half_close", "lost"),
        ("cut event", "lost"),
        ("garbage chunk", "lost"),
        ("malformed", "lost"),
        ("input", "lost"),
    ],
)
@everywhere
async def test_the_end_comes_behind_the_events_and_once(at, server, how, expected):
    def listen(exchange):
        id = exchange.request["id"]
        exchange.stream()
        acknowledge(exchange)
        for n in range(5):
            change(exchange, n)
        exchange.connection.gone(0.02)  # a reset throws away what was not read yet
        match how:
            case "complete":
                exchange.event(result(id, {"resultType": "complete"}))
                exchange.end()
            case "error":
                exchange.event(error(id, -32603, "broke"))
                exchange.end()
            case "end":
                exchange.end()
            case "cut":
                exchange.send(b"ff\r\n{")
                exchange.close()
            case "cut event":
                exchange.chunk(event(event_for(id, CHANGED, n=5))[:-2])
                exchange.close()
            case "garbage chunk":
                exchange.send(b"zz\r\n")
                exchange.until_gone()
            case "malformed":
                exchange.event({"jsonrpc": "2.0", "id": id, "result": []})
                exchange.end()
            case "input":
                exchange.event(result(id, {"resultType": "input_required", "inputRequests": {}}))
                exchange.end()
            case "half_close":
                exchange.half_close()
                exchange.until_gone()
            case _:
                getattr(exchange, how)()

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN))
    subscription = await at.get(client.listen(FILTER))
    with took(below=2):
        *came, (kind, end) = await payloads(at, subscription)
    assert (numbers(came), kind) == ([*range(5)], "closed")
    match expected:
        case "complete":
            assert end == "complete"
        case "error":
            said_no(end, -32603, "broke")
        case "lost":
            lost(end)
    assert (await at.get(subscription.next(timeout=1.0)))[0] == "closed"
    with took(below=0.5):
        await at.get(subscription.close())
    await echoes(at, client)
    assert not [one for one in supervisors.mailbox() if one[0] == "snodo_subscription"]
    await at.get(client.close())


@pytest.mark.parametrize("overflow", ["drop_oldest", "drop_newest"])
@across
async def test_what_the_owner_does_not_take_is_bounded(at, server, overflow):
    def listen(exchange):
        exchange.stream()
        acknowledge(exchange)
        for n in range(2000):
            change(exchange, n)
        exchange.event(result(exchange.request["id"], {"resultType": "complete"}))
        exchange.end()
        server.open("all sent")

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN))
    subscription = await at.get(client.listen(FILTER, max_buffer=10, overflow=overflow))
    await at.until(lambda: server.gate("all sent").is_open())
    await at.sleep(0.2)
    came = await payloads(at, subscription)
    assert came[-1] == ("closed", "complete")
    got = numbers(came)
    dropped = sum(payload[1] for payload in came if payload[0] == "dropped")
    assert len(got) + dropped == 2000
    assert got == sorted(got)
    assert len(got) < 1000
    assert got[0] == 0 if overflow == "drop_newest" else got[-1] == 1999
    await at.get(client.close())


@across
async def test_many_small_events_pass_the_limit_together(at, server):
    def listen(exchange):
        exchange.stream()
        acknowledge(exchange)
        for n in range(50):
            change(exchange, n, pad="p" * 900)
        exchange.send(*[b"1\r\n:\r\n"] * 3, b"1\r\n\n\r\n")
        for _ in range(50):
            exchange.chunk(b": " + b"c" * 900 + b"\n\n")
        exchange.event(result(exchange.request["id"], {"resultType": "complete"}))
        exchange.end()

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN, max_response_bytes=2000))
    subscription = await at.get(client.listen(FILTER))
    came = await payloads(at, subscription)
    assert numbers(came) == [*range(50)]
    assert came[-1] == ("closed", "complete")
    await at.get(client.close())


@pytest.mark.parametrize("framing", ["until close", "length", "old"])
@across
async def test_streams_that_are_not_chunked(at, server, framing):
    def listen(exchange):
        id = exchange.request["id"]
        body = b"".join(
            [
                event(event_for(id, ACKNOWLEDGED, notifications=FILTER)),
                event(event_for(id, CHANGED, n=1)),
                event(result(id, {"resultType": "complete"})),
            ]
        )
        fields = [("Content-Type", "text/event-stream")]
        if framing == "length":
            fields.append(("Content-Length", str(len(body))))
        start = head(200, fields)
        if framing == "old":
            start = start.replace(b"HTTP/1.1", b"HTTP/1.0")
        exchange.send(start, body)
        if framing != "length":
            exchange.close()

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN))
    subscription = await at.get(client.listen(FILTER))
    came = await payloads(at, subscription)
    assert (numbers(came), came[-1]) == ([1], ("closed", "complete"))
    await at.get(client.close())


@across
async def test_events_that_arrive_with_the_acknowledgement(at, server):
    """All in one packet, head included."""

    def listen(exchange):
        id = exchange.request["id"]
        fields = [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")]
        parts = [
            event(event_for(id, ACKNOWLEDGED, notifications=FILTER)),
            *(event(event_for(id, CHANGED, n=n)) for n in range(20)),
            event(result(id, {"resultType": "complete"})),
        ]
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
        exchange.send(head(200, fields) + chunks + LAST_CHUNK)

    server.on("subscriptions/listen", listen)
    client = await at.get(server.connect(protocol=MODERN))
    subscription = await at.get(client.listen(FILTER))
    came = await payloads(at, subscription)
    assert (numbers(came), came[-1]) == ([*range(20)], ("closed", "complete"))
    await at.get(client.close())


# ---- servers that go and come


@across
async def test_a_server_that_is_started_anew(at, server):
    client = await at.get(server.connect(protocol=MODERN))
    streams = await at.all(*(client.listen(FILTER) for _ in range(5)))
    await at.until(lambda: len(server.streams) == 5)
    server.push(CHANGED, n=1)
    for stream in streams:
        assert (await at.get(stream.next(timeout=2.0)))[2]["n"] == 1
    server.restart()
    for stream in streams:
        (end,) = await payloads(at, stream)
        lost(end[1])
    stream = await at.get(client.listen(FILTER))
    await at.until(lambda: server.streams)
    server.push(CHANGED, n=2)
    assert (await at.get(stream.next(timeout=2.0)))[2]["n"] == 2
    await at.get(stream.close())
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_stream_that_is_opened_again(at, server):
    client = await at.get(server.connect(protocol=MODERN))
    stream = await at.get(client.listen(FILTER, resubscribe=True))
    await at.until(lambda: server.streams)
    server.push(CHANGED, n=1)
    assert (await at.get(stream.next(timeout=2.0)))[2]["n"] == 1
    server.restart()
    again = await at.get(stream.next(timeout=10.0))
    assert again == ("resubscribed", FILTER)
    await at.until(lambda: server.streams)
    server.push(CHANGED, n=2)
    assert (await at.get(stream.next(timeout=2.0)))[2]["n"] == 2
    await at.get(stream.close())
    await at.until(lambda: not server.streams)
    await at.get(client.close())


@across
async def test_a_stream_and_calls_do_not_disturb_each_other(at, server):
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    stream = await at.get(client.listen(FILTER))
    await at.until(lambda: server.streams)
    for n in range(20):
        server.push(CHANGED, n=n)
        await echoes(at, client, n=n)
        assert (await at.get(stream.next(timeout=2.0)))[2]["n"] == n
    server.once("tool bug", lambda e: e.reset())
    lost(await at.error(client.call_tool("bug")))
    server.push(CHANGED, n=99)
    assert (await at.get(stream.next(timeout=2.0)))[2]["n"] == 99
    await at.get(stream.close())
    await at.get(client.close())


@across
async def test_older_versions_have_no_subscriptions(at, server):
    client = await at.get(server.connect())
    failed = await at.error(client.listen(FILTER))
    assert isinstance(failed, snodo.ProtocolError)
    assert (failed.code, failed.delivery) == (-32601, "never_sent")
    assert server.received("subscriptions/listen") == []
    await at.get(client.close())


@across
async def test_a_redirect_of_a_subscription(at, server):
    server.on(
        "subscriptions/listen",
        lambda e: e.respond(307, b"there", [("Location", "/other")], kind="text/plain"),
    )
    client = await at.get(server.connect(protocol=MODERN))
    refused(await at.error(client.listen(FILTER)), 307, b"there")
    assert {request.target for request in server.requests} == {"/mcp"}
    await at.get(client.close())


@across
async def test_a_tool_that_answers_like_a_stream(at, server):
    """Events of a subscription on the stream of a call are nobody's."""

    def bug(exchange):
        exchange.stream()
        exchange.event(event_for(stream.id, CHANGED, n=77))
        exchange.event(result(exchange.request["id"], text("own")))
        exchange.end()

    server.on("tool bug", bug)
    client = await at.get(server.connect(protocol=MODERN))
    stream = await at.get(client.listen(FILTER))
    await at.until(lambda: server.streams)
    await at.get(client.call_tool("bug"))
    server.push(CHANGED, n=1)
    assert (await at.get(stream.next(timeout=2.0)))[2]["n"] == 1
    await at.get(stream.close())
    await at.get(client.close())
