"""Which version comes of what the client allows, with each peer."""

from __future__ import annotations

import itertools

import pytest
from peers.kinds import (
    EVERYTHING,
    KINDS,
    MODERN,
    MODERN_ONLY,
    PYTHON_ONE,
    TYPESCRIPT_ONE,
    VERSIONS,
    named,
)
from peers.kit import answers, both, closes

import snodo_actors as snodo

ALLOWED = [some for count in (1, 2, 3) for some in itertools.combinations(VERSIONS, count)]

# What is spoken is the newest version that both allow.
AGREED = [
    ((kind, None), allowed, next(version for version in allowed if version in kind.versions))
    for kind in (*KINDS, MODERN_ONLY)
    for allowed in ALLOWED
    if set(allowed) & set(kind.versions)
]
REFUSED = [allowed for allowed in ALLOWED if MODERN not in allowed]


def starts(peer):
    return [fact["pid"] for fact in peer.facts("start")]


@pytest.mark.parametrize(("peer", "allowed", "spoken"), AGREED, ids=named, indirect=["peer"])
@both
async def test_the_newest_common_version_is_spoken(at, peer, allowed, spoken):
    client = await at.get(peer.connect(protocol=list(allowed)))
    assert client.protocol == spoken
    assert (client.session.version if client.session else MODERN) == spoken
    await answers(at, peer, client)
    await closes(at, peer, client)
    if peer.words is not EVERYTHING:
        # A server that took the probe for a mistake is started anew.
        mistaken = MODERN in allowed and MODERN not in peer.kind.versions
        assert len(starts(peer)) == (2 if mistaken else 1)


@pytest.mark.parametrize("allowed", REFUSED, ids=named)
@pytest.mark.parametrize("peer", [(MODERN_ONLY, None)], ids=named, indirect=True)
@both
async def test_a_server_without_the_older_versions_refuses_them(at, peer, allowed):
    error = await at.error(peer.connect(protocol=list(allowed)))
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.kind, error.delivery) == (-32022, "protocol", "answered")
    assert error.data == {"supported": [MODERN], "requested": allowed[0]}
    await at.until(lambda: not peer.processes())


@pytest.mark.parametrize(
    ("peer", "code"),
    [((PYTHON_ONE, MODERN), -32602), ((TYPESCRIPT_ONE, MODERN), -32601)],
    ids=named,
    indirect=["peer"],
)
@both
async def test_the_modern_version_alone_is_taken_at_its_word(at, peer, code):
    """Nothing is asked first, so an older server says no to the first call only."""
    client = await at.get(peer.connect())
    assert (client.protocol, client.session) == (MODERN, None)
    error = await at.error(client.discover())
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.delivery) == (code, "answered")
    await at.get(client.close())
