"""The servers of the HTTP cases, each in a process of its own."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import snodo_actors as snodo
from supervisors import Future

CASES = Path(__file__).parent / "cases"
LEGACY = "2025-11-25"


class CaseServer:
    """The server of a case, from the beginning of its `with` block to the end."""

    def __init__(self, case: str, **env: str) -> None:
        self.script = CASES / case / "server.py"
        self.env = env
        self.port = 0

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, str(self.script)],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=os.environ | self.env,
            text=True,
        )
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        assert line.startswith("PORT "), f"{self.script} does not start"
        self.port = int(line.split()[1])
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.communicate()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def connect(self, **options: Any) -> Future[snodo.Client]:
        """Connect as the cases do: to one version, each call with 5 s."""
        options = {"protocol": LEGACY, "timeout": 5.0, **options}
        if options["protocol"] is None:
            del options["protocol"]
        return snodo.connect(("http", self.url), **options)

    def facts(self, kind: str | None = None, **fields: Any) -> list[dict[str, Any]]:
        """The facts so far, in order."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/__facts", headers={"Connection": "close"})
            facts = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        return [
            fact
            for fact in facts
            if kind in (None, fact["fact"])
            and all(fact.get(name) == value for name, value in fields.items())
        ]

    def requests(self, **fields: Any) -> list[dict[str, Any]]:
        """The requests that came, with these fields."""
        return self.facts("req", **fields)
