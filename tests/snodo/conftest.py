"""The places a client may talk to a server from, and servers of which nothing may be left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from case_servers import TESTS, Server
from places import at, pytest_generate_tests  # noqa: F401  # pytest finds them here


@pytest.fixture
def server_of(tmp_path: Path) -> Iterator[Callable[[str], Server]]:
    """Makes the server of a case ("B-001") or one of ours ("framing")."""
    made: list[Server] = []

    def make(name: str) -> Server:
        script = TESTS / "cases" / name / "server.py"
        if not script.exists():
            script = TESTS / "cases_more" / f"{name}.py"
        server = Server(script, tmp_path / f"facts-{len(made)}")
        made.append(server)
        return server

    yield make
    try:
        deadline = time.monotonic() + 5.0
        while left := [pid for server in made for pid in server.processes()]:
            assert time.monotonic() < deadline, f"processes were left: {left}"
            time.sleep(0.02)
    finally:
        for server in made:
            server.kill_all()


@pytest.fixture
def exits(server_of: Callable[[str], Server]) -> Server:
    """A server that exits when it is told to."""
    return server_of("exits")


@pytest.fixture
def stays(server_of: Callable[[str], Server]) -> Server:
    """A server that stays when it is told to go."""
    return server_of("stays")
