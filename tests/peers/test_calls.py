"""Tools: results, failures, progress, many at once, and calls that are given up."""

from __future__ import annotations

import pytest
from case_servers import PLACES, in_thread, timed_out
from peers.kinds import EVERYTHING, LATER, NEWEST, TYPESCRIPT_ONE, named
from peers.kit import answers, both, closes, is_progress, said, waits

import snodo_actors as snodo
from supervisors import Node, receive, self_


@both
async def test_results_failures_and_progress(at, peer):
    words = peer.words
    client = await at.get(peer.connect())

    await answers(at, peer, client)
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
    assert [(step["progress"], step["total"]) for step in steps] == [(1, 3), (2, 3), (3, 3)]
    await at.get(client.call_tool(tool, arguments, progress=self_()))
    messages = [await at.get(receive(is_progress, 0)) for _ in range(3)]
    assert [params["progress"] for _, params in messages] == [1, 2, 3]

    calls = [client.call_tool(words.sum[0], {"a": n, "b": 1000}) for n in range(100)]
    for n, result in enumerate(await at.all(*calls)):
        assert said(result).removesuffix(".").endswith(str(n + 1000))

    await closes(at, peer, client)


@both
async def test_who_does_not_wait_any_more_has_the_call_cancelled_at_the_server(at, peer):
    client = await at.get(peer.connect())

    await at.give_up(await waits(at, peer, client))
    await cancelled(at, peer, 1)
    error = await at.error(await waits(at, peer, client, timeout=1.0))
    timed_out(error, 1.0)
    assert error.delivery == "unknown"
    await cancelled(at, peer, 2)

    await answers(at, peer, client)
    await at.get(client.close())


async def cancelled(at, peer, count):
    if peer.words is not EVERYTHING:  # it writes nothing down
        await at.until(lambda: len(peer.facts("cancelled")) == count)


@pytest.mark.parametrize("peer", [(TYPESCRIPT_ONE, LATER)], ids=named, indirect=True)
@both
async def test_progress_keeps_a_call_alive(at, peer):
    client = await at.get(peer.connect())
    tool, moving = peer.words.steps[0], {"duration": 1.0, "steps": 20}
    options = {"timeout": 0.5, "progress": lambda _params: None}

    call = client.call_tool(tool, moving, reset_timeout_on_progress=True, **options)
    assert "completed" in said(await at.get(call))
    timed_out(await at.error(client.call_tool(tool, moving, **options)), 0.5)

    await at.get(client.close())


@pytest.mark.parametrize("peer", NEWEST, ids=named, indirect=True)
def test_in_a_plain_thread(peer):
    """As everywhere else, and nothing is awaited."""
    copy, place = peer.copy("thread"), PLACES["thread"]()

    async def run():
        client = await place.get(copy.connect())
        steps = []
        tool, arguments = copy.words.steps
        await place.get(client.call_tool(tool, arguments, progress=steps.append))
        assert len(steps) == 3
        await answers(place, copy, client)
        await closes(place, copy, client)

    with Node():
        in_thread(run)
