"""Links through transports of httpx."""

from __future__ import annotations

import json
import threading

import anyio
import httpx
import pytest
from byte_servers import PATIENCE, answer_all

from snodo_actors.ports.http import httpx_link
from snodo_actors.wire.http1 import End, Head, Malformed, TooLarge, Truncated
from snodo_actors.words.errors import TransportError

URL = "http://some.test:81/mcp?a=b"
WHOLE = End(reusable=True, framed=True)


class Transport(httpx.AsyncBaseTransport):
    """Answers with what a function says, and notes its end."""

    def __init__(self, handle, close=None):
        self._handle = handle
        self._close = close
        self.closed = anyio.Event()

    async def handle_async_request(self, request):
        return await self._handle(request)

    async def aclose(self):
        self.closed.set()
        if self._close is not None:
            await self._close()


class Pieces(httpx.AsyncByteStream):
    """A body that comes in pieces, of which an exception is one too."""

    def __init__(self, *pieces):
        self._pieces = pieces
        self.given = 0
        self.closed = False

    async def __aiter__(self):
        for piece in self._pieces:
            self.given += 1
            if isinstance(piece, Exception):
                raise piece
            if callable(piece):
                await piece()
                continue
            yield piece

    async def aclose(self):
        self.closed = True


def answers(*pieces, **options):
    stream = Pieces(*pieces)

    async def handle(request):
        return httpx.Response(200, stream=stream, **options)

    return Transport(handle), stream


async def test_a_mock(connect):
    seen = []

    def handle(request):
        seen.append((request.method, str(request.url), request.headers, request.content))
        return httpx.Response(202, json={"a": 1}, headers=[("X-A", "1"), ("x-a", "2")])

    opened = await connect(URL, transport=lambda: httpx.MockTransport(handle))
    for n in range(3):
        body = b"%d" % n
        head, *rest = await opened.exchange(body)
        assert (head.status, head.minor, head.all(b"x-a")) == (202, 1, [b"1", b"2"])
        assert rest == [b'{"a":1}', WHOLE]
        assert opened.link.is_usable()
        method, url, headers, content = seen.pop()
        assert (method, url, content) == ("POST", URL, body)
        assert headers["content-type"] == "application/json"
        assert headers["host"] == "some.test:81"
    assert (await opened.exchange(keep_alive=False))[-1] == End(reusable=False, framed=True)
    assert not opened.link.is_usable()


async def test_an_asgi_app(connect):
    async def app(scope, receive, send):
        got = b""
        while (message := await receive()).get("more_body"):
            got += message["body"]
        said = json.dumps([scope["path"], got.decode()]).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": said, "more_body": True})
        await send({"type": "http.response.body", "body": b"!"})

    opened = await connect(URL, transport=lambda: httpx.ASGITransport(app))
    head, body, end = await opened.exchange(b"hello")
    assert head == Head(200, 1, ((b"a", b"b"),))
    assert (body, end) == (b'["/mcp", "hello"]!', WHOLE)


async def test_an_asgi_app_that_fails(connect):
    async def app(scope, receive, send):
        raise ZeroDivisionError

    opened = await connect(URL, transport=lambda: httpx.ASGITransport(app))
    assert await opened.exchange() == [Truncated(began=False)]
    assert isinstance(opened.link.failure, ZeroDivisionError)
    assert not opened.link.is_usable()


async def test_real_connections(serve, connect):
    server = serve(answer_all)
    opened = await connect(server.url, transport=httpx.AsyncHTTPTransport)
    for n in range(20):
        await opened.exchange(b"%d" % n)
        assert (opened.told.body, opened.told.items[-1]) == (b"%d" % n, WHOLE)
    assert server.accepted == 1
    opened.link.close()
    assert not opened.link.is_usable()


async def test_nobody_there(connect):
    opened = await connect("http://127.0.0.1:1/", transport=httpx.AsyncHTTPTransport)
    assert await opened.exchange() == [Truncated(began=False)]
    assert opened.link.sent_bytes == 0
    assert isinstance(opened.link.failure, httpx.ConnectError)


@pytest.mark.parametrize(
    ("said", "items"),
    [
        (b"", [Truncated(began=False)]),
        (b"nonsense\r\n\r\n", [Malformed]),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}", [200, b"{}", Truncated(began=True)]),
    ],
)
async def test_a_server_that_fails(serve, connect, said, items):
    def talk(connection):
        connection.request()
        connection.send(said)

    opened = await connect(serve(talk).url, transport=httpx.AsyncHTTPTransport)
    got = await opened.exchange()
    shown = [
        item.status
        if isinstance(item, Head)
        else Malformed
        if isinstance(item, Malformed)
        else item
        for item in got
    ]
    assert shown == items
    assert opened.link.sent_bytes > 0


async def test_pieces_come_as_they_come(connect):
    go_on = anyio.Event()
    transport, stream = answers(
        b"a", b"", b"b", go_on.wait, b"c", extensions={"http_version": b"HTTP/1.0"}
    )
    opened = await connect(URL, transport=lambda: transport)
    opened.post(max_bytes=3)
    await opened.told.until(lambda: opened.told.body == b"ab")
    assert opened.told.items[0].minor == 0
    assert not opened.link.is_usable()
    go_on.set()
    await opened.told.until(lambda: opened.told.is_over)
    assert opened.told.items[1:] == [b"a", b"b", b"c", WHOLE]
    assert stream.closed


@pytest.mark.parametrize("announced", [True, False])
async def test_more_than_allowed(connect, announced):
    fields = {"content-length": "3"} if announced else {}
    transport, stream = answers(b"a", b"bc", headers=fields)
    opened = await connect(URL, transport=lambda: transport)
    items = await opened.exchange(max_bytes=2)
    assert items[-1] == TooLarge()
    assert opened.told.body == (b"" if announced else b"a")
    assert stream.closed
    with anyio.fail_after(PATIENCE):
        await transport.closed.wait()


async def test_a_stream_has_no_limit(connect):
    transport, _ = answers(*[b"x" * 10] * 10)
    opened = await connect(URL, transport=lambda: transport)
    opened.told.on_came = lambda items: isinstance(items[0], Head) and opened.link.unlimit()
    assert (await opened.exchange(max_bytes=5))[-1] == WHOLE
    assert opened.told.body == b"x" * 100


async def test_who_is_not_ready_holds_up_the_body(connect):
    transport, stream = answers(b"a", b"b", b"c")
    opened = await connect(URL, transport=lambda: transport)
    opened.told.on_came = lambda items: opened.link.pause()
    opened.post()
    await opened.told.until(lambda: opened.told.items)
    for _ in range(10):
        opened.link.pause()
        await anyio.lowlevel.checkpoint()
    assert (stream.given, opened.told.body) == (1, b"")
    opened.told.on_came = lambda items: None
    opened.link.resume()
    opened.link.resume()
    await opened.told.until(lambda: opened.told.is_over)
    assert opened.told.body == b"abc"


@pytest.mark.parametrize("moment", ["new", "idle", "asked", "begun"])
async def test_close_ends_all(connect, moment):
    begun = anyio.Event()
    ended = []

    async def wait():
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(moment)

    transport, stream = answers(b"a", wait) if moment == "begun" else answers(b"a")
    if moment == "asked":
        transport = Transport(lambda request: wait())
    opened = await connect(URL, transport=lambda: transport)
    if moment == "idle":
        await opened.exchange()
    if moment in ("asked", "begun"):
        opened.post()
        await begun.wait()
    told = list(opened.told.items)
    opened.link.close()
    opened.link.close()
    with anyio.fail_after(PATIENCE):
        await transport.closed.wait()
        while moment in ("asked", "begun") and not ended:
            await anyio.lowlevel.checkpoint()
    await anyio.sleep(0.01)
    assert (opened.told.items, opened.told.lost_for) == (told, [])
    assert stream.closed == (moment in ("idle", "begun"))
    assert not opened.link.is_usable()


async def test_a_task_that_is_cancelled_by_others(connect):
    begun = anyio.Event()

    async def wait(request):
        begun.set()
        await anyio.sleep_forever()

    opened = await connect(URL, transport=lambda: Transport(wait))
    opened.post()
    await begun.wait()
    opened.link._task.cancel()
    await opened.told.until(lambda: opened.told.is_over)
    assert opened.told.items == [Truncated(began=False)]
    assert not opened.link.is_usable()


async def test_a_request_closed_before_it_began(connect):
    transport, _ = answers(b"a")
    opened = await connect(URL, transport=lambda: transport)
    opened.post()
    opened.link.close()
    with anyio.fail_after(PATIENCE):
        await transport.closed.wait()
    await anyio.sleep(0.01)
    assert opened.told.items == []


async def fails():
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("close", "said"),
    [(fails, "could not be closed"), (anyio.sleep_forever, "was not closed within 0.05 seconds")],
)
async def test_a_transport_that_does_not_close(connect, monkeypatch, caplog, close, said):
    monkeypatch.setattr(httpx_link, "GRACE", 0.05)
    transport = Transport(answers()[0]._handle, close)
    (await connect(URL, transport=lambda: transport)).link.close()
    with anyio.fail_after(PATIENCE):
        while said not in caplog.text:
            await anyio.sleep(0.005)


async def test_a_function_that_makes_no_transport(connect):
    with pytest.raises(TransportError, match="the function transport failed: ZeroDiv") as caught:
        await connect(URL, transport=lambda: 1 / 0)
    assert caught.value.delivery == "never_sent"


@pytest.mark.parametrize("wrong", [object(), httpx.HTTPTransport(), None])
async def test_a_function_that_makes_something_else(connect, wrong):
    with pytest.raises(TransportError, match=r"made no httpx\.AsyncBaseTransport, but "):
        await connect(URL, transport=lambda: wrong)


async def test_a_body_that_only_blocking_code_can_read(connect):
    def handle(request):
        return httpx.Response(200, content=iter([b"a"]))

    opened = await connect(URL, transport=lambda: httpx.MockTransport(handle))
    assert (await opened.exchange())[-1] == Truncated(began=True)
    assert isinstance(opened.link.failure, TypeError)


def test_httpx_is_loaded_for_its_transports_only():
    import subprocess
    import sys

    code = "import sys, snodo_actors.ports.http.open; sys.exit('httpx' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_node_that_has_stopped(node):
    transport, _ = answers()
    done = threading.Event()
    links = []

    def make():
        from snodo_actors.ports.http.origin import Origin

        origin = Origin("http", "some.test", 80, "/", "some.test")
        links.append(httpx_link.HttpxLink(node, origin, transport, None))
        done.set()

    node.post(make)
    assert done.wait(PATIENCE)
    node.stop()
    links[0].close()
    assert not links[0].is_usable()
