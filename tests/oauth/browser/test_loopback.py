from __future__ import annotations

import socket
import struct
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx
import pytest
from browser_client import (
    STATE,
    answer,
    authorize_url,
    connect,
    exchange,
    head,
    read_all,
    status,
    target,
    visit_with,
)

from snodo_actors.oauth import loopback
from snodo_actors.oauth.browser import Browser
from snodo_actors.oauth.user_agent import Visit
from snodo_actors.oauth.words.errors import AuthorizationError


def opened(url: str) -> None:
    """The browser that the test itself is."""


async def redirect(visit: Visit) -> None:
    """Come back as it is wanted."""
    request = head(target(answer(visit.redirect_uri)))
    assert status(await exchange(visit.redirect_uri, request)) == 200


async def test_the_redirect_is_caught_and_gets_a_page() -> None:
    pages: list[httpx.Response] = []

    async def play(visit: Visit) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            pages.append(await client.get(answer(visit.redirect_uri, code="a b&c")))

    back = await visit_with(Browser(open=opened), play)

    assert httpx.URL(back).path == "/callback"
    assert dict(httpx.URL(back).params) == {"code": "a b&c", "state": STATE}
    (page,) = pages
    assert page.status_code == 200
    assert "You may close this window" in page.text
    assert STATE not in page.text
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["connection"] == "close"


async def test_a_refusal_of_the_user_is_an_answer_too() -> None:
    async def play(visit: Visit) -> None:
        url = answer(visit.redirect_uri, code="", error="access_denied")
        assert status(await exchange(visit.redirect_uri, head(target(url)))) == 200

    assert "error=access_denied" in await visit_with(Browser(open=opened), play)


OTHERS = [
    pytest.param(404, head("/favicon.ico"), id="the icon"),
    pytest.param(404, head("/"), id="another path"),
    pytest.param(400, head("/callback?code=evil&state=other"), id="a wrong state"),
    pytest.param(400, head("/callback?code=evil"), id="no state"),
    pytest.param(405, head(f"/callback?code=c&state={STATE}", "HEAD"), id="HEAD"),
    pytest.param(
        405,
        head("/callback", "POST", "content-length: 1000000\r\n") + b"x" * 100_000,
        id="a body that is not read",
    ),
    pytest.param(431, head("/callback", fields=f"cookie: {'x' * 40_000}\r\n"), id="a long head"),
    pytest.param(431, b"GET /" + b"x" * 60_000, id="an endless target"),
    pytest.param(400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", id="TLS"),
    pytest.param(400, b"GET /callback HTTP/1.1\r\n\r\n", id="no host"),
]


@pytest.mark.parametrize(("said", "request_"), OTHERS)
async def test_another_request_is_answered_and_the_wait_goes_on(said: int, request_: bytes) -> None:
    async def play(visit: Visit) -> None:
        assert said == status(await exchange(visit.redirect_uri, request_))
        await redirect(visit)

    assert "code=c" in await visit_with(Browser(open=opened), play)


async def test_who_only_looks_in_is_passed_over() -> None:
    async def play(visit: Visit) -> None:
        await (await connect(visit.redirect_uri)).aclose()
        async with await connect(visit.redirect_uri) as stream:
            await stream.send(b"GET /call")
            await stream.send_eof()
            assert status(await read_all(stream)) == 400
        await redirect(visit)

    assert "code=c" in await visit_with(Browser(open=opened), play)


async def test_who_resets_the_connection_ends_nothing() -> None:
    def reset(uri: str) -> None:
        """Send what is refused, and be gone at some moment of the answer."""
        parts = urlsplit(uri)
        for _ in range(800):
            with socket.create_connection((parts.hostname or "", parts.port or 0)) as sock:
                sock.sendall(head("/other"))
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def play(visit: Visit) -> None:
        await anyio.to_thread.run_sync(reset, visit.redirect_uri)
        await redirect(visit)

    assert "code=c" in await visit_with(Browser(open=opened), play)


async def test_a_hundred_silent_connections_keep_out_nobody() -> None:
    ended = 0

    async def play(visit: Visit) -> None:
        nonlocal ended
        silent = [await connect(visit.redirect_uri) for _ in range(100)]
        # The first ones had to go before the last ones could sit down.
        for stream in silent[: 100 - loopback.MAX_CONNECTIONS]:
            assert await read_all(stream) == b""
            ended += 1
        await redirect(visit)
        for stream in silent:
            await stream.aclose()

    with anyio.fail_after(loopback.PATIENCE / 2):
        assert "code=c" in await visit_with(Browser(open=opened), play)
    assert ended == 100 - loopback.MAX_CONNECTIONS


async def test_who_is_too_slow_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "PATIENCE", 0.1)

    async def play(visit: Visit) -> None:
        async with await connect(visit.redirect_uri) as stream:
            await stream.send(b"GET /callb")
            assert await read_all(stream) == b""
        monkeypatch.undo()
        await redirect(visit)

    assert "code=c" in await visit_with(Browser(open=opened), play)


async def test_a_request_may_come_byte_by_byte() -> None:
    async def play(visit: Visit) -> None:
        async with await connect(visit.redirect_uri) as stream:
            for number in head(target(answer(visit.redirect_uri))):
                await stream.send(bytes([number]))
            assert status(await read_all(stream)) == 200

    assert "code=c" in await visit_with(Browser(open=opened), play)


async def test_of_two_redirects_at_once_one_counts() -> None:
    async with Browser(open=opened).open(None) as visit:
        uri = visit.redirect_uri
        async with await connect(uri) as one, await connect(uri) as two:
            await one.send(head(target(answer(uri, code="one"))))
            await two.send(head(target(answer(uri, code="two"))))
            back = await visit.visit(authorize_url(uri), 20.0)
            # Whether the other one is still answered is a matter of moments.
            assert status(await read_all(one if "code=one" in back else two)) == 200

    assert ("code=one" in back) != ("code=two" in back)


async def test_who_does_not_wait_for_the_page_has_come_all_the_same() -> None:
    async def play(visit: Visit) -> None:
        stream = await connect(visit.redirect_uri)
        await stream.send(head(target(answer(visit.redirect_uri))))
        await stream.aclose()

    assert "code=c" in await visit_with(Browser(open=opened), play)


async def test_who_comes_before_the_visit_is_served_by_it() -> None:
    async with (
        Browser(open=opened).open(None) as visit,
        await connect(visit.redirect_uri) as stream,
    ):
        await stream.send(head(target(answer(visit.redirect_uri))))
        back = await visit.visit(authorize_url(visit.redirect_uri), 20.0)
        assert status(await read_all(stream)) == 200

    assert "code=c" in back


async def test_two_visits_may_follow_each_other() -> None:
    async with Browser(open=opened).open(None) as visit:
        for code in ("one", "two"):
            async with anyio.create_task_group() as tasks:
                request = head(target(answer(visit.redirect_uri, code=code)))
                tasks.start_soon(exchange, visit.redirect_uri, request)
                back = await visit.visit(authorize_url(visit.redirect_uri), 20.0)
            assert f"code={code}" in back


async def test_nobody_comes() -> None:
    with pytest.raises(AuthorizationError) as raised, anyio.fail_after(5.0):
        async with Browser(open=opened).open(None) as visit:
            await visit.visit(authorize_url(visit.redirect_uri), 0.05)

    assert raised.value.step == "user"
    assert raised.value.message.startswith(
        "nobody came back from https://as.test/authorize within 0.05 s: try again"
    )
    assert STATE not in f"{raised.value!r}{raised.value}"


async def test_the_error_tells_of_those_who_came_in_vain() -> None:
    async def play(visit: Visit) -> None:
        reply = await exchange(visit.redirect_uri, head("/callback?code=evil&state=other"))
        assert status(reply) == 400

    with pytest.raises(ExceptionGroup) as raised:
        await visit_with(Browser(open=opened), play, timeout=1.0)

    (error,) = raised.value.exceptions
    assert isinstance(error, AuthorizationError)
    assert "its state is not the one that was sent" in error.message
    assert "evil" not in error.message


async def test_cancellation_leaves_nothing() -> None:
    uri = ""
    with anyio.move_on_after(5.0) as scope:
        async with Browser(open=opened).open(None) as visit, anyio.create_task_group() as tasks:
            uri = visit.redirect_uri
            tasks.start_soon(visit.visit, authorize_url(uri), 20.0)
            async with await connect(uri) as silent, await connect(uri) as other:
                await other.send(head("/"))
                assert status(await read_all(other)) == 404  # so both are being served
                scope.cancel()
                await read_all(silent)

    assert scope.cancelled_caught
    with pytest.raises(OSError):
        await connect(uri)
