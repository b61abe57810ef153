"""Refused tokens are refreshed once for all, and no provider is waited for without an end."""

from __future__ import annotations

import threading

import anyio
import pytest
from case_servers import MODERN, across, echoes, everywhere, lost, text_of, took
from http_server import result, text

from snodo_actors.actors import http_tokens

INVALID = [("WWW-Authenticate", 'Bearer error="invalid_token"')]
SCOPE = 'Bearer error="insufficient_scope", scope="{}"'


class Tokens:
    """Gives t0, and after each refresh the next."""

    def __init__(self):
        self.number = 0
        self.refreshed = []
        self._lock = threading.Lock()

    def token(self, request):
        return f"t{self.number}"

    def refresh(self, challenge, request):
        with self._lock:
            self.number += 1
            self.refreshed.append(request["token"])
            return f"t{self.number}"


def knows(*tokens):
    """Answer those who have one of the *tokens*."""

    def script(exchange):
        if exchange.request.first("authorization").removeprefix("Bearer ") in tokens:
            exchange.json(result(exchange.request["id"], text("own")))
        else:
            exchange.respond(401, b"", INVALID)

    return script


@pytest.mark.parametrize("pool_size", [4, 64])
@everywhere
async def test_many_calls_refused_at_different_moments_refresh_once(at, server, pool_size):
    """With a small pool most calls are sent with the old token when there is a new one already."""
    tokens = Tokens()
    server.on("tool bug", knows("t1"))
    client = await at.get(
        server.connect(protocol=MODERN, token_provider=tokens, pool_size=pool_size)
    )
    with took(below=4):
        for answer in await at.all(*(client.call_tool("bug") for _ in range(64))):
            assert text_of(answer) == "own"
    assert tokens.refreshed == ["t0"]
    assert len(server.received("tool bug")) <= 128
    await at.get(client.close())


async def refused_late(at, server, tokens):
    """A client, and a call of it that is still to be refused while another had a new token."""

    def late(exchange):
        exchange.wait("refreshed")
        exchange.respond(401, b"", INVALID)

    server.on("tool bug", knows("t1"))
    server.once("tool bug", late)
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens))
    old = client.call_tool("bug")
    await at.until(lambda: server.waiting("refreshed"))
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    return client, old


@across
async def test_a_refusal_that_is_late_is_answered_with_the_newer_token(at, server):
    tokens = Tokens()
    client, old = await refused_late(at, server, tokens)
    server.open("refreshed")
    assert text_of(await at.get(old)) == "own"
    assert tokens.refreshed == ["t0"]
    await at.get(client.close())


@across
async def test_the_newer_token_is_the_only_one_a_late_call_gets(at, server):
    tokens = Tokens()
    client, old = await refused_late(at, server, tokens)
    server.on("tool bug", knows())
    server.open("refreshed")
    lost(await at.error(old))
    assert tokens.refreshed == ["t0"]
    await at.get(client.close())


@pytest.mark.parametrize("first", ["t0", None])
@across
async def test_a_provider_that_forgets_is_asked_for_each_call(at, server, first):
    """The token it gives after a refresh is what it thinks is good, and is refreshed if not."""

    class Forgetful(Tokens):
        def token(self, request):
            return first

    tokens = Forgetful()

    def bug(exchange):
        number = len(server.received("tool bug"))
        script = knows("t1" if number < 3 else "t2")
        if exchange.request.first("authorization") is None:
            exchange.respond(401, b"", INVALID)
        else:
            script(exchange)

    server.on("tool bug", bug)
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens))
    for _ in range(2):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    assert tokens.refreshed == [first, first]
    await at.get(client.close())


@across
async def test_other_scopes_are_another_refresh(at, server):
    """Two calls that are refused at once with one token, for want of different scopes."""
    tokens = Tokens()

    def lacks(scope):
        def script(exchange):
            exchange.wait("both")
            exchange.respond(403, b"", [("WWW-Authenticate", SCOPE.format(scope))])

        return script

    server.on("tool bug", lambda e: e.json(result(e.request["id"], text("own"))))
    server.once("tool bug", lacks("read"), lacks("write"))
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens))
    calls = [client.call_tool("bug") for _ in range(2)]
    await at.until(lambda: server.waiting("both") == 2)
    server.open("both")
    assert [text_of(answer) for answer in await at.all(*calls)] == ["own"] * 2
    assert tokens.refreshed == ["t0", "t0"]
    await at.get(client.close())


# ---- providers that never return


class Stuck(Tokens):
    """Does not return from one of its functions, the first time."""

    def __init__(self, where):
        super().__init__()
        self.where = where
        self.stuck = 0
        self.stopped = 0

    async def token(self, request):
        await self.wait("token")
        return super().token(request)

    async def refresh(self, challenge, request):
        await self.wait("refresh")
        return super().refresh(challenge, request)

    async def wait(self, where):
        if where == self.where:
            self.stuck += 1
            try:
                await anyio.sleep_forever()
            finally:
                self.stopped += 1


@pytest.mark.parametrize("where", ["token", "refresh"])
@across
async def test_a_provider_that_never_returns_is_stopped(at, server, monkeypatch, where):
    monkeypatch.setattr(http_tokens, "PROVIDER_LIMIT", 0.2)
    stuck = Stuck(where)
    server.on("tool bug", knows("t1"))
    client = await at.get(server.connect(protocol=MODERN, token_provider=stuck))
    with took(below=3, least=0.2):
        for failed in await at.all(*(client.call_tool("bug") for _ in range(5))):
            lost(failed, ("token_provider", "timeout"))
            assert failed.delivery == "never_sent"
    assert stuck.stuck == (5 if where == "token" else 1)
    await at.until(lambda: stuck.stopped == stuck.stuck)
    stuck.where = ""
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_plain_function_that_never_returns_is_left_behind(at, server, monkeypatch):
    monkeypatch.setattr(http_tokens, "PROVIDER_LIMIT", 0.2)
    go_on = threading.Event()

    class Blocking(Tokens):
        def token(self, request):
            go_on.wait(20.0)
            return super().token(request)

    client = await at.get(server.connect(protocol=MODERN, token_provider=Blocking()))
    with took(below=3, least=0.2):
        lost(await at.error(client.call_tool("echo")), ("token_provider", "timeout"))
    go_on.set()
    await echoes(at, client)
    await at.get(client.close())
    assert len(server.requests) == 1


@across
async def test_a_provider_goes_on_when_its_connection_is_closed_but_not_for_ever(
    at, server, monkeypatch
):
    """Its refresh may be half way: what it gets must not be lost."""
    monkeypatch.setattr(http_tokens, "PROVIDER_LIMIT", 0.3)
    stuck = Stuck("refresh")
    server.on("tool bug", knows("t1"))
    client = await at.get(server.connect(protocol=MODERN, token_provider=stuck))
    call = client.call_tool("bug")
    await at.until(lambda: stuck.stuck)
    await at.get(client.close())
    lost(await at.error(call))
    assert stuck.stopped == 0
    await at.until(lambda: stuck.stopped)
