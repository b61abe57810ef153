"""What others do wrong: their functions, their stores, their servers."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from scripted_authority import ASM, BACK, PRM, Answer, Authority, Form, agree

from snodo_actors import oauth
from snodo_actors.oauth.words.tokens import Tokens


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


LONG = ["\x1b[2J" * 100_000, *["x"] * 1000]


@pytest.mark.parametrize(
    "bend",
    [
        lambda authority: authority.metadata.update(code_challenge_methods_supported=LONG),
        lambda authority: authority.metadata.update(issuer=LONG[0]),
        lambda authority: authority.metadata.update(token_endpoint=LONG[0]),
        lambda authority: authority.metadata.update(token_endpoint_auth_methods_supported=LONG),
        lambda authority: authority.resource.update(authorization_servers=LONG),
        lambda authority: authority.resource.update(authorization_servers=LONG[:1]),
        lambda authority: authority.resource.update(resource=LONG[0]),
        lambda authority: authority.answers.update(
            {"/register": (201, {"client_id": "c", "token_endpoint_auth_method": LONG})}
        ),
    ],
)
@pytest.mark.parametrize("kind", ["user", "program"])
async def test_the_words_of_others_are_short_and_command_no_terminal(
    authority: Authority, bend: Callable[[Authority], None], kind: str
) -> None:
    bend(authority)
    agent = oauth.FixedRedirect(BACK, agree)
    client = oauth.RegisteredClient("c", "secret", issuer=authority.origin)
    provider = (
        oauth.AuthorizationCode(user_agent=agent)
        if kind == "user"
        else oauth.ClientCredentials(client)
    )

    said = ""
    try:
        await provider.refresh(None, authority.request())
    except oauth.AuthorizationError as error:
        said = f"{error}"

    assert said.isprintable()
    assert len(said) < 2000


@pytest.mark.parametrize(
    "bend",
    [
        lambda _: None,
        lambda authority: authority.resource.update(resource="https://elsewhere.test"),
        lambda authority: authority.resource.update(authorization_servers=[]),
        lambda authority: authority.metadata.update(issuer="https://elsewhere.test"),
        lambda authority: authority.answers.update({PRM: (200, [])}),
        lambda authority: authority.answers.update({PRM: (500, [])}),
    ],
)
async def test_the_query_of_a_server_is_not_shown(
    authority: Authority, bend: Callable[[Authority], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "snodo_actors")
    authority.url += "?key=secret"
    bend(authority)
    provider = oauth.ClientCredentials(
        oauth.RegisteredClient("c", "s", issuer=authority.origin), max_step_ups=1
    )

    with pytest.raises(oauth.AuthorizationError) as raised:
        token = await provider.refresh(None, authority.request(status=403))
        await provider.refresh(None, authority.request(token, status=403))  # one too many

    assert "secret" not in f"{raised.value}"
    assert "secret" not in caplog.text


async def test_renewing_does_not_hide_that_consents_are_in_vain(authority: Authority) -> None:
    consents: list[str] = []

    def visit(url: str) -> str:
        consents.append(url)
        return agree(url)

    def once(form: Form) -> Answer:
        """Renew each consent's token once, and no more."""
        spent = form.get("refresh_token") == "none"
        status, body = authority.token(form)
        if form["grant_type"] == "refresh_token":
            body["refresh_token"] = "none"
        return (400, {"error": "invalid_grant"}) if spent else (status, body)

    authority.answers["/token"] = once
    provider = oauth.AuthorizationCode(user_agent=oauth.FixedRedirect(BACK, visit))
    token = None

    with pytest.raises(oauth.AuthorizationError, match="no browser is opened"):
        for _ in range(20):
            token = await provider.refresh(None, authority.request(token))

    assert len(consents) == 3


async def test_a_secret_goes_to_one_issuer_though_two_are_named_at_once() -> None:
    barrier = threading.Barrier(2)
    refused: list[oauth.AuthorizationError] = []
    provider = oauth.ClientCredentials(oauth.RegisteredClient("c", "secret"))

    with Authority() as one, Authority() as other:

        def bend(authority: Authority) -> None:
            def both(_: Form) -> Answer:
                barrier.wait(10.0)
                return 200, authority.metadata

            authority.answers[ASM] = both

        async def ask(authority: Authority) -> None:
            try:
                await provider.refresh(None, authority.request())
            except oauth.AuthorizationError as error:
                refused.append(error)

        async with anyio.create_task_group() as tasks:
            for authority in (one, other):
                bend(authority)
                tasks.start_soon(ask, authority)
        forms = [*one.forms, *other.forms]

    assert [error.step for error in refused] == ["registration"]
    assert len(forms) == 1


class SlowStore(oauth.MemoryStore):
    """A store whose answer to the first look is long on its way."""

    def __init__(self) -> None:
        super().__init__()
        self.looked, self.go = anyio.Event(), anyio.Event()

    async def load(self, key: str) -> Any:
        value = await super().load(key)
        if not self.looked.is_set():
            self.looked.set()
            await self.go.wait()
        return value


async def test_what_is_forgotten_while_it_is_looked_up_is_forgotten(authority: Authority) -> None:
    store = SlowStore()
    before = Tokens(access_token="a", issuer=authority.origin, resource=authority.url)
    await store.save(f"tokens code  {authority.url}", before.to_json())
    provider = oauth.AuthorizationCode(store=store)

    async def forget() -> None:
        await store.looked.wait()
        await provider.forget(authority.url)
        store.go.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(forget)
        first = await provider.token(authority.request())

    assert first is None
    assert await provider.token(authority.request()) is None


@pytest.mark.parametrize(("left", "is_good"), [(20.0, True), (0.0, False)])
async def test_a_token_is_used_to_its_end_where_it_cannot_be_renewed_before(
    authority: Authority, left: float, is_good: bool
) -> None:
    authority.answers["/token"] = (503, b"")
    store = oauth.MemoryStore()
    kept = Tokens(
        access_token="a",
        refresh_token="r",
        issuer=authority.origin,
        resource=authority.url,
        expires_at=time.time() + left,
        lifetime=3600.0,
    )
    await store.save(f"tokens code c {authority.url}", kept.to_json())
    client = oauth.RegisteredClient("c", issuer=authority.origin)
    provider = oauth.AuthorizationCode(client=client, store=store)

    if is_good:
        assert await provider.token(authority.request()) == "a"
    else:
        with pytest.raises(oauth.AuthorizationError, match="503"):
            await provider.token(authority.request())


@pytest.mark.parametrize(
    ("status", "body", "consents"),
    [
        (400, b"<html>", 2),
        (401, {"message": "no such token"}, 2),
        (200, {"error": "bad_refresh_token"}, 2),
        (403, b"<html>", 1),
        (404, b"", 1),
        (503, {"error": "invalid_grant"}, 1),
    ],
)
async def test_a_refresh_token_that_is_refused_is_not_tried_for_ever(
    authority: Authority, status: int, body: Any, consents: int
) -> None:
    visits: list[str] = []

    def visit(url: str) -> str:
        visits.append(url)
        return agree(url)

    def token(form: Form) -> Answer:
        tokens = authority.token(form)
        return (status, body) if form["grant_type"] == "refresh_token" else tokens

    authority.answers["/token"] = token
    provider = oauth.AuthorizationCode(user_agent=oauth.FixedRedirect(BACK, visit))
    first = await provider.refresh(None, authority.request())

    if consents == 1:
        with pytest.raises(oauth.AuthorizationError) as raised:
            await provider.refresh(None, authority.request(first))
        assert raised.value.step == "refresh"
    else:
        assert await provider.refresh(None, authority.request(first)) == "a3"
    assert len(visits) == consents


async def test_tokens_that_cannot_be_kept_are_at_hand(authority: Authority) -> None:
    provider = oauth.AuthorizationCode(
        user_agent=oauth.FixedRedirect(BACK, agree),
        store=BrokenStore("save"),
        client=oauth.RegisteredClient("c", issuer=authority.origin),
    )

    with pytest.raises(oauth.AuthorizationError):
        await provider.refresh(None, authority.request())

    assert await provider.token(authority.request()) == "a1"


async def test_a_damaged_key_is_replaced(authority: Authority) -> None:
    store = oauth.MemoryStore()
    await store.save(f"dpop {authority.url}", {"kty": "oct", "k": "x"})
    provider = oauth.AuthorizationCode(store=store, dpop=True)

    assert await provider.token(authority.request()) is None
    kept = await store.load(f"dpop {authority.url}")
    assert kept is not None
    assert kept["kty"] == "EC"


def test_what_is_not_installed_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)

    with pytest.raises(ImportError, match="snodo-actors"):
        oauth.AuthorizationCode(dpop=True)


async def test_what_cannot_be_sent_is_not_shown(authority: Authority) -> None:
    provider = oauth.WorkloadIdentity("secret\ud800")

    with pytest.raises(oauth.AuthorizationError) as raised:
        await provider.refresh(None, authority.request())

    assert raised.value.step == "fetch"
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("seconds", [None, 541, float("inf")])
def test_a_user_is_not_waited_for_longer_than_the_connection_waits(seconds: float | None) -> None:
    with pytest.raises(ValueError, match="540 seconds at most"):
        oauth.AuthorizationCode(user_timeout=seconds)  # type: ignore[arg-type]  # that is the test
