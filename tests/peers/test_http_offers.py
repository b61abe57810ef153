"""Over HTTP: what a peer offers, and the calls of its tools, however it answers."""

from __future__ import annotations

import pytest
from case_servers import timed_out
from peers.http_kinds import EACH_ERA, NEWEST
from peers.http_kit import both, closes, waits
from peers.kinds import EVERYTHING, MODERN, named
from peers.kit import answers, is_progress, said

import snodo_actors as snodo
from supervisors import receive, self_

JSON, STREAM = "application/json", "text/event-stream"


@pytest.mark.parametrize("web", EACH_ERA, ids=named, indirect=True)
@both
async def test_what_there_is(at, web):
    words = web.words
    client = await at.get(web.connect())

    if web.version == MODERN:
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

    await reads(at, web, client)
    await closes(at, web, client)


async def reads(at, web, client):
    words = web.words
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


@pytest.mark.parametrize("web", EACH_ERA, ids=named, indirect=True)
@both
async def test_results_failures_and_progress(at, web):
    words = web.words
    client = await at.get(web.connect())

    await answers(at, web, client)
    last = web.answered("POST")[-1]
    assert last["status"] == 200
    assert last["kind"].startswith(STREAM if is_stream(web) else JSON)
    tool, arguments = words.structured
    result = await at.get(client.call_tool(tool, arguments))
    assert result["structuredContent"] == words.structure
    assert not result.get("isError")

    result = await at.get(client.call_tool(*words.fails))
    assert result["isError"] is True
    assert said(result)
    result = await at.get(client.call_tool(words.sum[0], {"a": "one"}))
    assert result["isError"] is True
    outcome = await at.outcome(client.call_tool("no-such-tool"))
    assert isinstance(outcome, snodo.ServerError) or outcome["isError"] is True

    steps = []
    tool, arguments = words.steps
    await at.get(client.call_tool(tool, arguments, progress=steps.append))
    expected = [1, 2, 3] if web.kind.streams else []
    assert [step["progress"] for step in steps] == expected
    await at.get(client.call_tool(tool, arguments, progress=self_()))
    messages = [await at.get(receive(is_progress, 0)) for _ in expected]
    assert [params["progress"] for _, params in messages] == expected

    calls = [client.call_tool(words.sum[0], {"a": n, "b": 1000}) for n in range(30)]
    for n, result in enumerate(await at.all(*calls)):
        assert said(result).removesuffix(".").endswith(str(n + 1000))

    await closes(at, web, client)


def is_stream(web):
    """Whether an ordinary answer is one; both of the second SDKs stream only when they must."""
    if web.version == MODERN:
        return web.kind.name.endswith("-sse")
    return web.kind.streams


@pytest.mark.parametrize("web", NEWEST, ids=named, indirect=True)
@both
async def test_who_does_not_wait_any_more_has_the_call_cancelled_at_the_server(at, web):
    client = await at.get(web.connect())

    await at.give_up(await waits(at, web, client))
    await cancelled(at, web, 1)
    error = await at.error(await waits(at, web, client, timeout=1.0))
    timed_out(error, 1.0)
    assert error.delivery == "unknown"
    await cancelled(at, web, 2)

    await answers(at, web, client)
    await at.get(client.close())


async def cancelled(at, web, count):
    if web.words is not EVERYTHING:  # it writes nothing down
        await at.until(lambda: len(web.facts("cancelled", tag=web.tag)) == count)
