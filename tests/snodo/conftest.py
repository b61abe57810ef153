"""The places a client may talk to a server from, and servers of which nothing may be left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from case_servers import PLACES, TESTS, Place, Server


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let a test run in its places, if its marks do not say where."""
    places = getattr(metafunc.function, "places", None)
    marks = metafunc.definition.iter_markers("parametrize")
    if places is not None and not any(mark.args[0] == "at" for mark in marks):
        metafunc.parametrize("at", places, indirect=True)


@pytest.fixture
def at(request: pytest.FixtureRequest) -> Place:
    """Where the client is; see `case_servers`."""
    return PLACES[request.param]()


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
