"""Redirects: of a GET, to the same origin, three of them."""

from __future__ import annotations

import pytest
from byte_servers import answer_all, reply

from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.oauth.words.errors import AuthorizationError

HERE = "http://127.0.0.1:1/mcp"


def redirecting(heard: list[bytes], *locations: str, status: int = 302):
    """Send each request to the next of *locations*, and answer the last."""
    left = list(locations)

    def talk(connection):
        while request := connection.request():
            heard.append(request.split(b" ")[1])
            where = left.pop(0).encode() if left else None
            connection.send(
                reply(b'{"found":1}')
                if where is None
                else reply(status=b"%d X" % status, fields=b"location: %b\r\n" % where)
            )

    return talk


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_three_are_followed(serve, status):
    heard: list[bytes] = []
    server = serve(answer_all)
    here = f"//127.0.0.1:{server.port}/d#e"
    server._talk = redirecting(heard, "/b?x", "c", here, status=status)

    answer = await Fetcher(HERE).fetch("GET", server.url)

    assert heard == [b"/mcp", b"/b?x", b"/c", b"/d"]
    assert (answer.url, answer.json()) == (f"http://127.0.0.1:{server.port}/d", {"found": 1})


async def test_a_fourth_is_not(serve):
    heard: list[bytes] = []
    server = serve(redirecting(heard, *"abcde"))

    with pytest.raises(AuthorizationError, match="behind more than 3 redirects"):
        await Fetcher(HERE).fetch("GET", server.url)

    assert heard == [b"/mcp", b"/a", b"/b", b"/c"]


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{}/x",
        "//127.0.0.1:{}/x",
        "https://127.0.0.1:{}/",
        "http://localhost:{}/",
        "http://me@127.0.0.1:{}/",
        "\\\\127.0.0.1:{}/",
        "file:///etc/passwd",
        "https://[x/{}",
    ],
)
async def test_another_server_is_not_asked(serve, location):
    other = serve(answer_all)
    server = serve(redirecting([], location.format(other.port)))

    with pytest.raises(AuthorizationError, match="redirects to another server, which") as caught:
        await Fetcher(HERE).fetch("GET", server.url)

    assert caught.value.cause == ("redirect", 302)
    assert other.accepted == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_post_is_not_redirected(serve, status):
    heard: list[bytes] = []
    server = serve(redirecting(heard, "/b", status=status))

    with pytest.raises(AuthorizationError, match="redirects a POST, which is not followed"):
        await Fetcher(HERE).fetch("POST", server.url, form={"code": "secret"})

    assert heard == [b"/mcp"]


@pytest.mark.parametrize(
    "answer",
    [
        reply(status=b"302 Found"),
        reply(status=b"300 Multiple Choices", fields=b"location: /b\r\n"),
        b"HTTP/1.1 304 Not Modified\r\nlocation: /b\r\n\r\n",
        reply(status=b"201 Created", fields=b"location: /b\r\n"),
    ],
)
async def test_what_only_looks_like_one_is_an_answer(serve, answer):
    def talk(connection):
        connection.request()
        connection.send(answer)

    server = serve(talk)

    assert (await Fetcher(HERE).fetch("GET", server.url)).status == int(answer[9:12])


async def test_the_address_is_judged_at_each_hop(serve, fetcher, names, authority):
    heard: list[bytes] = []
    server = serve(redirecting(heard, "/b"), tls=authority.server("as.test"))
    names.answer("as.test", ("127.0.0.1",), ("169.254.169.254",))

    with pytest.raises(AuthorizationError, match="no address that others may use"):
        await fetcher(HERE).fetch("GET", f"https://as.test:{server.port}/a")

    assert heard == [b"/a"]
