"""Over HTTP: which version comes of what the client allows, with each web."""

from __future__ import annotations

import itertools

import pytest
from peers.http_kinds import KINDS, MAIN, MODERN_ONLY, PYTHON_ONE, TYPESCRIPT_ONE
from peers.http_kit import both, closes
from peers.kinds import MODERN, VERSIONS, named
from peers.kit import answers

import snodo_actors as snodo

ALLOWED = [some for count in (1, 2, 3) for some in itertools.combinations(VERSIONS, count)]

TWO = 2
# What is spoken is the newest version that both allow. The pairs are left out where a server only
# differs in how it answers.
AGREED = [
    ((kind, None), allowed, next(version for version in allowed if version in kind.versions))
    for kind in (*KINDS, MODERN_ONLY)
    for allowed in ALLOWED
    if set(allowed) & set(kind.versions)
    if kind in (*MAIN, MODERN_ONLY) or len(allowed) != TWO
]
REFUSED = [allowed for allowed in ALLOWED if MODERN not in allowed]


@pytest.mark.parametrize(("web", "allowed", "spoken"), AGREED, ids=named, indirect=["web"])
@both
async def test_the_newest_common_version_is_spoken(at, web, allowed, spoken):
    client = await at.get(web.connect(protocol=list(allowed)))
    assert client.protocol == spoken
    assert (client.session.version if client.session else MODERN) == spoken
    if client.session:
        assert (client.session.id is not None) == web.kind.sessions
    await answers(at, web, client)
    await closes(at, web, client)
    assert web.answered("POST")[-1]["headers"]["mcp-protocol-version"] == spoken
    assert web.answered("GET") == []


@pytest.mark.parametrize("allowed", REFUSED, ids=named)
@pytest.mark.parametrize("web", [(MODERN_ONLY, None)], ids=named, indirect=True)
@both
async def test_a_server_without_the_older_versions_refuses_them(at, web, allowed):
    error = await at.error(web.connect(protocol=list(allowed)))
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.kind, error.delivery) == (-32022, "protocol", "answered")
    assert error.data == {"supported": [MODERN], "requested": allowed[0]}


@pytest.mark.parametrize("web", [(TYPESCRIPT_ONE, MODERN)], ids=named, indirect=True)
@both
async def test_the_modern_version_alone_is_taken_at_its_word(at, web):
    """Nothing is asked first, so an older server says no to the first call only."""
    client = await at.get(web.connect())
    assert (client.protocol, client.session) == (MODERN, None)
    error = await at.error(client.discover())
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.delivery) == (-32000, "answered")
    await at.get(client.close())


@pytest.mark.parametrize("web", [(PYTHON_ONE, MODERN)], ids=named, indirect=True)
@both
async def test_a_refusal_under_an_id_of_the_servers_own_is_shown(at, web):
    """The older Python SDK calls it `server-error`; on that connection it answers no other call."""
    client = await at.get(web.connect())
    error = await at.error(client.discover())
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.delivery) == (-32600, "answered")
    await at.get(client.close())
