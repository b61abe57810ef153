from __future__ import annotations

import threading
import webbrowser
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from browser_client import STATE, answer, authorize_url, exchange, head, status, target, visit_with

from snodo_actors.oauth.browser import Browser, Open
from snodo_actors.oauth.user_agent import Visit
from snodo_actors.oauth.words.errors import AuthorizationError


async def redirect(visit: Visit) -> None:
    request = head(target(answer(visit.redirect_uri)))
    assert status(await exchange(visit.redirect_uri, request)) == 200


async def wait(_visit: Visit) -> None:
    """Let the visit end by itself."""


def fail(error: Exception) -> Open:
    def open_(_url: str) -> bool:
        raise error

    return open_


async def opens_later(_url: str) -> bool:
    await anyio.lowlevel.checkpoint()
    return False


async def test_the_function_is_given_the_url_in_a_thread() -> None:
    seen: list[tuple[str, threading.Thread]] = []
    shown = threading.Event()

    def open_(url: str) -> None:
        seen.append((url, threading.current_thread()))
        shown.set()

    async def play(visit: Visit) -> None:
        assert await anyio.to_thread.run_sync(shown.wait, 10.0)
        ((url, thread),) = seen
        assert url == authorize_url(visit.redirect_uri)
        assert thread is not threading.current_thread()
        assert thread.daemon
        await redirect(visit)

    assert "code=c" in await visit_with(Browser(open=open_), play)


async def test_the_visit_does_not_wait_for_the_browser_to_end() -> None:
    ends = threading.Event()
    try:
        back = await visit_with(Browser(open=lambda _url: ends.wait(20.0)), redirect)
    finally:
        ends.set()

    assert "code=c" in back


NO_BROWSER: list[Any] = [
    pytest.param(lambda _url: False, id="it says so"),
    pytest.param(opens_later, id="it says so later"),
    pytest.param(fail(webbrowser.Error("could not locate runnable browser")), id="none is found"),
    pytest.param(fail(FileNotFoundError("xdg-open")), id="it cannot be started"),
]


@pytest.mark.parametrize("open_", NO_BROWSER)
async def test_without_a_browser_the_user_may_paste(open_: Open) -> None:
    async def paste(url: str) -> str:
        uri = url.rpartition("redirect_uri=")[2]
        assert uri.startswith("http%3A%2F%2F127.0.0.1%3A")
        return f"  /callback?code=pasted&state={STATE}\n"

    back = await visit_with(Browser(open=open_, paste=paste), wait)

    assert back.startswith("http://127.0.0.1:")
    assert back.endswith(f"/callback?code=pasted&state={STATE}")


async def test_who_has_nothing_to_paste_may_still_come_back() -> None:
    async def paste(_url: str) -> None:
        return None

    browser = Browser(open=lambda _url: False, paste=paste)

    assert "code=c" in await visit_with(browser, redirect)


async def test_who_comes_back_need_not_paste() -> None:
    asked, given_up = anyio.Event(), anyio.Event()

    async def paste(_url: str) -> str:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            given_up.set()
        return ""

    async def play(visit: Visit) -> None:
        await asked.wait()
        await redirect(visit)

    browser = Browser(open=lambda _url: False, paste=paste)

    assert "code=c" in await visit_with(browser, play)
    assert given_up.is_set()


async def test_something_else_is_pasted() -> None:
    async def paste(_url: str) -> str:
        return "http://127.0.0.1:1/callback?code=evil&state=other"

    with pytest.raises(AuthorizationError, match="its state is not the one") as raised:
        async with Browser(open=lambda _url: False, paste=paste).open(None) as visit:
            await visit.visit(authorize_url(visit.redirect_uri), 20.0)

    assert raised.value.step == "user"
    assert "evil" not in raised.value.message


async def test_a_function_that_is_wrong_is_named() -> None:
    error = ZeroDivisionError("state=secret")

    with pytest.raises(AuthorizationError, match="open= raised ZeroDivisionError") as raised:
        async with Browser(open=fail(error)).open(None) as visit:
            await visit.visit(authorize_url(visit.redirect_uri), 20.0)

    assert error is raised.value.__cause__
    assert "secret" not in raised.value.message


async def test_what_pasting_raises_reaches_the_caller_as_it_is() -> None:
    async def paste(_url: str) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with Browser(open=lambda _url: False, paste=paste).open(None) as visit:
            await visit.visit(authorize_url(visit.redirect_uri), 20.0)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd?state=s",
        "javascript:alert(1)//?state=s",
        "http://as.test/authorize?state=s",
        "-https://as.test/?state=s",
        "https://as.test/?state=s\x1b[2J",
        "https://as.test/?state=s --new",
        "https://as.test/authorize",
    ],
)
async def test_not_every_url_is_shown(url: str) -> None:
    shown: list[str] = []

    async with Browser(open=shown.append).open(None) as visit:
        with pytest.raises(AuthorizationError) as raised:
            await visit.visit(url, 20.0)

    assert raised.value.step == "user"
    assert "state=s" not in raised.value.message
    assert shown == []
