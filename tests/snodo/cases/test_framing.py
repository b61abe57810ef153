"""What comes out of stdout is cut into lines, and what is no message is passed over."""

from __future__ import annotations

import pytest
from case_servers import PLACES, across, echoes, everywhere, said, text_of, timed_out, took

CHARACTERS = "é—漢字—👩‍🚀" * 40
CLEF = "é\u2028—\u2029漢\x85字\x0b\U0001f469\u200d\U0001f680\x7f\ufeff\u0000"


@pytest.fixture
def noisy(server_of):
    return server_of("B-001")


@pytest.fixture
def windows(server_of):
    return server_of("B-003")


@pytest.fixture
def chopping(server_of):
    return server_of("B-005")


@pytest.fixture
def framing(server_of):
    return server_of("framing")


# ---- the cases


@pytest.mark.parametrize("at", [*PLACES], indirect=True)
@everywhere
async def test_noise_before_between_and_after_answers_is_passed_over(at, noisy):
    client = await at.get(noisy.connect())
    await echoes(at, client, n=1)
    assert text_of(await at.get(client.call_tool("bug", {"n": 2}))) == said(n=2)
    await echoes(at, client, n=3)
    await at.get(client.close())

    assert noisy.facts("bad_input") == []
    assert not any(fact["reply"] for fact in noisy.received())


@pytest.mark.parametrize("protocol", ["2025-11-25", "2025-06-18", "2026-07-28", None])
@everywhere
async def test_noise_does_not_matter_to_any_version(at, noisy, protocol):
    client = await at.get(noisy.connect(protocol=protocol))
    assert client.protocol == (protocol or "2026-07-28")
    await echoes(at, client)
    await at.get(client.call_tool("bug"))
    await at.get(client.close())

    assert not noisy.facts("bad_input")


@everywhere
async def test_lines_may_end_as_on_windows(at, windows):
    client = await at.get(windows.connect())
    await echoes(at, client)
    assert text_of(await at.get(client.call_tool("bug"))) == "one\r\ntwo\r"
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_a_byte_order_mark_may_begin_the_stream_of_any_version(at, windows):
    client = await at.get(windows.connect(protocol=None))
    assert client.protocol == "2026-07-28"
    assert text_of(await at.get(client.call_tool("bug"))) == "one\r\ntwo\r"
    await at.get(client.close())


@everywhere
async def test_how_the_server_cuts_its_writes_makes_no_difference(at, chopping):
    client = await at.get(chopping.connect())
    with took(below=5):
        assert text_of(await at.get(client.call_tool("bug"))) == CHARACTERS
    await echoes(at, client)
    held = [{"hold": True, "n": number} for number in range(3)]
    results = await at.all(*[client.call_tool("echo", arguments) for arguments in held])
    assert [said(**arguments) for arguments in held] == [text_of(result) for result in results]
    await at.get(client.close())


# ---- more of the kind


@pytest.mark.parametrize(
    "tool",
    [
        "returns_at_the_end",
        "return_and_newline_apart",
        "nul_lines",
        "every_line_marked",
        "one_and_a_half",
        "many_at_once",
        "blanks_around",
        "latin_noise",
        "deep_noise",
        "digits_noise",
        "long_noise",
        "terminal_noise",
        "json_noise",
    ],
)
@across
async def test_an_answer_is_found(at, framing, tool):
    client = await at.get(framing.connect())
    with took(below=4):
        assert text_of(await at.get(client.call_tool(tool, {"tool": tool}))) == said(tool=tool)
    await echoes(at, client)
    await at.get(client.close())

    assert not framing.facts("bad_input")
    assert not [fact for fact in framing.received() if "result" in fact or "error" in fact]


@across
async def test_characters_cut_in_the_middle_come_whole(at, framing):
    client = await at.get(framing.connect())
    assert text_of(await at.get(client.call_tool("characters_cut"))) == CLEF * 3
    await at.get(client.close())


@across
async def test_any_character_survives_the_way_there_and_back(at, framing):
    client = await at.get(framing.connect(env={"LANG": "C", "PYTHONUTF8": "0"}))
    await echoes(at, client, text=CLEF, **{CLEF: [CLEF]})
    await at.get(client.close())

    assert not framing.facts("bad_input")


@pytest.mark.parametrize(
    "tool",
    [
        "two_answers_with_a_return_between",
        "over_several_lines",
        "in_a_batch",
        "not_utf8",
        "lone_surrogate",
        "key_twice",
        "not_a_number",
        "something_after",
    ],
)
@across
async def test_what_is_no_message_answers_nothing_and_breaks_nothing(at, framing, tool):
    client = await at.get(framing.connect())
    call, other = client.call_tool(tool, timeout=0.5), client.call_tool("echo", {"n": 1})
    with took(below=3):
        timed_out(await at.error(call), 0.5)
    assert text_of(await at.get(other)) == said(n=1)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_answer_without_a_newline_waits_for_it(at, framing):
    client = await at.get(framing.connect())
    timed_out(await at.error(client.call_tool("no_newline_at_all", timeout=0.4)), 0.4)
    await at.get(client.close())
