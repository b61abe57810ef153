"""Installs the peers once, and gives each test the one it wants, of which nothing may be left."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest
from peers.http_kinds import HttpKind
from peers.http_kit import HttpPeer, Running
from peers.install import LIMIT, Installed, Offline, installed
from peers.kinds import EACH_ERA, PYTHON_TWO, Kind, named
from peers.kit import Peer

HERE = Path(__file__).parent


def kinds_of(item: pytest.Item, *fixtures: str) -> list[Kind]:
    """The servers that a test wants of a fixture, or of any."""
    callspec = getattr(item, "callspec", None)
    params = {} if callspec is None else callspec.params
    return [
        params[name][0] for name in fixtures or ("peer", "web", "fresh", "secure") if name in params
    ]


def is_brought(kind: Kind) -> bool:
    """Whether it has to be installed."""
    return kind.is_brought if isinstance(kind, HttpKind) else kind is not PYTHON_TWO


@pytest.hookimpl(trylast=True)  # when it is known which tests are run
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the first test that needs the install take the time of it, too."""
    for item in items:
        if item.path.is_relative_to(HERE) and any(map(is_brought, kinds_of(item))):
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


@pytest.fixture(scope="session")
def started(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Running]]:
    """The servers over HTTP that tests share, started at once: each takes a second of its own."""
    items = request.session.items
    kinds = {kind.name: kind for item in items for kind in kinds_of(item, "web")}
    at = None
    if any(map(is_brought, kinds.values())):
        with contextlib.suppress(pytest.skip.Exception):  # the tests that need it are skipped
            at = request.getfixturevalue("peers_at")
    folder = tmp_path_factory.mktemp("http")
    running = {
        name: Running(kind, at, folder / f"{name}.facts")
        for name, kind in kinds.items()
        if at is not None or not is_brought(kind)
    }
    yield running
    stop(running.values())


@pytest.fixture
def web(request: pytest.FixtureRequest, started: dict[str, Running]) -> Callable[[str], HttpPeer]:
    """A server over HTTP that other tests use, too: what it is in a place of this one."""
    kind, version = request.param
    if kind.name not in started:
        request.getfixturevalue("peers_at")
    return lambda place: HttpPeer(
        version, started[kind.name], tag=f"{request.node.name} on {place}"
    )


@pytest.fixture
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], HttpPeer]]:
    """A server over HTTP for each place of a test, which may do with it as it likes."""
    kind, version = request.param
    at = request.getfixturevalue("peers_at") if is_brought(kind) else None
    running: list[Running] = []

    def start(place: str) -> HttpPeer:
        running.append(Running(kind, at, tmp_path / f"{place}.facts"))
        return HttpPeer(version, running[-1], tag=place)

    yield start
    stop(running)


def stop(running: Collection[Running]) -> None:
    """End them all, also if one of them does not end as it should."""
    for one in running:
        one.ask_to_stop()
    with contextlib.ExitStack() as stack:
        for one in running:
            stack.callback(one.stop)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with each peer in the newest version of each era, if its marks do not say."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "peer" in metafunc.fixturenames and not any("peer" in mark.args[0] for mark in marks):
        metafunc.parametrize("peer", EACH_ERA, ids=named, indirect=True)
