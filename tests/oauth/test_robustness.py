"""What others do wrong: their functions, their stores, their servers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from scripted_authority import BACK, Authority, agree

from snodo_actors import oauth


@pytest.fixture
def authority() -> Iterator[Authority]:
    with Authority() as authority:
        yield authority


def fail(_url: str) -> str:
    raise KeyError("a secret")


async def fail_later(_url: str) -> str:
    raise TimeoutError("a secret")


class Broken:
    """A user agent that cannot even begin."""

    @asynccontextmanager
    async def open(self, preferred: str | None) -> AsyncGenerator[oauth.Visit]:
        raise LookupError(preferred)
        yield


async def no_text(_url: str) -> Any:
    return 5


@pytest.mark.parametrize(
    "agent",
    [
        oauth.FixedRedirect(BACK, fail),
        oauth.FixedRedirect(BACK, fail_later),
        oauth.FixedRedirect(BACK, no_text),
        oauth.Browser(open=lambda _: False, paste=fail_later),
        oauth.Browser(open=lambda _: False, paste=no_text),
        Broken(),
    ],
)
async def test_what_a_user_agent_does_wrong_is_of_the_step_user(
    authority: Authority, agent: oauth.UserAgent
) -> None:
    provider = oauth.AuthorizationCode(user_agent=agent)

    with pytest.raises(oauth.AuthorizationError) as raised:
        await provider.refresh(None, authority.request())

    assert raised.value.step == "user"
    assert "secret" not in f"{raised.value}"


class BrokenStore(oauth.MemoryStore):
    """A store one of whose methods fails, as its database is not there."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method

    def _fail(self, method: str) -> None:
        if method == self.method:
            raise KeyError("a secret")

    async def load(self, key: str) -> Any:
        self._fail("load")
        return [] if self.method == "list" else await super().load(key)

    async def save(self, key: str, value: dict[str, Any]) -> None:
        self._fail("save")
        await super().save(key, value)

    async def delete(self, key: str) -> None:
        self._fail("delete")
        await super().delete(key)

    @asynccontextmanager
    async def locked(self, key: str, timeout: float) -> AsyncGenerator[None]:
        self._fail("lock")
        async with super().locked(key, timeout):
            try:
                yield
            finally:
                self._fail("unlock")


@pytest.mark.parametrize("method", ["load", "list", "save", "delete", "lock", "unlock"])
async def test_what_a_store_does_wrong_is_of_the_step_store(
    authority: Authority, method: str
) -> None:
    provider = oauth.AuthorizationCode(
        user_agent=oauth.FixedRedirect(BACK, agree), store=BrokenStore(method)
    )

    with pytest.raises(oauth.AuthorizationError) as raised:
        await provider.refresh(None, authority.request())
        await provider.forget(authority.url)

    assert raised.value.step == "store"
    assert "secret" not in f"{raised.value}"


@pytest.mark.parametrize("wrong", ["user", "store"])
async def test_many_who_wait_are_asked_once_whatever_goes_wrong(
    authority: Authority, wrong: str
) -> None:
    visits: list[str] = []
    waiting = 0
    all_wait = anyio.Event()

    async def visit(url: str) -> str:
        visits.append(url)
        await all_wait.wait()
        return fail(url) if wrong == "user" else agree(url)

    provider = oauth.AuthorizationCode(
        user_agent=oauth.FixedRedirect(BACK, visit),
        store=BrokenStore("save" if wrong == "store" else ""),
        client=oauth.RegisteredClient("c", issuer=authority.origin),
    )

    async def call() -> None:
        nonlocal waiting
        waiting += 1
        if waiting == 8:
            all_wait.set()
        with pytest.raises(oauth.AuthorizationError) as raised:
            await provider.refresh(None, authority.request())
        assert raised.value.step == wrong

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(call)

    assert len(visits) == 1
