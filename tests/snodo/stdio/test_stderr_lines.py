"""The lines of a server's stderr: kept, logged, or handed to a function until that fails."""

from __future__ import annotations

import logging

import pytest
from case_servers import across, lost

from snodo_actors.ports.stderr import Stderr


@pytest.fixture
def stderrs(server_of):
    return server_of("stderrs")


def records(caplog):
    return [r.getMessage() for r in caplog.records if r.name == "snodo_actors.stderr"]


def test_lines_are_logged_and_the_last_are_kept(caplog) -> None:
    caplog.set_level(logging.INFO, logger="snodo_actors.stderr")
    stderr = Stderr("me", "capture")
    for data in (b"one\ntw", b"o\nthr", b"ee", b""):
        stderr.received(data)
    assert records(caplog) == ["me: one", "me: two", "me: three"]
    assert stderr.last_lines() == "one\ntwo\nthree"


def test_a_function_has_each_line_and_they_are_not_logged(caplog) -> None:
    caplog.set_level(logging.INFO, logger="snodo_actors.stderr")
    lines: list[str] = []
    stderr = Stderr("me", lines.append)
    stderr.received(b"one\ntwo\nend")
    stderr.received(b"")
    assert lines == ["one", "two", "end"]
    assert stderr.last_lines() == "one\ntwo\nend"
    assert records(caplog) == []


def test_a_function_that_raises_is_logged_once_and_called_no_more(caplog) -> None:
    lines: list[str] = []

    def function(line: str) -> None:
        lines.append(line)
        raise KeyError(line)

    stderr = Stderr("me", function)
    stderr.received(b"one\ntwo\n")
    stderr.received(b"three\n")
    assert lines == ["one"]
    assert [r.exc_info[0] for r in caplog.records if r.exc_info] == [KeyError]
    assert "me" in caplog.records[0].getMessage()
    assert stderr.last_lines() == "one\ntwo\nthree"


@across
async def test_last_words_are_in_the_error_though_a_function_has_the_lines(at, stderrs):
    lines: list[str] = []
    client = await at.get(stderrs.connect(stderr=lines.append))
    error = await at.error(client.call_tool("last_words", {"words": "so long\n", "status": 3}))
    lost(error, ("exit_status", 3))
    assert "so long" in str(error)
    assert lines == ["so long"]
    await at.get(client.close())


@pytest.mark.parametrize("stderr", ["discard", "inherit"])
@across
async def test_nothing_is_kept_of_what_does_not_come(at, stderrs, stderr):
    client = await at.get(stderrs.connect(stderr=stderr))
    error = await at.error(client.call_tool("last_words", {"words": "so long\n", "status": 3}))
    lost(error, ("exit_status", 3))
    assert "so long" not in str(error)
    await at.get(client.close())
