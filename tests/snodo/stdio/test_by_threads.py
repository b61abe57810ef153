"""Whole connections over pipes that no loop watches, as on Windows: by threads."""

from __future__ import annotations

import pytest
from case_servers import across, echoes, lost, said, text_of, took

from snodo_actors.ports import child, exits
from snodo_actors.ports.threaded import ThreadedReader, ThreadedWriter

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _no_loop_watches(monkeypatch):
    def none(_pid):
        raise OSError("no descriptor tells")

    monkeypatch.setattr(child, "PolledReader", ThreadedReader)
    monkeypatch.setattr(child, "PolledWriter", ThreadedWriter)
    monkeypatch.setattr(exits, "_descriptor", none)


@pytest.fixture
def dying(server_of):
    return server_of("exits")


@across
async def test_calls_are_answered(at, dying):
    client = await at.get(dying.connect(protocol=None))
    for n in range(20):
        await echoes(at, client, n=n)
    calls = [client.call_tool("echo", {"n": n, "pad": "x" * 10_000}) for n in range(200)]
    for n, result in enumerate(await at.all(*calls)):
        assert text_of(result) == said(n=n, pad="x" * 10_000)
    big = {"pad": "y" * 3 * MIB}
    assert text_of(await at.get(client.call_tool("echo", big, timeout=30.0))) == said(**big)
    with took(below=2):
        await at.get(client.close())


@across
async def test_an_exit_is_explained(at, dying):
    client = await at.get(dying.connect())
    waiting = client.call_tool("hold")
    call = client.call_tool("status", {"status": 3, "words": "so long\n"})
    with took(below=2):
        for error in await at.all(call, waiting):
            lost(error, ("exit_status", 3))
            assert "so long" in str(error)
    await at.get(client.close())


@pytest.mark.parametrize("tool", ["answer_and_exit", "much_and_exit"])
@across
async def test_an_answer_before_the_exit_is_an_answer(at, dying, tool):
    client = await at.get(dying.connect())
    assert text_of(await at.get(client.call_tool(tool, {"n": 1}))) == said(n=1)
    lost(await at.error(client.call_tool("echo")))
    await at.get(client.close())


@pytest.mark.parametrize("mode", ["", "stubborn family"])
@across
async def test_closing_leaves_nothing(at, stays, mode):
    client = await at.get(stays.connect(env={"CASE_MODE": mode}))
    await echoes(at, client)
    with took(below=7):
        await at.get(client.close())
    await at.until(lambda: not stays.processes(), within=2)


@across
async def test_closing_while_writes_are_stuck(at, stays):
    client = await at.get(stays.connect(env={"CASE_MODE": "stubborn"}, timeout=20.0))
    await at.get(client.call_tool("stop_reading"))
    calls = [client.call_tool("echo", {"pad": "x" * MIB}) for _ in range(3)]
    with took(below=7):
        await at.get(client.close())
    for error in await at.all(*calls):
        lost(error, "closed")
    assert not stays.processes()


@across
async def test_what_it_leaves_elsewhere_holds_nothing_up(at, dying):
    """Its pipes are held by a process that is not ours to end, and so are our threads."""
    client = await at.get(dying.connect(timeout=20.0))
    try:
        with took(below=3):
            error = await at.error(client.call_tool("leave_one_far_behind_and_exit"))
        lost(error, ("exit_status", 4))
        await at.get(client.close())
    finally:
        dying.kill_all()
