"""Progress comes in order and before the result, and moves the deadline, but never the cap."""

from __future__ import annotations

import anyio
import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, text_of, timed_out, took
from http_exchange import LAST_CHUNK
from http_server import note, result, text

import snodo_actors as snodo
import supervisors


def progress(exchange, n, token=None):
    token = exchange.request.meta.get("progressToken") if token is None else token
    exchange.event(note("notifications/progress", progressToken=token, progress=n))


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@everywhere
async def test_progress_in_order_before_the_result(at, server, protocol):
    def bug(exchange):
        exchange.stream()
        for n in range(10):
            progress(exchange, n)
            progress(exchange, 99, token="somebody else's")
            exchange.event(note(level="info", data="x"))
        exchange.event(result(exchange.request["id"], text("own")))
        exchange.end()

    server.on("tool bug", bug)
    client = await at.get(server.connect(protocol=protocol, pool_size=1))
    seen = []
    answer = await at.get(
        client.call_tool("bug", progress=lambda params: seen.append(params["progress"]))
    )
    assert (seen, text_of(answer)) == ([*range(10)], "own")
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_progress_comes_as_it_is_made(at, server):
    """Not only at the end: the next is sent when the last has arrived."""

    def bug(exchange):
        exchange.stream()
        for n in range(5):
            progress(exchange, n)
            exchange.wait(f"seen {n}")
        exchange.event(result(exchange.request["id"], text("own")))

    server.on("tool bug", bug)
    client = await at.get(server.connect(pool_size=1))
    answer = await at.get(
        client.call_tool("bug", progress=lambda params: server.open(f"seen {params['progress']}"))
    )
    assert text_of(answer) == "own"
    await at.get(client.close())


@across
async def test_progress_to_a_process(at, server):
    def bug(exchange):
        exchange.stream()
        progress(exchange, 1)
        exchange.event(result(exchange.request["id"], text("own")))

    server.on("tool bug", bug)
    client = await at.get(server.connect())
    await at.get(client.call_tool("bug", progress=supervisors.self_()))
    name, params = await at.get(supervisors.receive(lambda m: m[0] == "snodo_progress", 2.0))
    assert (name, params["progress"]) == ("snodo_progress", 1)
    await at.get(client.close())


@across
async def test_a_progress_function_may_call_the_same_client(at, server):
    """Though the pool has one place only: the stream has left it."""

    def bug(exchange):
        exchange.stream()
        for n in range(3):
            progress(exchange, n)
        exchange.event(result(exchange.request["id"], text("own")))

    server.on("tool bug", bug)
    client = await at.get(server.connect(protocol=MODERN, pool_size=1))
    seen = []

    async def show(params):
        seen.append(text_of(await client.call_tool("echo", {"n": params["progress"]})))

    assert text_of(await at.get(client.call_tool("bug", progress=show))) == "own"
    assert seen == [f'{{"n": {n}}}' for n in range(3)]
    await at.get(client.close())


@across
async def test_a_progress_function_that_raises_ends_the_call(at, server):
    def bug(exchange):
        exchange.stream()
        progress(exchange, 1)
        exchange.until_gone()

    def broken(params):
        raise LookupError("no room for it")

    server.on("tool bug", bug)
    client = await at.get(server.connect(pool_size=1))
    with pytest.raises(LookupError, match="no room"):
        await at.get(client.call_tool("bug", progress=broken))
    bug = server.received("tool bug")[0]
    await at.until(lambda: server.connections[bug.connection - 1].closed, within=1.0)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_slow_progress_function_holds_up_its_own_call_only(at, server):
    def bug(exchange):
        exchange.stream()
        for n in range(50):
            progress(exchange, n)
        exchange.event(result(exchange.request["id"], text("own")))

    server.on("tool bug", bug)
    client = await at.get(server.connect(pool_size=2, timeout=10.0))

    async def slow(params):
        await anyio.sleep(0.01)

    async def slowly():
        assert text_of(await at.get(client.call_tool("bug", progress=slow))) == "own"

    async def quickly():
        await at.until(lambda: server.received("tool bug"))
        with took(below=0.4):
            for n in range(5):
                await echoes(at, client, n=n)

    await at.together(slowly, quickly)
    await at.get(client.close())


# ---- deadlines


def ticking(server, every="tick"):
    """A tool that shows progress each 20 ms for as long as somebody is there."""

    def bug(exchange):
        arguments = exchange.request.arguments
        exchange.stream()
        if not arguments.get("ticks"):
            exchange.until_gone()
            return
        for n in range(arguments["ticks"]):
            progress(exchange, n)
            if exchange.connection.gone(0.02):
                return
        exchange.event(result(exchange.request["id"], text("own")))

    server.on("tool bug", bug)


def ignore(params):
    pass


@across
async def test_progress_moves_the_deadline_where_it_may(at, server):
    ticking(server)
    client = await at.get(server.connect(pool_size=1))
    options = {"progress": ignore, "timeout": 0.4}
    with took(below=1.0, least=0.3):
        timed_out(await at.error(client.call_tool("bug", {"ticks": 1000}, **options)), 0.4)
    options["reset_timeout_on_progress"] = True
    with took(below=4, least=0.6):
        answer = await at.get(client.call_tool("bug", {"ticks": 50}, **options))
    assert text_of(answer) == "own"
    with took(below=1.0, least=0.3):
        timed_out(await at.error(client.call_tool("bug", {"ticks": 0}, **options)), 0.4)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_progress_does_not_move_the_cap(at, server):
    ticking(server)
    client = await at.get(server.connect(pool_size=1))
    options = {"progress": ignore, "reset_timeout_on_progress": True}
    with took(below=1.3, least=0.65):
        call = client.call_tool(
            "bug", {"ticks": 1000}, timeout=0.4, max_total_timeout=0.7, **options
        )
        failed = await at.error(call)
    assert (failed.code, failed.data) == (-32001, {"maxTotalTimeoutMs": 700})
    with took(below=0.8):
        call = client.call_tool("bug", {"ticks": 0}, timeout=2.0, max_total_timeout=0.3, **options)
        failed = await at.error(call)
    assert failed.code == -32001
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_the_progress_of_others_moves_nothing(at, server):
    def bug(exchange):
        exchange.stream()
        exchange.until_gone_or("never", lambda: progress(exchange, 1, token="x"))

    server.on("tool bug", bug)
    client = await at.get(server.connect(pool_size=1))
    call = client.call_tool("bug", progress=ignore, timeout=0.4, reset_timeout_on_progress=True)
    with took(below=1.0):
        timed_out(await at.error(call), 0.4)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("how", ["end", "close", "reset"])
@across
async def test_progress_and_then_the_end(at, server, how):
    """What came is shown, and the call fails as any that was cut off."""

    def bug(exchange):
        exchange.stream()
        for n in range(3):
            progress(exchange, n)
        exchange.wait("seen")
        if how == "end":
            exchange.send(LAST_CHUNK)
        else:
            getattr(exchange, how)()

    seen = []

    def show(params):
        seen.append(params["progress"])
        if len(seen) == 3:
            server.open("seen")

    server.on("tool bug", bug)
    client = await at.get(server.connect(pool_size=1))
    with took(below=2):
        lost(await at.error(client.call_tool("bug", progress=show)))
    assert seen == [0, 1, 2]
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"progress": 1},
        {"progressToken": None, "progress": 1},
        {"progressToken": ["x"], "progress": 1},
        [1],
        "x",
    ],
)
@across
async def test_progress_of_no_known_shape(at, server, params):
    def bug(exchange):
        exchange.stream()
        message = {"jsonrpc": "2.0", "method": "notifications/progress"}
        exchange.event(message if params is None else {**message, "params": params})
        exchange.event(result(exchange.request["id"], text("own")))

    server.on("tool bug", bug)
    client = await at.get(server.connect(pool_size=1))
    seen = []
    answer = await at.get(client.call_tool("bug", progress=seen.append))
    assert (text_of(answer), seen) == ("own", [])
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_flood_of_progress(at, server):
    count = 5000

    def bug(exchange):
        exchange.stream()
        for n in range(count):
            progress(exchange, n)
        exchange.event(result(exchange.request["id"], text("own")))

    server.on("tool bug", bug)
    client = await at.get(server.connect(pool_size=1, timeout=20.0))
    seen = []
    with took(below=8):
        call = client.call_tool("bug", progress=lambda params: seen.append(params["progress"]))
        assert text_of(await at.get(call)) == "own"
    assert seen == sorted(seen)
    assert seen[-1] == count - 1 or len(seen) > 100
    await at.get(client.close())


@across
async def test_who_gives_up_hears_no_more_progress(at, server):
    def bug(exchange):
        exchange.stream()
        exchange.until_gone_or("never", lambda: progress(exchange, 1))

    server.on("tool bug", bug)
    client = await at.get(server.connect(pool_size=1))
    seen = []
    call = client.call_tool("bug", progress=seen.append, timeout=20.0)
    await at.give_up(call)
    count = len(seen)
    await echoes(at, client)
    await at.sleep(0.1)
    assert len(seen) == count
    assert isinstance(client, snodo.Client)
    await at.get(client.close())
