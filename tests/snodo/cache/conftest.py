"""An empty store for each test, whose time the test sets."""

from __future__ import annotations

import pytest

from snodo_actors.actors import caching


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
