"""Fixtures for all tests: fresh nodes on each backend, and a look at what a test left running."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import AsyncIterator, Iterator
from typing import Any

import leaks
import pytest

import supervisors
from supervisors.runtime.here import get_here

ASYNCIO = pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio")
TRIO = pytest.param(("trio", {}), id="trio")
UVLOOP = pytest.param(
    ("asyncio", {"use_uvloop": True}),
    id="uvloop",
    marks=pytest.mark.skipif(not importlib.util.find_spec("uvloop"), reason="needs uvloop"),
)

FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="module", params=[ASYNCIO, UVLOOP, TRIO])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    """The loop an async test runs in. Every async test runs on each."""
    return request.param


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    """The backend of a node on a thread of its own."""
    return request.param


@pytest.fixture
def node(backend: str) -> Iterator[Any]:
    """A fresh node on a thread of its own, once on asyncio and once on trio."""
    with supervisors.Node(backend=backend) as node:
        yield node


@pytest.fixture
async def inner_node(anyio_backend: Any) -> AsyncIterator[Any]:
    """A fresh node inside the loop of an async test."""
    async with supervisors.Node() as node:
        yield node


@pytest.fixture(scope="session", autouse=True)
def _warm() -> Iterator[None]:
    """Do what is done once in a Python process before the first test is looked at.

    The default node is one of these: it starts here, once, and is stopped at the end.
    """
    import hypothesis  # noqa: F401  # asks the collector about trio, which the freeze would hide

    if importlib.util.find_spec("uvloop"):
        import uvloop

        uvloop.new_event_loop().close()  # opens a pipe for signals, for good
    from snodo_actors.ports.guard import guard

    guard.start()  # a process that ends with this one
    node = supervisors.default_node()
    yield
    node.stop(10.0)


@pytest.fixture(scope="module", autouse=True)
def _quiet(_warm: None) -> None:
    """Take all there is out of the collector's sight, so that a look for leaks is quick."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _empty_mailbox(_quiet: None) -> Iterator[None]:
    """Leave no mail of one test to the next: the thread that runs them is one process for all."""
    yield
    own = get_here().own
    if own is not None:
        own.normal.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(autouse=True)
def _nothing_left(request: pytest.FixtureRequest, _quiet: None) -> Iterator[None]:
    """Fail a test after which a thread, descriptor, child, task, node or process still is there.

    A test that failed has said what is wrong; what it left is not told.
    `@pytest.mark.leaks("why")` turns it off.
    """
    marker = request.node.get_closest_marker("leaks")
    if marker is not None:
        assert marker.args or marker.kwargs.get("reason"), "the mark `leaks` needs a reason"
        yield
        return
    before = leaks.running()
    yield
    if request.node.stash.get(FAILED, False):
        return
    left = leaks.left_since(before)
    if left:
        pytest.fail("still running after the test:\n  " + "\n  ".join(left), pytrace=False)
