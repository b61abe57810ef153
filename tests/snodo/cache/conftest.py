"""An empty store for each test, whose time the test sets; and the servers of the cases."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from snodo_actors.actors import caching

_CASES = Path(__file__).parents[1] / "cases" / "conftest.py"
_spec = importlib.util.spec_from_file_location("fixtures_of_the_cases", _CASES)
assert _spec is not None
assert _spec.loader is not None
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)

at = _fixtures.at
server_of = _fixtures.server_of
pytest_generate_tests = _fixtures.pytest_generate_tests


class Clock:
    """A time that stands until the test moves it; seconds."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> caching.Store:
    """The store of the program, for the time of this test."""
    store = caching.Store(clock)
    monkeypatch.setattr(caching, "STORE", store)
    return store
