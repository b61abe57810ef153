"""Answers that are too long, too slow, or none."""

from __future__ import annotations

import errno
import socket
import threading
import time

import anyio
import httpx
import pytest
from byte_servers import reply

from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.oauth.words.errors import AuthorizationError

HERE = "http://127.0.0.1:1/mcp"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def answering(data: bytes, *, close: bool = False):
    def talk(connection):
        connection.request()
        connection.send(data)
        if not close:
            connection.wait_for_end()

    return talk


async def test_a_body_may_have_as_many_bytes_and_no_more(serve):
    fetcher = Fetcher(HERE, max_bytes=1000)
    server = serve(answering(reply(b"x" * 1000)))
    assert len((await fetcher.fetch("GET", server.url)).body) == 1000
    server = serve(answering(reply(b"x" * 1001)))

    with pytest.raises(AuthorizationError, match="more than 1000 bytes"):
        await fetcher.fetch("GET", server.url)


async def test_a_body_without_end_ends(serve):
    ended = threading.Event()

    def talk(connection):
        connection.request()
        try:
            connection.send(CHUNKED)
            while True:
                connection.send(b"1000\r\n%b\r\n" % (b"x" * 4096))
        except OSError:
            ended.set()

    server = serve(talk)

    with pytest.raises(AuthorizationError, match="more than 1048576 bytes"):
        await Fetcher(HERE).fetch("GET", server.url)

    assert ended.wait(5)


@pytest.mark.parametrize(
    "coding", [b"gzip", b"BR", b"identity, gzip", b"gzip\r\ncontent-encoding: x"]
)
async def test_a_coding_that_was_not_asked_for_is_refused(serve, coding):
    server = serve(answering(reply(b"\x1f\x8b", fields=b"content-encoding: %b\r\n" % coding)))

    with pytest.raises(AuthorizationError, match="in the coding"):
        await Fetcher(HERE).fetch("GET", server.url)


async def test_identity_is_no_coding(serve):
    server = serve(answering(reply(b"[1]", fields=b"content-encoding: Identity\r\n")))

    assert (await Fetcher(HERE).fetch("GET", server.url)).json() == [1]


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\n", CHUNKED + b"1\r\nx\r\n"])
async def test_a_server_that_falls_silent_is_left(serve, said):
    server = serve(answering(said))
    began = time.monotonic()

    with pytest.raises(AuthorizationError, match=r"did not answer within 0\.3 seconds") as caught:
        await Fetcher(HERE, timeout=0.3).fetch("GET", f"{server.url}?secret")

    assert isinstance(caught.value.cause, TimeoutError)
    assert "secret" not in str(caught.value)
    assert time.monotonic() - began < 3.0


async def test_a_server_that_drips_gets_no_more_time(serve):
    stop = threading.Event()

    def talk(connection):
        connection.request()
        connection.send(CHUNKED)
        while not stop.wait(0.05):
            connection.send(b"1\r\nx\r\n")

    server = serve(talk)
    try:
        with pytest.raises(AuthorizationError, match=r"within 0\.3 seconds"):
            await Fetcher(HERE, timeout=0.3).fetch("GET", server.url)
    finally:
        stop.set()


async def test_redirects_share_the_time(serve):
    def talk(connection):
        while connection.request():
            time.sleep(0.2)
            connection.send(reply(status=b"302 Found", fields=b"location: /again\r\n"))

    server = serve(talk)

    with pytest.raises(AuthorizationError, match=r"/again did not answer within 0\.3 seconds"):
        await Fetcher(HERE, timeout=0.3).fetch("GET", server.url)


async def test_a_name_that_nobody_answers_for_is_left(fetcher):
    async def resolve(host, port):
        await anyio.sleep_forever()

    with pytest.raises(AuthorizationError, match=r"within 0\.1 seconds"):
        await fetcher(timeout=0.1, resolve=resolve).fetch("GET", "https://as.test/")


async def test_cancelled_it_lets_go_of_its_connection(serve):
    asked, ended = threading.Event(), threading.Event()

    def talk(connection):
        connection.request()
        asked.set()
        connection.wait_for_end()
        ended.set()

    server = serve(talk)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Fetcher(HERE).fetch, "GET", server.url)
        while not asked.is_set():
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()

    assert ended.wait(5)


async def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(AuthorizationError, match="no connection to http://127") as caught:
        await Fetcher(HERE).fetch("GET", f"http://127.0.0.1:{port}/token?secret")

    assert isinstance(caught.value.cause, httpx.ConnectError)
    assert (caught.value.delivery, caught.value.kind) == ("never_sent", "authorization")


async def test_a_name_without_address(fetcher):
    with pytest.raises(AuthorizationError, match="connection to https://nobody") as caught:
        await fetcher().fetch("GET", "https://nobody.test/")

    assert isinstance(caught.value.cause, OSError)


async def test_names_are_really_looked_up():
    with pytest.raises(AuthorizationError, match="connection to https://nobody") as caught:
        await Fetcher(HERE, proxy=None).fetch("GET", "https://nobody.invalid/")

    assert caught.value.cause.errno != errno.ECONNREFUSED


@pytest.mark.parametrize(
    "said", [b"SSH-2.0-x\r\n", b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"]
)
async def test_what_is_no_answer_is_an_error(serve, said):
    server = serve(answering(said, close=True))

    with pytest.raises(AuthorizationError, match="the request to http://127") as caught:
        await Fetcher(HERE).fetch("GET", server.url)

    assert isinstance(caught.value.cause, httpx.RemoteProtocolError)
