"""A token that is there already goes out at once; the provider is asked where there is none."""

from __future__ import annotations

import pytest
from case_servers import MODERN, across, echoes, lost

import snodo_actors as snodo

INVALID = [("WWW-Authenticate", 'Bearer error="invalid_token"')]


class Ready:
    """Has what it is given at hand."""

    def __init__(self, *at_hand):
        self.tokens = list(at_hand)
        self.asked = []

    def at_hand(self, request):
        token = self.tokens[0] if len(self.tokens) == 1 else self.tokens.pop(0)
        if isinstance(token, Exception):
            raise token
        return token

    async def token(self, request):
        self.asked.append(("token", request))
        return "asked"

    async def refresh(self, challenge, request):
        self.asked.append(("refresh", request))
        self.tokens = ["fresh"]
        return "fresh"


def sent(server):
    return [request.first("authorization") for request in server.requests]


@across
async def test_nobody_is_asked(at, server):
    provider = Ready("here")
    client = await at.get(server.connect(token_provider=provider, protocol=MODERN))
    await echoes(at, client)
    await echoes(at, client)
    await at.get(client.close())
    assert sent(server) == ["Bearer here"] * 2
    assert provider.asked == []


@across
async def test_without_one_the_provider_is_asked(at, server):
    provider = Ready(None, "here")
    client = await at.get(server.connect(token_provider=provider, protocol=MODERN))
    await echoes(at, client)
    await echoes(at, client)
    await at.get(client.close())
    assert sent(server) == ["Bearer asked", "Bearer here"]
    assert provider.asked == [("token", {"url": server.url})]


@across
async def test_one_that_is_refused_is_refreshed(at, server):
    provider = Ready("stale")
    server.once("tools/call", lambda exchange: exchange.respond(401, b"", INVALID))
    client = await at.get(server.connect(token_provider=provider, protocol=MODERN))
    await echoes(at, client)
    await echoes(at, client)
    await at.get(client.close())
    assert sent(server) == ["Bearer stale", "Bearer fresh", "Bearer fresh"]
    assert [what for what, _ in provider.asked] == ["refresh"]


@across
@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        (ValueError("no"), "no"),
        ("a token", "invalid_token"),
        (5, "invalid_token"),
        (snodo.TransportError(-32000, "signed out", delivery="never_sent"), "None"),
    ],
)
async def test_one_that_is_none_fails_the_call(at, server, wrong, cause):
    provider = Ready(wrong)
    client = await at.get(server.connect(token_provider=provider, protocol=MODERN))
    failed = await at.error(client.call_tool("echo"))
    lost(failed)
    assert failed.delivery == "never_sent"
    provider.tokens = ["here"]
    await echoes(at, client)
    await at.get(client.close())
    assert str(failed.cause) == cause
    assert sent(server) == ["Bearer here"]


@across
async def test_no_era_is_tried_with_tokens_that_another_has_refused(at, server):
    provider = Ready("stale")
    server.on("server/discover", lambda exchange: exchange.respond(401, b"", INVALID))
    failed = await at.error(server.connect(token_provider=provider, protocol=None))
    assert failed.cause[:2] == ("unauthorized", 401)
    assert [request.rpc for request in server.requests] == ["server/discover"] * 2
    assert [what for what, _ in provider.asked] == ["refresh"]
