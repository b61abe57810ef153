"""A flood of notifications delays no answer and is kept nowhere."""

from __future__ import annotations

import time

import pytest
from case_servers import across, echoes, everywhere, program, text_of, took


@pytest.fixture
def chatty(server_of):
    return server_of("B-029")


@pytest.fixture
def timings(server_of):
    return server_of("timings")


# ---- the case


@everywhere
async def test_twenty_thousand_notifications_before_the_answer(at, chatty):
    client = await at.get(chatty.connect(timeout=20.0))
    with took(below=5):
        assert text_of(await at.get(client.call_tool("bug"))) == "after flood"
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_eight_floods_at_a_time(at, chatty):
    client = await at.get(chatty.connect(timeout=60.0))
    with took(below=25):
        results = await at.all(*[client.call_tool("bug") for _ in range(8)])
    assert [text_of(result) for result in results] == ["after flood"] * 8
    await echoes(at, client)
    await at.get(client.close())


FLOOD = """
import json, sys
from case_servers import Memory, Server
from pathlib import Path
import supervisors

script, log, backend = sys.argv[1:4]
with supervisors.Node(backend=backend):
    client = Server(Path(script), Path(log)).connect(timeout=60.0).get()
    client.call_tool("echo").get()
    memory = Memory()
    calls = [client.call_tool("bug") for _ in range(8)]
    for call in calls:
        call.get()
    client.call_tool("echo").get()
    client.close().get()
print(json.dumps({"now": memory.now(), "peak": memory.peak()}))
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_nobody_asked_for_is_kept_nowhere(chatty, backend):
    ran = program(FLOOD, chatty.script, chatty.log, backend, timeout=100)

    assert ran["now"] < 25, ran
    assert ran["peak"] < 50, ran


@everywhere
async def test_a_slow_progress_function_delays_its_own_call_only(at, timings):
    """Two hundred signs of progress, 10 ms each: two seconds for that call, none for another."""
    client, seen = await at.get(timings.connect(timeout=60.0)), []

    def slow(params):
        seen.append(params)
        time.sleep(0.01)

    if type(at).__name__ != "Thread":

        async def slow(params):
            seen.append(params)
            await at.sleep(0.01)

    async def flooded():
        start = time.monotonic()
        call = client.call_tool("burst", {"n": 200}, progress=slow)
        assert text_of(await at.get(call)) == "done"
        return time.monotonic() - start

    async def other():
        await at.until(lambda: seen)
        start = time.monotonic()
        for n in range(5):
            await echoes(at, client, n=n)
        return time.monotonic() - start

    long, short = await at.together(flooded, other)
    assert len(seen) == 200
    assert long > 1.9
    assert short < 1.5
    await at.get(client.close())


@everywhere
async def test_a_slow_progress_function_of_the_flooding_server(at, chatty):
    client, seen = await at.get(chatty.connect(timeout=60.0)), []
    call = client.call_tool("bug", progress=seen.append)
    assert text_of(await at.get(call)) == "after flood"
    assert len(seen) == 5000
    await at.get(client.close())


# ---- more of the kind


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
@across
async def test_a_flood_of_every_kind(at, timings, protocol):
    client = await at.get(timings.connect(protocol=protocol, timeout=30.0))
    with took(below=6):
        await at.get(client.call_tool("flood", {"n": 20_000}))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_progress_nobody_takes_does_not_hold_up_the_answers(at, timings):
    """The call is made and not awaited yet: its progress waits, everybody else goes on."""
    client, seen = await at.get(timings.connect(timeout=30.0)), []
    call = client.call_tool("burst", {"n": 2000}, progress=seen.append)
    with took(below=3):
        for n in range(5):
            await echoes(at, client, n=n)
    assert seen == []
    assert text_of(await at.get(call)) == "done"
    assert len(seen) == 2000
    await at.get(client.close())


PROGRESS = """
import json, sys
from case_servers import Memory, Server
from pathlib import Path
import supervisors

script, log, backend = sys.argv[1:4]
with supervisors.Node(backend=backend):
    client = Server(Path(script), Path(log)).connect(timeout=60.0).get()
    memory, seen = Memory(), []
    call = client.call_tool("burst", {"n": 400_000}, progress=lambda p: seen.append(p["progress"]))
    for n in range(400):
        client.call_tool("echo", {"n": n}).get()
    while not call._state:
        client.call_tool("echo").get()
    peak = memory.peak()
    text = call.get()["content"][0]["text"]
    client.close().get()
print(json.dumps({"peak": peak, "text": text, "seen": len(seen), "last": seen[-1]}))
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_progress_nobody_takes_is_kept_within_a_limit(timings, backend):
    """400,000 signs of progress for a call that nobody awaits yet; the newest ones count."""
    ran = program(PROGRESS, timings.script, timings.log, backend)

    assert ran["text"] == "done"
    assert ran["last"] == 399_999
    assert ran["peak"] < 60, ran
