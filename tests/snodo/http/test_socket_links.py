"""One request at a time over a socket, whatever the other side does."""

from __future__ import annotations

import hashlib
import select
import threading

import anyio
import pytest
from byte_servers import PATIENCE, answer_all, reply

from snodo_actors.ports.http.link import Outgoing
from snodo_actors.wire.http1 import End, Head, Malformed, TooLarge, Truncated
from supervisors import GenServer

MIB = 1 << 20
CUT = [Truncated(began=True)]


def kinds(items):
    return [item if not isinstance(item, Head) else item.status for item in items]


async def until(condition):
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.sleep(0.002)


# ---- what is sent, what comes


async def test_a_request_goes_out_as_it_should(serve, connect):
    seen = []

    def talk(connection):
        seen.append(connection.request())
        connection.send(reply())
        seen.append(connection.request())
        connection.send(reply())

    server = serve(talk)
    opened = await connect(server.url + "?a=b#c")
    await opened.exchange(b"[1]")
    opened.told.items.clear()
    opened.link.send(Outgoing("DELETE", (), b"", keep_alive=False), max_bytes=100)
    await opened.told.until(lambda: opened.told.is_over)

    head, _, body = seen[0].partition(b"\r\n\r\n")
    first, *fields = head.split(b"\r\n")
    assert (first, body) == (b"POST /mcp?a=b HTTP/1.1", b"[1]")
    assert fields[0] == b"host: 127.0.0.1:%d" % server.port
    assert sorted(fields[1:]) == [
        b"connection: keep-alive",
        b"content-length: 3",
        b"content-type: application/json",
    ]
    assert seen[1].startswith(b"DELETE /mcp?a=b HTTP/1.1\r\n")
    assert b"\r\nconnection: close\r\n" in seen[1]


async def test_many_requests_use_one_connection(serve, connect):
    server = serve(answer_all)
    opened = await connect(server.url)
    for n in range(100):
        body = b"%d" % n
        assert kinds(await opened.exchange(body)) == [200, body, End(reusable=True, framed=True)]
        assert opened.link.is_usable()
    assert server.accepted == 1


async def test_a_response_may_come_byte_by_byte(serve, connect):
    def talk(connection):
        connection.request()
        for n in reply(b'{"a":1}'):
            connection.send(bytes([n]))
        connection.wait_for_end()

    opened = await connect(serve(talk).url)
    items = await opened.exchange()
    assert (items[0].status, opened.told.body) == (200, b'{"a":1}')
    assert items[-1] == End(reusable=True, framed=True)


async def test_much_comes_whole(serve, connect):
    body = bytes(range(256)) * (20 * MIB // 256)

    def talk(connection):
        connection.request()
        connection.send(reply(body))
        connection.wait_for_end()

    opened = await connect(serve(talk).url)
    await opened.exchange(max_bytes=20 * MIB)
    assert opened.told.body == body


async def test_much_goes_out_to_a_slow_reader(serve, connect):
    body = bytes(range(256)) * (10 * MIB // 256)
    go_on = threading.Event()
    digest = hashlib.sha256()

    def talk(connection):
        go_on.wait(PATIENCE)
        request = connection.request()
        digest.update(request.partition(b"\r\n\r\n")[2])
        connection.send(reply())
        connection.request()
        connection.send(reply(b"2"))
        connection.wait_for_end()

    opened = await connect(serve(talk).url)
    opened.post(body)
    assert 0 < opened.link.sent_bytes < len(body)
    go_on.set()
    await opened.told.until(lambda: opened.told.is_over)
    assert opened.link.sent_bytes > len(body)
    assert digest.digest() == hashlib.sha256(body).digest()
    # The link still reads now that it waits for no room any more.
    assert kinds(await opened.exchange()) == [200, b"2", End(reusable=True, framed=True)]


async def test_a_response_may_come_before_the_request_is_out(serve, connect):
    def talk(connection):
        connection.send(reply(b"no", status=b"413 Content Too Large"))
        connection.wait_for_end()

    opened = await connect(serve(talk).url)
    assert kinds(await opened.exchange(b"x" * 30 * MIB)) == [
        413,
        b"no",
        End(reusable=False, framed=True),
    ]
    assert not opened.link.is_usable()


async def test_what_a_server_says_before_it_closes_is_heard(serve, connect):
    said = threading.Event()

    def talk(connection):
        connection.send(reply(b"no", status=b"413 Content Too Large"))
        connection.sock.close()  # with the request unread: what is written now is refused
        said.set()

    opened = await connect(serve(talk).url)
    said.wait(PATIENCE)
    opened.link.pause()
    opened.post(b"x" * 30 * MIB)
    await opened.told.until(lambda: opened.told.is_over)
    assert kinds(opened.told.items) in (
        [413, b"no", End(reusable=False, framed=True)],
        [Truncated(began=False)],  # where a system drops what came before a reset
    )


async def test_a_link_told_to_close_closes(serve, connect):
    ended = threading.Event()

    def talk(connection):
        connection.request()
        connection.send(reply())
        connection.wait_for_end()
        ended.set()

    opened = await connect(serve(talk).url)
    items = await opened.exchange(keep_alive=False)
    assert items[-1] == End(reusable=False, framed=True)
    await until(ended.is_set)


async def test_more_than_allowed_is_refused(serve, connect):
    opened = await connect(serve(answer_all).url)
    assert kinds(await opened.exchange(b"123", max_bytes=10000)) == [
        200,
        b"123",
        End(reusable=True, framed=True),
    ]
    items = await opened.exchange(b"x" * 20000, max_bytes=10000)
    assert items[-1] == TooLarge()
    assert not opened.link.is_usable()


@pytest.mark.parametrize("max_bytes", [60, 1 << 20])
async def test_what_comes_beyond_a_response_ends_the_link(serve, connect, max_bytes):
    def talk(connection):
        connection.request()
        connection.send(reply() + b"x" * 100)
        connection.wait_for_end()

    opened = await connect(serve(talk).url)
    items = await opened.exchange(max_bytes=max_bytes)
    assert kinds(items) == [200, b"{}", End(reusable=False, framed=True)]
    assert (opened.told.lost_for, opened.link.is_usable()) == ([], False)


async def test_a_stream_has_no_limit(serve, connect):
    def talk(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(100):
            connection.send(b"x" * 1000)

    opened = await connect(serve(talk).url)
    opened.told.on_came = lambda items: isinstance(items[0], Head) and opened.link.unlimit()
    items = await opened.exchange(max_bytes=1000)
    assert len(opened.told.body) == 100_000
    assert items[-1] == End(reusable=False, framed=False)


class Unlimiting(GenServer):
    """Has a link unlimited once it is told of the head."""

    def init(self, link):
        self._link = link

    def handle_info(self, message):
        if isinstance(message[0], Head):
            self._link.unlimit()


async def test_an_actor_that_is_told_lifts_the_limit_in_time(serve, connect):
    def talk(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 50_000)

    opened = await connect(serve(talk).url)
    actor = Unlimiting.start(opened.link)
    opened.told.on_came = actor.send
    items = await opened.exchange(max_bytes=1000)
    assert len(opened.told.body) == 50_000
    assert items[-1] == End(reusable=False, framed=False)


async def test_what_is_no_http_is_malformed(serve, connect):
    def talk(connection):
        connection.request()
        connection.send(b"SSH-2.0-nobody\r\n")
        connection.wait_for_end()

    opened = await connect(serve(talk).url)
    assert isinstance((await opened.exchange())[-1], Malformed)
    assert not opened.link.is_usable()


# ---- the other side ends


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize(
    ("said", "closed", "reset"),
    [
        (b"", [Truncated(began=False)], [Truncated(began=False)]),
        (b"HTTP/1.1 20", CUT, CUT),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n", CUT, CUT),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n", [200, *CUT], [200, *CUT]),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n{}", [200, b"{}", *CUT], [200, b"{}", *CUT]),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
            [200, b"{}", *CUT],
            [200, b"{}", *CUT],
        ),
        (
            b"HTTP/1.1 200 OK\r\n\r\n{}",
            [200, b"{}", End(reusable=False, framed=False)],
            [200, b"{}", *CUT],
        ),
    ],
)
async def test_the_server_ends_in_the_middle(serve, connect, *, how, said, closed, reset):
    heard = threading.Event()

    def talk(connection):
        connection.request()
        connection.send(said)
        heard.wait(PATIENCE if b"\r\n\r\n" in said else 0.05)
        if how == "reset":
            connection.reset()

    opened = await connect(serve(talk).url)
    opened.told.on_came = lambda items: heard.set()
    items = await opened.exchange()
    assert kinds(items) == (closed if how == "close" else reset)
    assert not opened.link.is_usable()
    assert isinstance(opened.link.failure, ConnectionError if how == "reset" else type(None))
    assert opened.told.lost_for == []


@pytest.mark.parametrize("how", ["close", "reset", "stray"])
async def test_an_idle_link_is_lost(serve, connect, how):
    go_on = threading.Event()

    def talk(connection):
        connection.request()
        connection.send(reply())
        go_on.wait(PATIENCE)
        if how == "reset":
            connection.reset()
        if how == "stray":
            connection.send(reply(b"late"))
            connection.wait_for_end()

    opened = await connect(serve(talk).url)
    await opened.exchange()
    go_on.set()
    await opened.told.until(lambda: opened.told.lost_for)
    (reason,) = opened.told.lost_for
    match how:
        case "close":
            assert reason == "the server closed the connection"
        case "reset":
            assert isinstance(reason, ConnectionResetError)
        case _:
            assert reason == "the server sent what nobody had asked for"
    assert not opened.link.is_usable()
    # Whoever has not heard of it yet and sends is told that nothing went out.
    assert await opened.exchange() == [Truncated(began=False)]
    assert opened.link.sent_bytes == 0
    assert opened.told.lost_for == [reason]


@pytest.mark.parametrize("how", ["close", "reset", "stray"])
async def test_a_look_finds_what_the_loop_has_not_seen_yet(serve, connect, how):
    def talk(connection):
        connection.request()
        connection.send(reply())
        go_on.wait(PATIENCE)
        if how == "reset":
            connection.reset()
        if how == "stray":
            connection.send(b"x")
            connection.wait_for_end()

    go_on = threading.Event()
    opened = await connect(serve(talk).url)
    assert opened.link.is_usable()
    opened.post()
    assert not opened.link.is_usable()
    await opened.told.until(lambda: opened.told.is_over)
    assert opened.link.is_usable()
    go_on.set()
    select.select([opened.link._sock], [], [], PATIENCE)  # holds the loop
    assert not opened.link.is_usable()
    assert not opened.link.is_usable()
    assert opened.told.lost_for == []
    await opened.told.until(lambda: opened.told.lost_for)
    assert len(opened.told.lost_for) == 1


async def test_a_look_that_is_followed_by_closing_tells_nothing(serve, connect):
    opened = await connect(serve(lambda connection: None).url)
    select.select([opened.link._sock], [], [], PATIENCE)
    assert not opened.link.is_usable()
    opened.link.close()
    await anyio.sleep(0.01)
    assert opened.told.lost_for == []


# ---- we end, we wait


@pytest.mark.parametrize("moment", ["idle", "sending", "reading", "told"])
async def test_after_close_nothing_is_told(serve, connect, moment):
    ended = threading.Event()
    go_on = threading.Event()

    def talk(connection):
        if moment == "sending":
            go_on.wait(PATIENCE)
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n")
        connection.wait_for_end()
        ended.set()

    opened = await connect(serve(talk).url)
    if moment == "told":
        opened.told.on_came = lambda items: opened.link.close()
    if moment != "idle":
        opened.post(b"x" * (30 * MIB if moment == "sending" else 1))
    if moment in ("reading", "told"):
        await opened.told.until(lambda: opened.told.items)
    told = list(opened.told.items)
    opened.link.close()
    opened.link.close()
    opened.link.resume()
    go_on.set()
    if moment != "sending":
        await until(ended.is_set)
    await anyio.sleep(0.01)
    assert (opened.told.items, opened.told.lost_for) == (told, [])
    assert not opened.link.is_usable()


async def test_who_is_not_ready_holds_up_the_server(serve, connect):
    sent = 0

    def talk(connection):
        nonlocal sent
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (64 * MIB))
        for _ in range(1024):
            connection.send(b"x" * (64 * 1024))
            sent += 64 * 1024

    opened = await connect(serve(talk).url)
    opened.told.on_came = lambda items: opened.link.pause()
    opened.post(max_bytes=64 * MIB)
    await opened.told.until(lambda: opened.told.items)
    before = -1
    while before != sent:  # until it is stuck
        before = sent
        await anyio.sleep(0.1)
    assert sent < 64 * MIB
    assert len(opened.told.body) <= 1 << 18
    opened.told.on_came = lambda items: None
    opened.link.resume()
    opened.link.resume()
    await opened.told.until(lambda: opened.told.is_over)
    assert len(opened.told.body) == 64 * MIB


async def test_a_link_that_waits_can_go_on_at_any_time(serve, connect):
    opened = await connect(serve(answer_all).url)
    for n in range(50):
        opened.link.pause()
        opened.link.pause()
        opened.post(b"%d" % n)
        if n % 2:
            await anyio.sleep(0.001)
        opened.link.resume()
        await opened.told.until(lambda: opened.told.is_over)
        assert opened.told.body == b"%d" % n
