"""The places a client may talk to a server from: a conftest imports what is here."""

from __future__ import annotations

import pytest
from case_servers import PLACES, Place


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
