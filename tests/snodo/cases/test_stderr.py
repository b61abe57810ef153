"""stderr is always read, whatever comes and however much; its end is kept to explain an exit."""

from __future__ import annotations

import logging

import pytest
from case_servers import across, echoes, everywhere, lost, program, said, text_of, took


@pytest.fixture
def spamming(server_of):
    return server_of("B-012")


@pytest.fixture
def stderrs(server_of):
    return server_of("stderrs")


# ---- the case


@pytest.mark.parametrize("protocol", ["2025-11-25", None])
@everywhere
async def test_a_flood_on_stderr_holds_nothing_up(at, spamming, protocol):
    with took(below=6):
        client = await at.get(spamming.connect(protocol=protocol, timeout=20.0))
    with took(below=8):
        assert text_of(await at.get(client.call_tool("bug", {"n": 1}))) == said(n=1)
    with took(below=1.5):
        await at.get(client.close())


FLOOD = """
import json, sys
from case_servers import Memory, Server
from pathlib import Path
import supervisors

script, log, backend, tool, arguments = sys.argv[1:6]
with supervisors.Node(backend=backend):
    client = Server(Path(script), Path(log)).connect(timeout=50.0).get()
    client.call_tool("echo").get()
    memory = Memory()
    client.call_tool(tool, json.loads(arguments)).get()
    client.call_tool("echo").get()
    client.close().get()
print(json.dumps({"peak": memory.peak(), "now": memory.now()}))
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_flood_on_stderr_takes_no_memory(spamming, backend):
    ran = program(FLOOD, spamming.script, spamming.log, backend, "bug", "{}")

    assert ran["now"] < 4, ran
    assert ran["peak"] < 6, ran


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_hundred_thousand_lines_take_no_memory(stderrs, backend):
    ran = program(FLOOD, stderrs.script, stderrs.log, backend, "lines", '{"n": 100000}')

    assert ran["peak"] < 6, ran


# ---- more of the kind


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("lines", {"n": 50_000}),
        ("without_newline", {"total": 5 << 20}),
        ("bytes_of_any_kind", {}),
        ("for_ever", {"unit": "x" * 5000}),
        ("for_ever", {"unit": "a line\n", "pause": 0.001}),
        ("for_ever", {"unit": "\n" * 100}),
    ],
    ids=["lines", "no newline", "any bytes", "for ever", "dripping", "blank lines"],
)
@across
async def test_whatever_comes_calls_are_answered(at, stderrs, tool, arguments):
    client = await at.get(stderrs.connect(timeout=20.0))
    with took(below=6):
        assert text_of(await at.get(client.call_tool(tool, arguments))) == said(**arguments)
        for _ in range(5):
            await echoes(at, client)
    with took(below=3):
        await at.get(client.close())


@pytest.mark.parametrize("mode", ["spam first", "spam at the end"])
@across
async def test_a_flood_at_the_beginning_or_the_end(at, stderrs, mode):
    client = await at.get(stderrs.connect(env={"CASE_MODE": mode}))
    await echoes(at, client)
    with took(below=4):
        await at.get(client.close())
    if mode == "spam at the end":
        assert stderrs.facts("said_goodbye"), "it was cut off, or stuck in a write"


@across
async def test_the_end_of_much_is_what_is_told(at, stderrs):
    client = await at.get(stderrs.connect())
    await at.get(client.call_tool("lines", {"n": 5000}))
    error = await at.error(client.call_tool("last_words", {"words": "fatal: no disk\n"}))
    lost(error, ("exit_status", 1))
    assert "line 4999\nfatal: no disk" in str(error)
    assert "line 1000\n" not in str(error)
    assert len(str(error)) < 20_000
    await at.get(client.close())


@pytest.mark.parametrize(
    "words", ["no newline at the end", "x" * 3_000_000, "\n\n\n", "é\x00\x1b[31m漢", ""]
)
@across
async def test_any_last_words_do(at, stderrs, words):
    client = await at.get(stderrs.connect())
    with took(below=3):
        error = await at.error(client.call_tool("last_words", {"words": words}))
    lost(error, ("exit_status", 1))
    assert len(str(error)) < 20_000
    if len(words) < 100:
        assert words.strip()[:1] in str(error)
    await at.get(client.close())


@across
async def test_last_words_are_told_though_a_child_keeps_stderr_open(at, stderrs):
    client = await at.get(stderrs.connect())
    try:
        with took(below=2):
            error = await at.error(client.call_tool("words_and_a_child_with_stderr"))
        lost(error, ("exit_status", 7))
        assert "fatal: gone" in str(error)
        with took(below=1.5):
            await at.get(client.close())
    finally:
        stderrs.kill_all()


@across
async def test_each_line_is_logged(at, stderrs, caplog):
    with caplog.at_level(logging.INFO, logger="snodo_actors.stderr"):
        client = await at.get(stderrs.connect())
        await at.get(client.call_tool("lines", {"n": 3}))
        logged = "snodo_actors.stderr"
        await at.until(
            lambda: [r for r in caplog.records if r.name == logged and "line 2" in r.message]
        )
        await at.get(client.close())


@across
async def test_a_function_may_have_the_lines(at, stderrs):
    lines = []
    client = await at.get(stderrs.connect(stderr=lines.append))
    await at.get(client.call_tool("lines", {"n": 3}))
    await at.until(lambda: lines == ["line 0", "line 1", "line 2"])
    await at.get(client.close())


@across
async def test_a_function_that_raises_breaks_nothing(at, stderrs):
    client = await at.get(stderrs.connect(stderr=lambda line: 1 / 0))
    await at.get(client.call_tool("lines", {"n": 3}))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_the_lines_may_be_thrown_away(at, stderrs, caplog):
    with caplog.at_level(logging.INFO, logger="snodo_actors.stderr"):
        client = await at.get(stderrs.connect(stderr="discard"))
        await at.get(client.call_tool("lines", {"n": 3}))
        error = await at.error(client.call_tool("last_words", {"words": "fatal: gone\n"}))
        await at.get(client.close())
    lost(error, ("exit_status", 1))
    assert "fatal: gone" not in str(error)
    assert not [record for record in caplog.records if record.name == "snodo_actors.stderr"]


INHERIT = """
import json, sys
from case_servers import Server
from pathlib import Path

client = Server(Path(sys.argv[1]), Path(sys.argv[2])).connect(stderr="inherit").get()
client.call_tool("lines", {"n": 3}).get()
client.close().get()
print(json.dumps("done"))
"""


def test_the_lines_may_go_where_ours_go(stderrs, tmp_path):
    with (tmp_path / "stderr").open("w") as file:
        import subprocess
        import sys

        from case_servers import TESTS

        ran = subprocess.run(
            [sys.executable, "-c", INHERIT, str(stderrs.script), str(stderrs.log)],
            stderr=file,
            stdout=subprocess.PIPE,
            cwd=TESTS,
            timeout=30,
            check=False,
        )
    assert ran.returncode == 0
    assert (tmp_path / "stderr").read_text() == "line 0\nline 1\nline 2\n"
