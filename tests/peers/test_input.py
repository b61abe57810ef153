"""What a peer asks of the client in the middle of a call: input rounds, or requests of its own."""

from __future__ import annotations

import pytest
from peers.kinds import EACH_VERSION, MODERN, WITH_STREAMS, named
from peers.kit import answers, both, closes, said

import snodo_actors as snodo

FOLDER = "file:///srv/project"
BO = {"action": "accept", "content": {"name": "Bo"}}


class User:
    """Answers each kind of question, and writes down what was asked."""

    def __init__(self):
        self.asked = []
        self.forms = [BO, {"action": "decline"}, LookupError("nobody is here")]
        self.handlers = {
            "form": self.form,
            "url": self.url,
            "sampling": self.sampling,
            "roots": self.roots,
        }

    async def form(self, params):
        self.asked.append(params)
        answer = self.forms.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def url(self, params):
        self.asked.append(params)
        return {"action": "accept"}

    async def sampling(self, params):
        self.asked.append(params)
        content = {"type": "text", "text": "anything"}
        return {"role": "assistant", "model": "m", "content": content}

    def roots(self, params):
        self.asked.append(params)
        return {"roots": [{"uri": FOLDER}]}


@pytest.mark.parametrize("peer", EACH_VERSION, ids=named, indirect=True)
@both
async def test_each_kind_of_input(at, peer):
    user, words = User(), peer.words
    client = await at.get(peer.connect(input_handlers=user.handlers))

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
    await refused(at, peer, client.call_tool(*words.form))
    if peer.version == MODERN:
        await by_hand(at, client, words)
    await answers(at, peer, client)
    await closes(at, peer, client)


async def refused(at, peer, call):
    """What a handler raises the caller gets, or the server, if that asked in its own name."""
    if peer.version == MODERN:
        with pytest.raises(LookupError, match="nobody is here"):
            await at.get(call)
    else:
        outcome = await at.outcome(call)
        text = outcome.message if isinstance(outcome, snodo.ServerError) else said(outcome)
        assert "nobody is here" in text


async def by_hand(at, client, words):
    """The state is the server's own, sealed or not, and goes back as it came."""
    tool, _ = words.form
    asked = await at.get(client.call_tool(tool, answer_input=False))
    assert isinstance(asked, snodo.InputRequired)
    [name] = asked.input_requests
    given = {"input_responses": {name: BO}, "request_state": asked.request_state}
    assert words.named in said(await at.get(client.call_tool(tool, **given)))


@pytest.mark.parametrize("peer", WITH_STREAMS, ids=named, indirect=True)
@both
async def test_a_server_says_which_capability_it_misses(at, peer):
    client = await at.get(peer.connect())
    error = await at.error(client.call_tool(*peer.words.form))
    assert isinstance(error, snodo.ServerError)
    assert error.code == -32021
    assert error.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    await closes(at, peer, client)
