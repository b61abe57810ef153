"""What a peer asks of the client in the middle of a call: input rounds, or requests of its own."""

from __future__ import annotations

import pytest
from peers.kinds import EACH_VERSION, MODERN, WITH_STREAMS, named
from peers.kit import answers, both, said

import snodo_actors as snodo

FOLDER = "file:///srv/project"
ANSWERS = {
    "form": {"action": "accept", "content": {"name": "Bo"}},
    "url": {"action": "accept"},
    "sampling": {
        "role": "assistant",
        "model": "m",
        "content": {"type": "text", "text": "anything"},
    },
    "roots": {"roots": [{"uri": FOLDER}]},
}


def plain(asked, answers=ANSWERS):
    """Handlers that write down what they were asked."""

    def make(kind):
        def handler(params):
            asked.append((kind, params))
            return answers[kind]

        return handler

    return {kind: make(kind) for kind in answers}


@pytest.mark.parametrize("peer", EACH_VERSION, ids=named, indirect=True)
@both
async def test_each_kind_of_input(at, peer):
    words, asked = peer.words, []
    client = await at.get(peer.connect(input_handlers=plain(asked)))
    expected = {
        "form": words.named,
        "url": words.opened,
        "sampling": "anything",
        "roots": FOLDER,
    }
    for kind, text in expected.items():
        assert text in said(await at.get(client.call_tool(*getattr(words, kind))))
    assert [kind for kind, _ in asked] == list(expected)
    form, url, sampling, _ = (params for _, params in asked)
    assert form["requestedSchema"]["properties"]["name"]["type"] == "string"
    assert url["url"] == "https://example.test/"
    assert sampling["messages"][0]["content"]["text"].endswith("A word?")
    await at.get(client.close())


@both
async def test_a_handler_may_be_async_and_decline(at, peer):
    async def decline(params):
        return {"action": "decline"}

    client = await at.get(peer.connect(input_handlers={"form": decline}))
    result = await at.get(client.call_tool(*peer.words.form))
    assert "decline" in said(result)
    await answers(at, peer, client)
    await at.get(client.close())


@both
async def test_what_a_handler_raises_is_told(at, peer):
    """In rounds to the caller, whose own it is; else to the server, which asked for it."""

    def refuse(params):
        raise LookupError("nobody is here")

    client = await at.get(peer.connect(input_handlers={"form": refuse}))
    call = client.call_tool(*peer.words.form)
    if peer.version == MODERN:
        with pytest.raises(LookupError, match="nobody is here"):
            await at.get(call)
    else:
        outcome = await at.outcome(call)
        text = outcome.message if isinstance(outcome, snodo.ServerError) else said(outcome)
        assert "nobody is here" in text
    await answers(at, peer, client)
    await at.get(client.close())


@pytest.mark.parametrize("peer", WITH_STREAMS, ids=named, indirect=True)
@both
async def test_input_may_be_given_by_hand(at, peer):
    """The state is the server's own, sealed or not, and goes back as it came."""
    able = {"elicitation": {"form": {}}}
    client = await at.get(peer.connect(client_capabilities=able))
    tool, _ = peer.words.form
    asked = await at.get(client.call_tool(tool))
    assert isinstance(asked, snodo.InputRequired)
    [name] = asked.input_requests
    given = {"input_responses": {name: ANSWERS["form"]}, "request_state": asked.request_state}
    assert peer.words.named in said(await at.get(client.call_tool(tool, **given)))
    await at.get(client.close())


@pytest.mark.parametrize("peer", WITH_STREAMS, ids=named, indirect=True)
@both
async def test_a_server_says_which_capability_it_misses(at, peer):
    client = await at.get(peer.connect())
    error = await at.error(client.call_tool(*peer.words.form))
    assert isinstance(error, snodo.ServerError)
    assert error.code == -32021
    assert error.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    await at.get(client.close())
