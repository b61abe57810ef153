"""Servers over HTTP, to which nothing may be connected after a test and nothing wrong be said."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from http_server import HttpServer

__all__ = ["serve", "server"]


@pytest.fixture
def serve() -> Iterator[Callable[..., HttpServer]]:
    """Makes servers that run until the test ends."""
    made: list[HttpServer] = []

    def make(**options: Any) -> HttpServer:
        server = HttpServer(**options)
        made.append(server)
        server.start()
        return server

    yield make
    deadline = time.monotonic() + 3.0
    try:
        while left := [one.number for server in made for one in server.open_connections()]:
            assert time.monotonic() < deadline, f"connections were left open: {left}"
            time.sleep(0.005)
    finally:
        for server in made:
            server.stop()
    for server in made:
        assert server.errors == [], "\n".join(server.errors)
        assert server.faults == []


@pytest.fixture
def server(serve: Callable[..., HttpServer]) -> HttpServer:
    """An ordinary server, without sessions."""
    return serve()
