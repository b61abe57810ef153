"""What a peer offers: itself, its lists, resources, prompts and completions, in each version."""

from __future__ import annotations

import pytest
from peers.kinds import EACH_VERSION, MODERN, named
from peers.kit import both, closes

import snodo_actors as snodo


@pytest.mark.parametrize("peer", EACH_VERSION, ids=named, indirect=True)
@both
async def test_what_there_is(at, peer):
    words = peer.words
    client = await at.get(peer.connect())

    if peer.version == MODERN:
        about = await at.get(client.discover())
        server, instructions = (
            about["_meta"]["io.modelcontextprotocol/serverInfo"],
            about["instructions"],
        )
        capabilities = about["capabilities"]
        assert about["supportedVersions"] == [MODERN]
    else:
        server, instructions = client.session.server_info, client.session.instructions
        capabilities = client.session.server_capabilities
        assert await at.get(client.ping()) == {}
        error = await at.error(client.listen({"toolsListChanged": True}))
        assert isinstance(error, snodo.ProtocolError)
        assert (error.code, error.delivery) == (-32601, "never_sent")
    assert server["name"] == words.server
    assert instructions.startswith(words.instructions)
    assert {"tools", "resources", "prompts", "completions"} <= set(capabilities)

    tools, resources, templates, prompts = await at.all(
        client.list_tools(),
        client.list_resources(),
        client.list_resource_templates(),
        client.list_prompts(),
    )
    assert {words.sum[0], words.fails[0], words.steps[0]} <= {tool["name"] for tool in tools}
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools)
    assert words.resource[0] in {resource["uri"] for resource in resources}
    assert words.template[0] in {template["uriTemplate"] for template in templates}
    assert words.prompt[0] in {prompt["name"] for prompt in prompts}
    page = await at.get(client.list_page("prompts"))
    assert (page.items, page.next_cursor) == (prompts, None)

    await reads(at, peer, client)
    await closes(at, peer, client)


async def reads(at, peer, client):
    words = peer.words
    for uri, text in (words.resource, words.template[1:]):
        [content] = (await at.get(client.read_resource(uri)))["contents"]
        assert content["uri"] == uri
        assert content["text"].startswith(text)
    prompt = await at.get(client.get_prompt(*words.prompt))
    assert prompt["messages"][0]["content"] == {"type": "text", "text": words.prompted}
    name, argument, value = words.completion
    asked = {
        "ref": {"type": "ref/prompt", "name": name},
        "argument": {"name": argument, "value": value},
    }
    completed = await at.get(client.request("completion/complete", asked))
    assert completed["completion"]["values"] == list(words.completed)

    for nothing in (client.read_resource("none://such"), client.get_prompt("no-such-prompt")):
        error = await at.error(nothing)
        assert isinstance(error, snodo.ServerError)
        assert error.delivery == "answered"
