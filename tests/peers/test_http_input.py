"""Over HTTP: what a peer asks of the client in the middle of a call."""

from __future__ import annotations

import pytest
from peers.http_kinds import (
    EACH_VERSION,
)
from peers.http_kit import both, closes
from peers.kinds import MODERN, named
from peers.kit import answers, said
from peers.test_input import FOLDER, User

# Answers that are no streams, and a server that forgets, ask nothing.
ASKING = [
    (kind, version)
    for kind, version in EACH_VERSION
    if version == MODERN or (kind.streams and kind.sessions)
]


@pytest.mark.parametrize("web", ASKING, ids=named, indirect=True)
@both
async def test_each_kind_of_input(at, web):
    user, words = User(), web.words
    client = await at.get(
        web.connect(input_handlers=user.handlers, server_stream=web.kind.asks_outside)
    )

    for ask, text in (
        (words.form, words.named),
        (words.url, words.opened),
        (words.sampling, "anything"),
        (words.roots, FOLDER),
    ):
        assert text in said(await at.get(client.call_tool(*ask)))
    form, url, sampling, _ = user.asked
    assert form["requestedSchema"]["properties"]["name"]["type"] == "string"
    assert url["url"] == "https://example.test/"
    assert sampling["messages"][0]["content"]["text"].endswith("A word?")

    assert "decline" in said(await at.get(client.call_tool(*words.form)))
    await answers(at, web, client)
    await closes(at, web, client)
