"""Installs the peers once, and gives each test the one it wants, of which nothing may be left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from peers.install import LIMIT, Installed, Offline, installed
from peers.kinds import EACH_ERA, PYTHON_TWO, named
from peers.kit import Peer

HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)  # when it is known which tests are run
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the first test that needs the install take the time of it, too."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if item.path.is_relative_to(HERE) and callspec is not None:
            kind, _ = callspec.params["peer"]
            if kind is not PYTHON_TWO:
                item.add_marker(pytest.mark.timeout(2 * LIMIT))
                return


@pytest.fixture(scope="session")
def peers_at(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Where the peers are: in pytest's cache, which is kept from run to run."""
    cache = pytestconfig.cache
    folder = tmp_path_factory.mktemp("peers") if cache is None else cache.mkdir("peers")
    try:
        return installed(folder)
    except Offline as error:
        pytest.skip(f"the peers are installed once, and there is no network now: {error}")


@pytest.fixture
def peer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Peer]:
    """A server of a kind, which speaks a version: the parameter is these two."""
    kind, version = request.param
    at = None if kind is PYTHON_TWO else request.getfixturevalue("peers_at")
    peer = Peer(kind, version, at, tmp_path)
    yield peer
    try:
        deadline = time.monotonic() + 5.0
        while left := [pid for copy in peer.copies for pid in copy.processes()]:
            assert time.monotonic() < deadline, f"processes were left: {left}"
            time.sleep(0.02)
    finally:
        for copy in peer.copies:
            copy.kill_all()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with each peer in the newest version of each era, if its marks do not say."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "peer" in metafunc.fixturenames and not any("peer" in mark.args[0] for mark in marks):
        metafunc.parametrize("peer", EACH_ERA, ids=named, indirect=True)
