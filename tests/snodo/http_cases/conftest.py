"""Servers over HTTP: ordinary ones, and those of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from http_case_server import CaseServer
from http_fixtures import serve, server

__all__ = ["serve", "server"]


@pytest.fixture
def case() -> Iterator[Callable[..., CaseServer]]:
    """Starts the server of a case, which runs until the test ends."""
    with ExitStack() as stack:
        yield lambda name, **env: stack.enter_context(CaseServer(name, **env))
