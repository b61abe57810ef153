from __future__ import annotations

import functools
import threading

import anyio
import anyio.lowlevel
import pytest
from browser_client import authorize_url

from snodo_actors.oauth.user_agent import FixedRedirect, UserAgent
from snodo_actors.oauth.words.errors import AuthorizationError

HERE = "https://app.test/callback"


def plain(url: str) -> str:
    return f"{HERE}?code={len(url)}"


async def later(url: str) -> str:
    await anyio.lowlevel.checkpoint()
    return plain(url)


class Callable:
    async def __call__(self, url: str) -> str:
        return await later(url)


@pytest.mark.parametrize("visit", [plain, later, functools.partial(later), Callable()])
async def test_a_redirect_may_be_had_in_another_way(visit) -> None:
    agent: UserAgent = FixedRedirect(HERE, visit)
    url = authorize_url(HERE)

    async with agent.open("https://elsewhere.test/") as one:
        assert one.redirect_uri == HERE
        assert f"{HERE}?code={len(url)}" == await one.visit(url, 20.0)


async def test_it_is_waited_for_only_so_long() -> None:
    ends = threading.Event()

    def block(_url: str) -> str:
        ends.wait(20.0)
        return ""

    async def sleep(_url: str) -> str:
        await anyio.sleep_forever()
        return ""

    try:
        for visit in (block, sleep):
            async with FixedRedirect(HERE, visit).open(None) as one:
                with pytest.raises(AuthorizationError, match=r"within 0\.05 s") as raised:
                    await one.visit("https://as.test/authorize?state=secret", 0.05)
            assert raised.value.step == "user"
            assert "secret" not in f"{raised.value}"
    finally:
        ends.set()


async def test_what_it_raises_is_raised() -> None:
    def fail(_url: str) -> str:
        raise ZeroDivisionError

    async with FixedRedirect(HERE, fail).open(None) as one:
        with pytest.raises(ZeroDivisionError):
            await one.visit("https://as.test/", 20.0)
