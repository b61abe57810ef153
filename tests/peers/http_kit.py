"""A peer over HTTP: its process, how it is connected to, and what it wrote down."""

from __future__ import annotations

import functools
import inspect
import os
import signal
import subprocess
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from case_servers import PATIENCE, PLACES, SLOW, Place, Server
from peers.http_kinds import HttpKind
from peers.install import Installed
from peers.kinds import EVERYTHING
from peers.kit import is_progress

import snodo_actors as snodo
from supervisors import receive, self_

FIXTURES = {"web", "fresh", "secure"}
MARK = "x-test"
"""The header that tells the requests of one test from those of another."""


class Running:
    """The process of a peer, which may be killed and started again at the same port."""

    def __init__(self, kind: HttpKind, at: Installed | None, log: Path, **env: str) -> None:
        self.kind = kind
        self.log = log
        self._command = [str(part) for part in kind.command(at)]
        self._env = {**os.environ, "CASE_LOG": str(log), "PORT": "0", **env}
        self.is_secure = "TLS_CERT" in env
        self._port = 0
        self._asking = threading.Lock()
        self.start()

    def start(self) -> None:
        """Start it; nothing is waited for."""
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**self._env, "PORT": str(self._port)},
            text=True,
        )
        self._listens = False

    @property
    def port(self) -> int:
        """Where it listens; waited for."""
        with self._asking:  # tests in two threads may want to know
            if not self._listens:
                assert self._process.stdout is not None
                words = self._process.stdout.readline().split()
                assert words[:1] == ["PORT"], f"{self._command} does not start"
                self._port = int(words[1])
                self._listens = True
            return self._port

    def kill(self) -> None:
        """End it as the system does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def start_again(self) -> None:
        """Start it at the port it had; until it listens."""
        self.start()
        assert self.port

    def restart(self) -> None:
        """Kill it, and start it at the port it had."""
        self.kill()
        self.start_again()

    def ask_to_stop(self) -> None:
        """End its stdin; nothing is waited for."""
        if self._process.stdin is not None:
            self._process.stdin.close()
            self._process.stdin = None

    def stop(self) -> None:
        """End it by the end of its stdin: it has to come by itself."""
        self.ask_to_stop()
        try:
            self._process.communicate(timeout=PATIENCE)
        finally:
            self._process.kill()
            self._process.communicate()


class HttpPeer(Server):
    """A server that runs, as one test in one place sees it."""

    def __init__(self, version: str, running: Running, tag: str) -> None:
        super().__init__(Path(), running.log)
        self.kind = running.kind
        self.words = running.kind.words
        self.version = version
        self.running = running
        self.tag = tag
        self.host = "127.0.0.1"

    @property
    def url(self) -> str:
        scheme = "https" if self.running.is_secure else "http"
        return f"{scheme}://{self.host}:{self.running.port}/mcp"

    @property
    def target(self) -> Any:
        return ("http", self.url)

    @property
    def options(self) -> dict[str, Any]:
        """What every client of it has."""
        mark = {MARK: self.tag}
        return {"protocol": self.version, "timeout": 30.0 * SLOW, "headers": mark, "proxy": None}

    def connect(self, **options: Any) -> Any:
        return snodo.connect(self.target, **{**self.options, **options})

    def answered(self, method: str) -> list[dict[str, Any]]:
        """The requests of this test with an HTTP method that were answered, in order."""
        found = self.facts("answer", method=method)
        return [fact for fact in found if fact["headers"].get(MARK) == self.tag]


def both(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a plain test of a coroutine function of `at` and a peer, on both loops at once.

    `web` is a server that other tests use, too; `fresh` is one of its own, and so is `secure`.
    """
    signature = inspect.signature(test)
    (fixture,) = FIXTURES & set(signature.parameters)

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        make = fixtures.pop(fixture)
        peers = {name: make(name) for name in ("asyncio", "trio")}

        def in_place(name: str) -> None:
            place = PLACES[name]()
            place.run(lambda: test(at=place, **{fixture: peers[name]}, **fixtures))

        with ThreadPoolExecutor(2) as pool:
            running = {name: pool.submit(in_place, name) for name in peers}
        for name, one in running.items():
            error = one.exception()
            if error is not None:
                error.add_note(f"on {name}")
                raise error

    wanted = [one for one in signature.parameters.values() if one.name != "at"]
    run.__signature__ = signature.replace(parameters=wanted)  # type: ignore[attr-defined]
    return run


async def waits(at: Place, peer: HttpPeer, client: snodo.Client, **options: Any) -> Any:
    """Call what goes on until it is cancelled; return the call when it has begun."""
    tool, arguments = peer.words.slow
    if peer.words is EVERYTHING:  # it writes nothing down, and tells of its progress
        call = client.call_tool(tool, arguments, progress=self_(), **options)
        await at.get(receive(is_progress, PATIENCE))
        return call
    before = len(peer.facts("begun", tag=peer.tag))
    call = client.call_tool(tool, {**arguments, "tag": peer.tag}, **options)
    await at.until(lambda: len(peer.facts("begun", tag=peer.tag)) > before)
    return call


async def closes(at: Place, peer: HttpPeer, client: snodo.Client) -> None:
    """Close while nothing runs: a session is ended, and was named in all that belonged to it."""
    session = client.session
    await at.get(client.close())
    ended, requests = peer.answered("DELETE"), peer.answered("POST")
    named = [one["headers"].get("mcp-session-id") for one in requests]
    if session is None or session.id is None:
        assert (ended, set(named)) == ([], {None})
        return
    [end] = ended
    assert end["headers"]["mcp-session-id"] == session.id
    assert end["headers"]["mcp-protocol-version"] == session.version
    assert end["status"] in (200, 204)
    begun = named.index(session.id)
    assert set(named[begun:]) == {session.id}
