"""A test's side of the servers: start one, turn its knobs, read what it saw."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
from case_servers import PATIENCE

from snodo_actors import oauth

HERE = Path(__file__).parent
HOST = "127.0.0.1"
CALLBACK = "http://127.0.0.1:49152/callback"
"""A redirect URI at which nothing listens: whoever visits reads the answer from the redirect."""


class Program:
    """One program of servers; it runs from when it is made until `stop()`."""

    def __init__(self, script: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._port = 0

    @property
    def port(self) -> int:
        """Where it listens; waited for."""
        if not self._port:
            assert self._process.stdout is not None
            words = self._process.stdout.readline().split()
            assert words[:1] == ["PORT"], "it does not start"
            self._port = int(words[1])
        return self._port

    def new(self, knobs: dict[str, Any]) -> int:
        """Start a server; return its port."""
        return ask(self.port, "/__new", knobs)["port"]

    def end(self, port: int) -> None:
        """End a server."""
        ask(self.port, f"/__end/{port}", {})

    def stop(self) -> None:
        """End the program by the end of its stdin: it has to come by itself."""
        try:
            self._process.communicate("", timeout=PATIENCE)
        finally:
            self._process.kill()
            self._process.communicate()


def ask(port: int, path: str, body: Any = None) -> Any:
    """Ask a server for what only tests may ask for: GET, or POST with a body."""
    connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)
    try:
        if body is None:
            connection.request("GET", path)
        else:
            text = json.dumps(body)
            connection.request("POST", path, text, {"content-type": "application/json"})
        answer = connection.getresponse()
        read = answer.read()
        assert answer.status == 200, f"{path}: {answer.status} {read[:2000]!r}"
        return json.loads(read)
    finally:
        connection.close()


class Fact(dict[str, Any]):
    """One request that a server saw."""

    def form(self, name: str) -> str | None:
        """A field of its form; fails if it is there twice."""
        return self._only("form", name)

    def query(self, name: str) -> str | None:
        """A parameter of its URL; fails if it is there twice."""
        return self._only("query", name)

    def header(self, name: str) -> str | None:
        return self["headers"].get(name)

    @property
    def scopes(self) -> set[str]:
        """The scopes it asks for, in the URL or the form."""
        said = self.query("scope") if self["query"] else self.form("scope")
        return set((said or "").split())

    def _only(self, part: str, name: str) -> str | None:
        found = [value for key, value in self[part] if key == name]
        assert len(found) < 2, f"{name} was sent {len(found)} times"
        return found[0] if found else None


class _Server:
    def __init__(self, program: Program, knobs: dict[str, Any]) -> None:
        self._program = program
        self.port = program.new(knobs)
        self.origin = f"http://{HOST}:{self.port}"

    def turn(self, **knobs: Any) -> None:
        """Change knobs."""
        ask(self.port, "/__knobs", knobs)

    def end(self) -> None:
        """End it."""
        self._program.end(self.port)

    def _facts(self) -> list[Fact]:
        return [Fact(fact) for fact in ask(self.port, "/__facts")]


class Authority(_Server):
    """An authorization server. Its knobs are in `authority_books`."""

    def __init__(self, program: Program, **knobs: Any) -> None:
        super().__init__(program, knobs)
        self.issuer = self.origin + knobs.get("issuer_path", "")

    def facts(self, endpoint: str | None = None, **fields: Any) -> list[Fact]:
        """What it saw, in order: "metadata", "authorize", "token", "register", "nothing"...

        With fields of the form or the query, only what has them.
        """
        return [
            fact
            for fact in self._facts()
            if fact["endpoint"] != "introspect"
            and (endpoint is None or fact["endpoint"].partition(" ")[0] == endpoint)
            and all(
                [name, value] in [*fact["query"], *fact["form"]] for name, value in fields.items()
            )
        ]

    def refreshes(self) -> list[Fact]:
        """The requests for a token for a refresh token."""
        return self.facts("token", grant_type="refresh_token")

    def paths(self) -> list[str]:
        """The paths of all it was asked, in order."""
        return [fact["path"] for fact in self.facts()]

    def tokens(self) -> list[dict[str, Any]]:
        """The tokens it gave, in order."""
        return [one["answer"] for one in self.facts("token") if one["status"] == 200]

    def revoke(self, what: str = "access") -> None:
        """Let no access token be good any more; with "all", no refresh token either."""
        ask(self.port, f"/__revoke/{what}", {})

    def forget(self) -> None:
        """Let no client be registered any more."""
        ask(self.port, "/__forget", {})

    def id_token(self, client_id: str) -> str:
        """What a single sign-on gave a client."""
        return ask(self.port, f"/__id_token/{client_id}", {})

    def jwks(self) -> dict[str, Any]:
        """Its public keys."""
        return ask(self.port, "/jwks")


class Resource(_Server):
    """A protected MCP server. Its knobs are in `resource_gate`."""

    def __init__(self, program: Program, **knobs: Any) -> None:
        super().__init__(program, knobs)
        self.url = f"{self.origin}/mcp"
        self.target = ("http", self.url)

    def facts(self, **fields: Any) -> list[Fact]:
        """The requests for /mcp, in order."""
        return [
            fact
            for fact in self._facts()
            if fact["place"] is None and all(fact[name] == value for name, value in fields.items())
        ]

    def metadata_facts(self) -> list[Fact]:
        """The requests for anything else: the metadata, wherever they were looked for."""
        return [fact for fact in self._facts() if fact["place"] is not None]

    def places(self) -> list[str]:
        """The paths at which the metadata were looked for, in order."""
        return [fact["path"] for fact in self.metadata_facts()]

    def tokens(self) -> list[str | None]:
        """The token of each request for /mcp."""
        return [fact["token"] for fact in self.facts()]


class User:
    """Who sits in front of the browser: goes to the URL, and is sent back at once."""

    def __init__(
        self, redirect_uri: str = CALLBACK, bend: Callable[[str], str] = lambda back: back
    ) -> None:
        self.redirect_uri = redirect_uri
        self.bend = bend
        self.visits: list[str] = []

    async def visit(self, url: str) -> str:
        """Return where the authorization server redirects to."""
        self.visits.append(url)
        status, location, body = await anyio.to_thread.run_sync(redirected, url)
        assert status in (302, 303), f"{status} {body}"
        return self.bend(location)

    @property
    def agent(self) -> Any:
        """What a provider takes for its user agent."""
        return oauth.FixedRedirect(self.redirect_uri, self.visit)

    def asked(self, visit: int = -1) -> dict[str, str]:
        """The parameters of the URL of a visit."""
        query = urlsplit(self.visits[visit]).query
        return {name: value for name, [value] in parse_qs(query).items()}


def redirected(url: str) -> tuple[int, str, str]:
    """The status, location and body that come of a URL. By hand: httpx writes to the log."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=PATIENCE)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        answer = connection.getresponse()
        return answer.status, answer.headers.get("location", ""), answer.read().decode()
    finally:
        connection.close()
