"""A connection is used again when that is safe, and its place in the pool is never lost."""

from __future__ import annotations

import threading

import anyio
import pytest
from case_servers import (
    LEGACY,
    MODERN,
    across,
    echoes,
    everywhere,
    lost,
    said,
    text_of,
    timed_out,
    took,
)
from http_exchange import JSON, STREAM, chunk, encode, event, head, response
from http_outcomes import broken
from http_server import note, result, text

import supervisors

# ---- connections that close while nobody uses them


@pytest.mark.parametrize("env", [{}, {"CASE_HALF": "1"}])
@everywhere
async def test_connections_that_close_while_idle(at, case, env):
    server = case("B-052", **env)
    client = await at.get(server.connect(pool_size=2))
    for n in range(12):
        await echoes(at, client, n=n)
        await at.sleep(0.08)
    await at.get(client.close())
    calls = server.requests(rpc="tools/call")
    assert len(calls) == len({call["id"] for call in calls}) == 12


@pytest.mark.parametrize("env", [{}, {"CASE_HALF": "1"}])
@across
async def test_connections_that_close_while_busy(at, case, env):
    server = case("B-052", **env)
    client = await at.get(server.connect(pool_size=4))
    outcomes = []

    async def many():
        for n in range(60):
            outcome = await at.outcome(client.call_tool("echo", {"n": n}))
            outcomes.append(outcome)
            if isinstance(outcome, Exception):
                lost(outcome)
            else:
                assert text_of(outcome) == said(n=n)

    await at.together(many, many, many, many)
    await at.get(client.close())
    calls = server.requests(rpc="tools/call")
    assert len(calls) == len({call["id"] for call in calls}), "nothing is sent twice"
    assert sum(isinstance(outcome, dict) for outcome in outcomes) > 200


IDLE_ENDS = {
    "close": lambda e: e.close(),
    "half close": lambda e: e.half_close(),
    "reset": lambda e: e.reset(),
    "a timeout of the server": lambda e: (
        e.send(response(408, b"Request Timeout", [("Connection", "close")])),
        e.close(),
    ),
    "a byte": lambda e: e.send(b"\r\n"),
    "an answer to nothing": lambda e: e.send(
        response(200, encode(result(e.request["id"] + 2, text("smuggled"))))
    ),
    "a head of an answer": lambda e: e.send(b"HTTP/1.1 200 OK\r\n"),
}


def assert_apart(server, count):
    """Each echo ran once, and on another connection than the bug before it."""
    bugs, echoed = server.received("tool bug"), server.received("tool echo")
    assert (len(bugs), len(echoed)) == (count, count)
    for bug, echo in zip(bugs, echoed, strict=True):
        assert bug.connection != echo.connection


@pytest.mark.parametrize("end", [*IDLE_ENDS])
@across
async def test_what_happens_to_an_idle_connection_hurts_no_call(at, server, end):
    def script(exchange):
        exchange.json(server.message(exchange.request))
        exchange.wait("now")
        IDLE_ENDS[end](exchange)
        server.open("done")
        if exchange.keeps:
            exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    for _ in range(3):
        assert text_of(await at.get(client.call_tool("bug", {"n": 1}))) == said(n=1)
        server.open("now")
        await at.until(lambda: server.gate("done").is_open())
        await at.sleep(0.02)  # until it has arrived
        await echoes(at, client, n=2)
        server.shut("now")
        server.shut("done")
    assert_apart(server, 3)
    await at.get(client.close())


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("how", ["close", "reset", "half_close"])
@across
async def test_a_request_that_may_have_run_is_not_sent_again(at, server, how, first):
    """The server read it and closed without a byte, on a connection that was fresh or kept."""

    def script(exchange):
        getattr(exchange, how)()
        if how == "half_close":
            exchange.until_gone()

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    if not first:
        await echoes(at, client)
    with took(below=1):
        broken(await at.error(client.call_tool("bug")))
    assert len(server.received("tool bug")) == 1
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("how", ["close", "reset"])
@across
async def test_a_server_that_closes_before_it_reads(at, server, how):
    """It is not known whether anything was read, so it fails, or is sent again on a fresh one."""
    server.once("connection", lambda connection: getattr(connection, how)())
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    with took(below=1):
        outcome = await at.outcome(client.call_tool("echo", {"n": 1}))
    if isinstance(outcome, Exception):
        lost(outcome)
    else:
        assert text_of(outcome) == said(n=1)
    assert len(server.received("tool echo")) <= 1
    await echoes(at, client)
    await at.get(client.close())


# ---- which connections are used again


@across
async def test_connections_are_kept_and_used_in_turn(at, server):
    client = await at.get(server.connect(pool_size=4))
    for n in range(50):
        await echoes(at, client, n=n)
    await at.get(client.close())
    assert len({request.connection for request in server.received("POST")}) == 1


@across
async def test_a_connection_serves_so_many_requests(at, server):
    client = await at.get(server.connect(protocol=MODERN, pool_size=1, pool_max_requests=3))
    for n in range(9):
        await echoes(at, client, n=n)
    await at.get(client.close())
    assert [one.requests for one in server.connections] == [3, 3, 3]


@across
async def test_an_idle_connection_is_closed_after_a_while(at, server):
    client = await at.get(server.connect(protocol=MODERN, pool_idle_timeout=0.2))
    await echoes(at, client)
    await at.until(lambda: server.connections[0].closed, within=1.0)
    idle = server.connections[0].closed - server.requests[0].at
    assert 0.15 < idle < 0.6
    await echoes(at, client)
    assert len(server.connections) == 2
    await at.get(client.close())


@pytest.mark.parametrize(
    "fields",
    [
        [("Connection", "close")],
        [("connection", "Close")],
        [("Connection", "keep-alive, close")],
        [("Connection", "x"), ("Connection", "close")],
        [("Connection", " close , x")],
    ],
)
@across
async def test_a_connection_that_is_said_to_close_is_not_used_again(at, server, fields):
    def script(exchange):
        exchange.json(server.message(exchange.request), fields=fields)
        exchange.until_gone(2.0)

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    for n in range(3):
        assert text_of(await at.get(client.call_tool("bug", {"n": n}))) == said(n=n)
    await echoes(at, client)
    assert [one.requests for one in server.connections] == [1, 1, 1, 1]
    await at.get(client.close())


@pytest.mark.parametrize("status", [400, 404, 500])
@across
async def test_an_error_that_is_whole_ends_no_connection(at, server, status):
    server.on("tool bug", lambda e: e.respond(status, b"<p>no</p>"))
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    for _ in range(3):
        lost(await at.error(client.call_tool("bug")))
    await echoes(at, client)
    await at.get(client.close())
    assert len(server.connections) == 1


@pytest.mark.parametrize("how", ["extra", "over", "late", "slow", "closehdr"])
@everywhere
async def test_bytes_left_on_a_connection_reach_nobody(at, case, how):
    server = case("B-056")
    client = await at.get(server.connect(pool_size=1))
    for n in range(2):
        if how == "slow":
            timed_out(await at.error(client.call_tool("bug", {"how": how}, timeout=0.3)), 0.3)
        else:
            said_own = text_of(await at.get(client.call_tool("bug", {"how": how})))
            assert said_own == f"own {how}"
        if how == "late":
            await at.sleep(0.3)
        await echoes(at, client, n=n)
        bug, echo = [r for r in server.requests(rpc="tools/call") if r["tool"] in ("bug", "echo")][
            -2:
        ]
        assert bug["conn"] != echo["conn"]
    await at.get(client.close())


def smuggled(exchange, more=1):
    id = exchange.request["id"]
    return response(200, encode(result(id + more if id else None, text("smuggled"))))


LEFTOVERS = {
    "an answer behind it": lambda e, own: [own + smuggled(e)],
    "an answer right behind it": lambda e, own: [own, smuggled(e)],
    "a line end": lambda e, own: [own + b"\r\n"],
    "a byte": lambda e, own: [own + b"x"],
    "chunks behind the last": lambda e, own: [
        head(200, [("Content-Type", JSON), ("Transfer-Encoding", "chunked")])
        + chunk(own.partition(b"\r\n\r\n")[2])
        + b"0\r\n\r\n"
        + smuggled(e)
    ],
    "two answers in chunks": lambda e, own: [
        head(200, [("Content-Type", JSON), ("Transfer-Encoding", "chunked")])
        + chunk(own.partition(b"\r\n\r\n")[2])
        + b"0\r\n\r\n",
        smuggled(e),
    ],
    "a body behind 204": lambda e, own: [head(204, [("Content-Length", "5")]) + smuggled(e)],
    "a body behind 304": lambda e, own: [head(304, [("Content-Length", "500")]) + smuggled(e)],
    "half an answer": lambda e, own: [own + smuggled(e)[:30]],
}


@pytest.mark.parametrize("left", [*LEFTOVERS])
@across
async def test_what_is_left_behind_an_answer_is_nobodys(at, server, left):
    def script(exchange):
        own = response(200, encode(result(exchange.request["id"], text("own"))))
        exchange.send(*LEFTOVERS[left](exchange, own))
        exchange.until_gone(0.5)

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    for n in range(3):
        outcome = await at.outcome(client.call_tool("bug"))
        if "body behind" in left:
            lost(outcome)
        else:
            assert text_of(outcome) == "own"
        await at.sleep(0.01)  # until what is right behind it has arrived
        await echoes(at, client, n=n)
    assert_apart(server, 3)
    await at.get(client.close())


@across
async def test_what_follows_the_answer_to_a_notification_is_nobodys(at, server):
    def script(exchange):
        id = 10**6
        body = encode(result(id, text("smuggled")))
        exchange.send(head(204) + response(200, body))
        exchange.until_gone(0.5)

    server.on("notifications/initialized", script)
    client = await at.get(server.connect(pool_size=1))
    await echoes(at, client)
    taken = server.received("notifications/initialized")[0].connection
    assert server.received("tool echo")[0].connection != taken
    await at.get(client.close())


# ---- places of the pool


@everywhere
async def test_calls_that_time_out_while_they_wait_leave_the_pool_whole(at, case):
    server = case("B-054")
    client = await at.get(server.connect(pool_size=4))
    for _ in range(3):
        with took(below=1.2, least=0.25):
            errors = await at.all(*(client.call_tool("bug", timeout=0.3) for _ in range(40)))
        for error in errors:
            timed_out(error, 0.3)
        assert sum(error.delivery == "never_sent" for error in errors) >= 30
        with took(below=1):
            await at.all(*(client.call_tool("echo", {"n": n}) for n in range(8)))
            await echoes(at, client)
    await at.until(lambda: len(open_now(server)) <= 4, within=2.0)
    assert len(server.requests(tool="bug")) <= 3 * 10
    await at.get(client.close())
    await at.until(lambda: not open_now(server), within=2.0)


def open_now(server):
    """The connections that carried a request and that the client has not closed."""
    facts = server.facts()
    ended = {
        fact["conn"] for fact in facts if fact["fact"] in ("gone", "peer_closed", "conn_error")
    }
    return {fact["conn"] for fact in facts if fact["fact"] == "req"} - ended


@everywhere
async def test_callers_that_end_in_the_middle_leave_the_pool_whole(at, case):
    server = case("B-054")
    client = await at.get(server.connect(pool_size=4))

    async def own():
        await client.call_tool("bug", timeout=20.0)

    for _ in range(3):
        refs = [supervisors.spawn(own) for _ in range(20)]
        await at.until(lambda: len(server.requests(tool="bug")) >= 4)
        for ref in refs:
            supervisors.exit(ref, "kill")
        await at.until(lambda refs=refs: not any(ref.is_alive() for ref in refs))
        with took(below=1):
            await at.all(*(client.call_tool("echo", {"n": n}) for n in range(8)))
            await echoes(at, client)
    await at.get(client.close())


@across
async def test_no_more_connections_than_places(at, server):
    def script(exchange):
        exchange.wait("go")
        exchange.json(server.message(exchange.request))

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=3))
    calls = [client.call_tool("bug", {"n": n}) for n in range(20)]
    await at.until(lambda: server.waiting("go") == 3)
    await at.sleep(0.05)
    assert (len(server.connections), len(server.requests)) == (3, 3)
    server.open("go")
    for n, answer in enumerate(await at.all(*calls)):
        assert text_of(answer) == said(n=n)
    assert len(server.connections) == 3
    first = {request.arguments["n"] for request in server.requests[:3]}
    assert first == {0, 1, 2}, "in the order they came"
    await at.get(client.close())


@across
async def test_who_waits_for_a_place_waits_its_own_time(at, server):
    def script(exchange):
        exchange.wait("go")
        exchange.json(server.message(exchange.request))

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    first = client.call_tool("bug", {"n": 1}, timeout=10.0)
    await at.until(lambda: server.waiting("go") == 1)
    with took(below=0.8, least=0.25):
        error = await at.error(client.call_tool("echo", timeout=0.3))
    timed_out(error, 0.3)
    assert error.delivery == "never_sent"
    server.open("go")
    assert text_of(await at.get(first)) == said(n=1)
    await echoes(at, client)
    assert len(server.received("tool echo")) == 1
    await at.get(client.close())


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@across
async def test_streams_take_no_places(at, server, protocol):
    """Neither answers in streams nor subscriptions: others go on though they do not end."""

    def script(exchange):
        exchange.stream()
        exchange.event(note(level="info", data="x"))
        exchange.wait("go")
        exchange.event(server.message(exchange.request))

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=protocol, pool_size=1))
    calls = [client.call_tool("bug", {"n": n}) for n in range(5)]
    with took(below=2):
        await echoes(at, client)
        await at.until(lambda: server.waiting("go") == 5)
    streams = []
    if protocol == MODERN:
        streams = await at.all(*(client.listen({"toolsListChanged": True}) for _ in range(5)))
        await echoes(at, client)
    server.open("go")
    for n, answer in enumerate(await at.all(*calls)):
        assert text_of(answer) == said(n=n)
    for stream in streams:
        await at.get(stream.close())
    await at.get(client.close())


# ---- giving up


def held(*pieces):
    def script(exchange):
        exchange.send(*(piece for piece in pieces if piece))
        exchange.wait("never")

    return script


STAGES = {
    "before a byte": held(b""),
    "in the head": held(b"HTTP/1.1 200 OK\r\nContent-"),
    "in the body": held(head(200, [("Content-Length", "100")]), b"{"),
    "in a chunk": held(head(200, [("Transfer-Encoding", "chunked")]), b"ff\r\n{"),
    "in a stream": held(
        head(200, [("Content-Type", STREAM), ("Transfer-Encoding", "chunked")]),
        chunk(event(note(level="info", data="x"))),
    ),
    "in an event": held(
        head(200, [("Content-Type", STREAM), ("Transfer-Encoding", "chunked")]),
        chunk(b"data: {"),
    ),
}


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@pytest.mark.parametrize("stage", [*STAGES])
@everywhere
async def test_who_gives_up_closes_the_connection(at, server, stage, protocol):
    server.on("tool bug", STAGES[stage])
    client = await at.get(server.connect(protocol=protocol, pool_size=1))
    for n in range(2):
        call = client.call_tool("bug", timeout=20.0)
        await at.until(lambda n=n: server.waiting("never") == n + 1)
        await at.give_up(call)
        bug = server.received("tool bug")[-1]
        await at.until(lambda bug=bug: server.connections[bug.connection - 1].closed, within=1.0)
        with took(below=0.5):
            await echoes(at, client)
    if protocol == LEGACY:
        await at.until(lambda: len(server.received("notifications/cancelled")) == 2, within=1.0)
        ids = {one.params["requestId"] for one in server.received("notifications/cancelled")}
        assert ids == {one["id"] for one in server.received("tool bug")}
    await at.get(client.close())


@everywhere
async def test_who_gives_up_while_it_waits_for_a_place_sends_nothing(at, server):
    server.on("tool bug", STAGES["before a byte"])
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    first = client.call_tool("bug", timeout=20.0)
    await at.until(lambda: server.waiting("never") == 1)
    for _ in range(3):
        await at.give_up(client.call_tool("echo", {"n": "never"}))
    await at.give_up(first)
    await echoes(at, client, n="now")
    assert [request.arguments for request in server.received("tool echo")] == [{"n": "now"}]
    await at.get(client.close())


@pytest.mark.parametrize("at", ["asyncio", "trio"], indirect=True)
@everywhere
async def test_a_storm_of_cancellations(at, server):
    """In whatever phase they come, the pool is whole afterwards and nothing is left."""

    def script(exchange):
        exchange.stream(kind=JSON if exchange.request["id"] % 2 else STREAM)
        exchange.connection.gone(0.004)
        exchange.chunk(b" " if exchange.request["id"] % 2 else b":\n")
        exchange.connection.gone(0.004)
        body = encode(server.message(exchange.request))
        exchange.chunk(body if exchange.request["id"] % 2 else b"data: " + body + b"\n\n")
        exchange.end()

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=4))

    async def call(n):
        with anyio.move_on_after((n % 25) * 0.001):
            await client.call_tool("bug", {"n": n})

    for _ in range(3):
        async with anyio.create_task_group() as group:
            for n in range(60):
                group.start_soon(call, n)
        with took(below=1.5):
            answers = await at.all(*(client.call_tool("echo", {"n": n}) for n in range(8)))
            assert [text_of(answer) for answer in answers] == [said(n=n) for n in range(8)]
    await at.get(client.close())


@across
async def test_a_storm_of_everything_that_can_happen(at, server):
    """Each call gets its own outcome, and the pool is whole afterwards."""

    def script(exchange):
        n = exchange.request.arguments["n"]
        own = encode(result(exchange.request["id"], text(f"own {n}")))
        match n % 8:
            case 0:
                exchange.respond(200, own)
            case 1:
                exchange.respond(503, b"<p>later</p>")
            case 2:
                exchange.send(head(200, [("Content-Length", "1000")]), own)
                exchange.close()
            case 3:
                exchange.reset()
            case 4:
                exchange.send(b"garbage\r\n\r\n")
                exchange.until_gone()
            case 5:
                exchange.until_gone()
            case 6:
                exchange.stream()
                exchange.chunk(b"data: " + own + b"\n\n")
                exchange.until_gone()
            case 7:
                exchange.respond(200, own, [("Connection", "close")])

    server.on("tool bug", script)
    client = await at.get(server.connect(protocol=MODERN, pool_size=8, timeout=10.0))
    calls = [
        client.call_tool("bug", {"n": n}, timeout=0.3 if n % 8 == 5 else 10.0) for n in range(160)
    ]
    for n, outcome in enumerate(await at.all(*calls)):
        match n % 8:
            case 0 | 6 | 7:
                assert text_of(outcome) == f"own {n}"
            case 5:
                timed_out(outcome, 0.3)
            case _:
                lost(outcome)
    assert len(server.received("tool bug")) == len({r["id"] for r in server.received("tool bug")})
    with took(below=1):
        answers = await at.all(*(client.call_tool("echo", {"n": n}) for n in range(16)))
        assert [text_of(answer) for answer in answers] == [said(n=n) for n in range(16)]
    await at.get(client.close())


@across
async def test_two_clients_share_nothing(at, server):
    """Each has its own connections, and closing one leaves the other alone."""
    one = await at.get(server.connect(protocol=MODERN, headers=[("x-who", "one")]))
    two = await at.get(server.connect(protocol=MODERN, headers=[("x-who", "two")]))
    for _ in range(3):
        await echoes(at, one)
        await echoes(at, two)
    used = {who: set() for who in ("one", "two")}
    for request in server.requests:
        used[request.first("x-who")].add(request.connection)
    assert not used["one"] & used["two"]
    await at.get(one.close())
    await echoes(at, two)
    await at.get(two.close())


@pytest.mark.parametrize("at", ["thread", "thread-trio"], indirect=True)
@everywhere
async def test_many_threads_and_one_client(at, server):
    client = await at.get(server.connect(protocol=MODERN, pool_size=4, pool_max_requests=1000))
    wrong = []

    def work(who):
        for n in range(30):
            got = text_of(client.call_tool("echo", {"who": who, "n": n}).get(timeout=30))
            if got != said(who=who, n=n):
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(server.connections) <= 4
    await at.get(client.close())
