"""Over HTTP through an nginx: what it holds back, closes and answers itself is told as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from case_servers import (
    LEGACY,
    MODERN,
    PATIENCE,
    PLACES,
    across,
    echoes,
    lost,
    said,
    text_of,
    timed_out,
    took,
)
from http_fixtures import serve, server
from http_outcomes import refused
from http_server import HttpServer, result, text
from peers.http_kinds import PYTHON_TWO
from peers.http_kit import Running
from peers.kit import said as words_of
from peers.nginx import KEEPS, KEPT, PROGRAM, UNBUFFERED, Nginx
from peers.test_input import FOLDER, User

import snodo_actors as snodo
from supervisors import receive, self_

__all__ = ["serve", "server"]

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="nginx is not installed")

BUFFERING = {"buffered": KEEPS, "unbuffered": UNBUFFERED}
WAYS = {"kept": (KEPT, KEEPS), "closed": ("", ""), "unbuffered": (KEPT, UNBUFFERED)}
"""The second is what nginx does by itself: HTTP/1.0, a connection for each request."""
POOL, CHANGES = 8, 3
NOTE = "notes://today"
EVENT = "notifications/tools/list_changed"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    places = getattr(metafunc.function, "places", None)
    if places is not None:
        metafunc.parametrize("at", places, indirect=True)


@pytest.fixture
def at(request: pytest.FixtureRequest) -> Any:
    return PLACES[request.param]()


@pytest.fixture
def before(tmp_path: Path) -> Iterator[Callable[..., Nginx]]:
    """Puts an nginx before a port, until the test ends."""
    with ExitStack() as stack:
        made: list[Nginx] = []

        def make(upstream: int, **how: str) -> Nginx:
            nginx = Nginx(tmp_path / f"nginx-{len(made)}", upstream, **how)
            made.append(nginx)
            stack.callback(nginx.stop)
            return nginx

        yield make


@pytest.fixture
def sdk(tmp_path: Path) -> Iterator[Running]:
    """A server of the official SDK, in a process of its own."""
    running = Running(PYTHON_TWO, None, tmp_path / "facts")
    yield running
    running.stop()


def through(nginx: Nginx, **options: Any) -> Any:
    options = {"protocol": LEGACY, "timeout": PATIENCE, "proxy": None, **options}
    return snodo.connect(("http", nginx.url), **options)


# ---- calls


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("streams", [False, True])
@across
async def test_calls(at, serve, before, way, streams):
    """Plain answers and streams, in a session; nothing is lost or mixed up."""
    upstream_more, location_more = WAYS[way]
    server = serve(sessions=True, streams=streams)
    nginx = before(server.port, upstream_more=upstream_more, location_more=location_more)
    client = await at.get(through(nginx, pool_size=8))
    calls = [client.call_tool("echo", {"n": n, "pad": "x" * 5000}) for n in range(200)]
    for n, answer in enumerate(await at.all(*calls)):
        assert text_of(answer) == said(n=n, pad="x" * 5000)
    assert await at.get(client.list_tools()) == server.tools
    large = "y" * 3_000_000
    server.once("tools/call", lambda e: e.json(result(e.request["id"], text(large))))
    assert text_of(await at.get(client.call_tool("echo"))) == large
    await at.get(client.close())
    assert server.sessions == set()
    if way == "closed":
        assert len(server.connections) == len(server.requests)
        assert all("HTTP/1.0" in fault for fault in server.faults)
        server.faults.clear()


@across
async def test_connections_are_kept_on_both_sides(at, server, before):
    nginx = before(server.port)
    client = await at.get(through(nginx, pool_size=1))
    for n in range(50):
        await echoes(at, client, n=n)
    await at.get(client.close())
    assert len(server.connections) == 1


@pytest.mark.parametrize("version", [MODERN, LEGACY])
@pytest.mark.parametrize("how", BUFFERING)
@across
async def test_progress_comes_as_it_is_made(at, sdk, before, how, version):
    """The official SDK forbids nginx to hold events back."""
    nginx = before(sdk.port, location_more=BUFFERING[how])
    client = await at.get(through(nginx, protocol=version))
    steps: list[Any] = []
    call = client.call_tool("steps", {"count": 3}, progress=steps.append)
    assert words_of(await at.get(call)) == "done"
    assert [step["progress"] for step in steps] == [1, 2, 3]
    await at.get(client.close())


# ---- streams


@pytest.mark.parametrize("how", BUFFERING)
@across
async def test_a_stream_of_events(at, sdk, before, how):
    nginx = before(sdk.port, location_more=BUFFERING[how])
    client = await at.get(through(nginx, protocol=MODERN))
    stream = await at.get(client.listen({"toolsListChanged": True}))
    for _ in range(3):
        await at.get(client.call_tool("change", {"uri": NOTE}))
        assert (await at.get(stream.next(timeout=PATIENCE)))[:2] == ("notification", EVENT)
    await at.in_thread(nginx.reload)  # the old worker goes on for its sake
    await at.get(client.call_tool("change", {"uri": NOTE}))
    assert (await at.get(stream.next(timeout=PATIENCE)))[:2] == ("notification", EVENT)
    await at.get(stream.close())
    await at.get(client.close())


@pytest.mark.parametrize("how", BUFFERING)
@across
async def test_the_standing_stream_of_a_session(at, sdk, before, how):
    nginx = before(sdk.port, location_more=BUFFERING[how])
    client = await at.get(through(nginx, server_stream=self_()))
    await at.get(client.call_tool("change", {"uri": NOTE}))
    _, method, _ = await at.get(receive(is_notification, PATIENCE))
    assert method == EVENT
    await at.get(client.close())


def is_notification(message: Any) -> bool:
    return isinstance(message, tuple) and message[0] == "snodo_notification"


@across
async def test_a_stream_is_opened_again_after_nginx_was_started_again(at, sdk, before):
    nginx = before(sdk.port)
    client = await at.get(through(nginx, protocol=MODERN))
    wanted = {"toolsListChanged": True}
    kept = await at.get(client.listen(wanted, resubscribe=True))
    left = await at.get(client.listen(wanted))
    await at.in_thread(nginx.restart)
    kind, error = await at.get(left.next(timeout=PATIENCE))
    assert kind == "closed"
    lost(error)
    assert await at.get(kept.next(timeout=PATIENCE)) == ("resubscribed", wanted)
    await at.get(client.call_tool("change", {"uri": NOTE}))
    assert (await at.get(kept.next(timeout=PATIENCE)))[:2] == ("notification", EVENT)
    await at.get(client.close())


@pytest.mark.parametrize("how", BUFFERING)
@across
async def test_a_stream_of_a_server_that_does_not_forbid_to_hold_it_back(at, server, before, how):
    """In HTTP/1.1 an event goes on as soon as the server pauses, whatever nginx is told."""
    nginx = before(server.port, location_more=BUFFERING[how])
    client = await at.get(through(nginx, protocol=MODERN))
    stream = await at.get(client.listen({"toolsListChanged": True}))
    await at.until(lambda: server.streams)
    for n in range(3):
        assert server.push(EVENT, n=n) == 1
        kind, method, params = await at.get(stream.next(timeout=PATIENCE))
        assert (kind, method, params["n"]) == ("notification", EVENT, n)
    await at.get(stream.close())
    await at.get(client.close())


@across
async def test_a_stream_that_nginx_holds_back(at, sdk, before):
    """As in HTTP/1.0, which it speaks by itself, where it does not hear that it must not."""
    nginx = before(
        sdk.port, upstream_more="", location_more="proxy_ignore_headers X-Accel-Buffering;"
    )
    client = await at.get(through(nginx, protocol=MODERN))
    timed_out(await at.error(client.listen({"toolsListChanged": True}, timeout=0.5)), 0.5)
    steps: list[Any] = []
    call = client.call_tool("steps", {"count": 3}, progress=steps.append)
    assert words_of(await at.get(call)) == "done"
    assert len(steps) == 3
    await at.get(client.close())


@across
async def test_a_stream_that_nginx_cuts_for_its_silence(at, server, before):
    nginx = before(server.port, location_more=f"{UNBUFFERED} proxy_read_timeout 1s;")
    client = await at.get(through(nginx, protocol=MODERN))
    wanted = {"toolsListChanged": True}
    stream = await at.get(client.listen(wanted))
    kept = await at.get(client.listen(wanted, resubscribe=True))
    kind, error = await at.get(stream.next(timeout=PATIENCE))
    assert kind == "closed"
    lost(error, "closed")
    for _ in range(2):
        assert await at.get(kept.next(timeout=PATIENCE)) == ("resubscribed", wanted)
    await at.get(kept.close())
    await at.get(client.close())


@pytest.mark.parametrize("version", [MODERN, LEGACY])
@pytest.mark.parametrize("way", WAYS)
@across
async def test_questions_in_the_middle_of_a_call(at, sdk, before, way, version):
    """In the older version they come on the stream of the answer, which goes on afterwards."""
    upstream_more, location_more = WAYS[way]
    nginx = before(sdk.port, upstream_more=upstream_more, location_more=location_more)
    user = User()
    client = await at.get(through(nginx, protocol=version, input_handlers=user.handlers))
    assert words_of(await at.get(client.call_tool("ask_form"))) == "form: Bo"
    assert words_of(await at.get(client.call_tool("ask_roots"))) == f"roots: {FOLDER}"
    await at.get(client.close())


# ---- what nginx answers itself


@across
async def test_a_server_that_is_down(at, server, before):
    nginx = before(server.port)
    client = await at.get(through(nginx, protocol=MODERN))
    await echoes(at, client)
    port = server.port
    await at.in_thread(server.stop)
    error = await at.error(client.call_tool("echo"))
    refused(error, 502)
    assert b"502 Bad Gateway" in error.cause[2]
    assert "502" in error.message
    refused(await at.error(through(nginx)), 502)
    refused(await at.error(client.listen({"toolsListChanged": True})), 502)
    await at.in_thread(lambda: server.start(port))
    await again(at, client)
    await at.get(client.close())


async def again(at: Any, client: snodo.Client) -> None:
    """Call until nginx tries the server again, which it leaves alone for a while."""
    for _ in range(100):
        outcome = await at.outcome(client.call_tool("echo", {"still": "there"}))
        if not isinstance(outcome, snodo.Error):
            assert text_of(outcome) == said(still="there")
            return
        refused(outcome, 502)
        await at.sleep(0.2)
    raise AssertionError("it stays away")


@across
async def test_a_server_that_is_too_slow_for_nginx(at, server, before):
    server.on("tool hold", lambda exchange: exchange.wait("never"))
    nginx = before(server.port, location_more=f"{KEEPS} proxy_read_timeout 1s;")
    client = await at.get(through(nginx))
    with took(below=3, least=0.9):
        error = await at.error(client.call_tool("hold"))
    refused(error, 504)
    assert b"504 Gateway Time-out" in error.cause[2]
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_body_that_is_too_large_for_nginx(at, server, before):
    nginx = before(server.port, location_more=f"{KEEPS} client_max_body_size 100k;")
    client = await at.get(through(nginx))
    refused(await at.error(client.call_tool("echo", {"pad": "x" * 1_000_000})), 413)
    await echoes(at, client)
    await at.get(client.close())


# ---- nginx under load


@pytest.mark.parametrize("version", [MODERN, LEGACY])
@pytest.mark.parametrize("what", ["reload", "restart"])
@across
async def test_nginx_is_changed_under_load(
    at, serve: Callable[..., HttpServer], before, what, version
):
    """Each call is answered, or told that its connection is lost; the client goes on."""
    server = serve(sessions=True)
    nginx = before(server.port)
    client = await at.get(through(nginx, protocol=version, pool_size=POOL))
    outcomes: list[Any] = []

    async def load() -> None:
        n = 0
        while not done:
            n += 1
            calls = [client.call_tool("echo", {"n": n, "of": of}) for of in range(POOL)]
            for of, outcome in enumerate(await at.all(*calls)):
                outcomes.append(outcome)
                if not isinstance(outcome, snodo.Error):
                    assert text_of(outcome) == said(n=n, of=of)

    async def change() -> None:
        for _ in range(CHANGES):
            before = len(outcomes)
            await at.until(lambda before=before: len(outcomes) > before + 50)
            await at.in_thread(getattr(nginx, what))
        before = len(outcomes)
        await at.until(lambda: len(outcomes) > before + 50)
        done.append(True)

    done: list[bool] = []
    await at.together(load, change)
    failed = [one for one in outcomes if isinstance(one, snodo.Error)]
    for error in failed:
        lost(error)
    # What was sent is lost with its connection, once for each place of the pool, and once more on
    # the next, which the system took and nginx did not; what comes while nobody is there was not
    # sent.
    lost_on_the_way = [error for error in failed if error.delivery == "unknown"]
    assert len(lost_on_the_way) <= CHANGES * 2 * POOL
    others = [error for error in failed if error.delivery != "unknown"]
    assert {error.cause[0] for error in others} <= {"failed_connect"}
    assert {error.delivery for error in others} <= {"never_sent"}
    assert what == "restart" or not others
    await echoes(at, client)
    await at.get(client.close())
