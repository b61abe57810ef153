"""Long lines are taken up to the limit, quickly; longer ones cost bounded memory and one call."""

from __future__ import annotations

import json

import pytest
from case_servers import (
    PLACES,
    across,
    echoes,
    everywhere,
    lost,
    program,
    text_of,
    timed_out,
    took,
)

LIMIT = 100_000
MIB = 1024 * 1024


@pytest.fixture
def long_lines(server_of):
    return server_of("B-007")


@pytest.fixture
def endless(server_of):
    return server_of("B-008")


@pytest.fixture
def limits(server_of):
    return server_of("limits")


# ---- the cases


@everywhere
async def test_a_line_of_eight_million_characters(at, long_lines):
    client = await at.get(long_lines.connect(timeout=30.0))
    with took(below=8):
        assert text_of(await at.get(client.call_tool("bug"))) == "x" * 8_000_000
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_several_long_lines_at_a_time(at, long_lines):
    client = await at.get(long_lines.connect(timeout=60.0))
    with took(below=20):
        calls = [client.call_tool("bug") for _ in range(4)]
        results = await at.all(*calls)
    assert [len(text_of(result)) for result in results] == [8_000_000] * 4
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("at", [*PLACES], indirect=True)
@everywhere
async def test_a_line_without_an_end_ends_the_connection(at, endless):
    """At once after four times the limit, not at anybody's timeout; nothing of the server stays."""
    client = await at.get(endless.connect(timeout=50.0, max_line_bytes=LIMIT))
    waiting = client.call_tool("echo", {"n": 0, "hold": "yes"})
    await at.get(waiting)
    with took(below=6):
        errors = await at.all(*[client.call_tool("bug") for _ in range(3)])
        for error in errors:
            lost(error)
    with took(below=1):
        lost(await at.error(client.call_tool("echo")))
    await at.until(lambda: not endless.processes(), within=5)
    with took(below=2):
        await at.get(client.close())


@everywhere
async def test_the_default_limit_has_an_end_too(at, endless):
    client = await at.get(endless.connect(timeout=50.0))
    call = client.call_tool("bug")
    with took(below=15):
        error = await at.error(call)
    lost(error)
    await at.until(lambda: not endless.processes(), within=5)
    lost(await at.error(client.call_tool("echo")))
    await at.get(client.close())


@everywhere
async def test_the_limit_is_the_line_however_it_comes(at, endless):
    client = await at.get(endless.connect(timeout=20.0, max_line_bytes=LIMIT))
    assert len(text_of(await at.get(client.call_tool("echo", {"n": 99_000})))) > 98_000
    with took(below=4):
        error = await at.error(client.call_tool("echo", {"n": 101_000}))
    lost(error, ("max_line_bytes", LIMIT))
    assert error.delivery == "answered"
    await echoes(at, client, n=0)
    await at.get(client.close())


# ---- more of the kind


@pytest.mark.parametrize("piece", [0, 1, 1000, LIMIT])
@across
async def test_the_last_byte_decides(at, limits, piece):
    client = await at.get(limits.connect(timeout=20.0, max_line_bytes=LIMIT))
    exactly = {"n": LIMIT, "piece": piece}
    assert text_of(await at.get(client.call_tool("exact", exactly)))
    error = await at.error(client.call_tool("exact", {"n": LIMIT + 1, "piece": piece}))
    lost(error, ("max_line_bytes", LIMIT))
    assert text_of(await at.get(client.call_tool("exact", exactly)))
    await at.get(client.close())


@across
async def test_a_long_answer_with_its_id_at_the_end_costs_that_call_its_time(at, limits):
    client = await at.get(limits.connect(max_line_bytes=LIMIT))
    call = client.call_tool("id_at_the_end", {"n": 2 * LIMIT}, timeout=0.6)
    await echoes(at, client)
    error = await at.error(call)
    if error.code == -32001:
        timed_out(error, 0.6)
    else:
        lost(error, ("max_line_bytes", LIMIT))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_id_inside_a_long_line_is_nobodys(at, limits):
    client = await at.get(limits.connect(max_line_bytes=LIMIT))
    other = client.call_tool("hold", timeout=1.5)
    arguments = {"n": 2 * LIMIT, "other": other.id}
    timed_out(await at.error(client.call_tool("id_inside_the_result", arguments, timeout=0.5)), 0.5)
    timed_out(await at.error(other), 1.5)
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize(
    "tool", ["notification", "notification_with_an_id_inside", "request_with_the_same_id"]
)
@across
async def test_a_long_line_that_answers_nothing_fails_nothing(at, limits, tool):
    client = await at.get(limits.connect(max_line_bytes=LIMIT))
    assert text_of(await at.get(client.call_tool(tool, {"n": 3 * LIMIT}))) == "after"
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_what_comes_with_a_long_line_is_not_lost(at, limits):
    client = await at.get(limits.connect(max_line_bytes=LIMIT))
    first, last = client.call_tool("hold"), client.call_tool("hold")
    arguments = {"first": first.id, "last": last.id, "n": 3 * LIMIT}
    lost(await at.error(client.call_tool("between_others", arguments)), ("max_line_bytes", LIMIT))
    assert (text_of(await at.get(first)), text_of(await at.get(last))) == ("first", "last")
    await at.get(client.close())


@pytest.mark.parametrize("end", ["\r\n", " \n"])
@across
async def test_what_ends_a_line_counts_little(at, limits, end):
    """A few bytes of blanks around the limit may go either way; they break nothing."""
    client = await at.get(limits.connect(max_line_bytes=LIMIT))
    arguments = {"n": LIMIT - 1, "end": end}
    assert text_of(await at.get(client.call_tool("exact", arguments)))
    await at.outcome(client.call_tool("exact", {"n": LIMIT, "end": end}, timeout=2.0))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_the_answer_to_the_endless_line_is_told_at_once(at, limits):
    """Its id is in the head: the call fails when the limit is passed, not at four times that."""
    client = await at.get(limits.connect(max_line_bytes=LIMIT, timeout=20.0))
    head = '{"jsonrpc":"2.0","id":ID,"result":{"content":["'
    arguments = {"head": head, "total": 2 * LIMIT, "with": "x"}
    with took(below=4):
        error = await at.error(client.call_tool("endless", arguments))
    lost(error, ("max_line_bytes", LIMIT))
    await at.get(client.close())


@across
async def test_an_endless_line_that_drips_ends_the_connection_too(at, limits):
    client = await at.get(limits.connect(max_line_bytes=1000, timeout=20.0))
    arguments = {"total": 2_000_000, "with": "é", "pause": 0.01}
    with took(below=6):
        lost(await at.error(client.call_tool("endless", arguments)))
    await at.until(lambda: not limits.processes(), within=6)
    await at.get(client.close())


@pytest.mark.parametrize("limit", [1, 10, 40, 100])
@across
async def test_a_limit_below_any_answer_fails_the_connect(at, limits, limit):
    with took(below=4):
        outcome = await at.outcome(limits.connect(max_line_bytes=limit, timeout=2.0))
    assert isinstance(outcome, Exception), outcome
    assert outcome.code in (-32000, -32001)
    await at.until(lambda: not limits.processes(), within=5)


@across
async def test_a_long_answer_to_the_probe_is_no_modern_answer(at, server_of):
    server, pad = server_of("negotiation"), "x" * 5000
    probe = 'result {"supportedVersions": ["2026-07-28"], "pad": "%s"}' % pad  # noqa: UP031
    with took(below=4):
        client = await at.get(
            server.connect(protocol=None, max_line_bytes=1000, env={"CASE_PROBE": probe})
        )
    assert client.protocol == "2025-11-25"
    await at.get(client.close())


FLOOD = """
import json, sys, time
from case_servers import Memory, Server, LEGACY
from pathlib import Path
import snodo_actors as snodo
import supervisors

script, log, backend, tool, arguments = sys.argv[1:6]
with supervisors.Node(backend=backend):
    server = Server(Path(script), Path(log))
    client = server.connect(timeout=50.0).get()
    client.call_tool("echo").get()
    memory, start = Memory(), time.monotonic()
    try:
        outcome = repr(client.call_tool(tool, json.loads(arguments)).get())[:100]
    except snodo.Error as error:
        outcome = [error.code, error.kind, str(error.cause)]
    seconds = time.monotonic() - start
    try:
        client.call_tool("echo").get()
        later = 0
    except snodo.Error as error:
        later = error.code
    client.close().get()
print(json.dumps({"outcome": outcome, "seconds": seconds, "peak": memory.peak(), "later": later}))
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_line_without_an_end_takes_bounded_memory(endless, backend):
    ran = program(FLOOD, endless.script, endless.log, backend, "bug", "{}")

    assert ran["outcome"][:2] == [-32000, "transport"]
    assert (ran["later"], ran["seconds"] < 20) == (-32000, True)
    assert ran["peak"] < 64, f"{ran['peak']:.0f} MiB with a limit of 16"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_line_just_under_the_limit_takes_bounded_memory(limits, backend):
    arguments = json.dumps({"n": 16 * MIB, "piece": 50_000})
    ran = program(FLOOD, limits.script, limits.log, backend, "exact", arguments)

    assert (ran["later"], ran["seconds"] < 20) == (0, True), ran
    assert ran["peak"] < 160, f"{ran['peak']:.0f} MiB with a line of 16"
