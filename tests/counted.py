"""An in-process server whose requests are counted, and whose answers a test may choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import snodo_actors as snodo
from snodo_actors.server import Server

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Counted:
    """A runtime of *server*; `asked` counts the requests that came, by method."""

    def __init__(self, server: Server) -> None:
        self._runtime = server.runtime()
        self.name = self._runtime.name
        self.versions = self._runtime.versions
        self.asked: Counter[str] = Counter()
        self.answers: dict[str, Answer] = {}
        """What is answered instead, by method: a function of the request makes the result."""

    def attach(self, *, auth: Any) -> Any:
        carriage = self._runtime.attach(auth=auth)

        def request(message: Any, **options: Any) -> Any:
            method = message["method"]
            self.asked[method] += 1
            if method in self.answers:
                result = self.answers[method](message)
                return {"jsonrpc": "2.0", "id": message["id"], "result": result}
            return carriage.request(message, **options)

        return replace(carriage, request=request)

    def client(self, **options: Any) -> snodo.Client:
        return snodo.direct(self, **{"cache": True, **options}).get(timeout=5)
