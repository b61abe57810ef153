"""A peer of one test, and the two places its client is in: asyncio and trio, at the same time.

A peer takes most of a second to start, nearly all of it in its own process, so the second place
costs a test next to nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from case_servers import PATIENCE, PLACES, SLOW, Place, Server
from peers.install import Installed
from peers.kinds import EVERYTHING, Kind

import snodo_actors as snodo
from supervisors import receive, self_


class Peer(Server):
    """A server of others, which may be started several times."""

    def __init__(self, kind: Kind, version: str, at: Installed | None, folder: Path) -> None:
        super().__init__(Path(), folder / "facts")
        self.kind = kind
        self.words = kind.words
        self.version = version
        self._at = at
        self._folder = folder
        self.copies: list[Peer] = []

    @property
    def target(self) -> tuple[str, str, list[str]]:
        command, *arguments = map(str, self.kind.command(self._at))
        return ("stdio", command, arguments)

    @property
    def options(self) -> dict[str, Any]:
        """What every client of it has."""
        environment = {"CASE_LOG": str(self.log)}
        return {"protocol": self.version, "timeout": 30.0 * SLOW, "env": environment}

    def connect(self, **options: Any) -> Any:
        return snodo.connect(self.target, **{**self.options, **options})

    def copy(self, name: str) -> Peer:
        """The same with facts and processes of its own."""
        folder = self._folder / name
        folder.mkdir()
        self.copies.append(Peer(self.kind, self.version, self._at, folder))
        return self.copies[-1]


def both(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a plain test of a coroutine function of `at` and `peer`."""

    @functools.wraps(test)
    def run(*, peer: Peer, **fixtures: Any) -> None:
        def in_place(name: str) -> None:
            place, copy = PLACES[name](), peer.copy(name)
            place.run(lambda: test(at=place, peer=copy, **fixtures))

        with ThreadPoolExecutor(2) as pool:
            running = {name: pool.submit(in_place, name) for name in ("asyncio", "trio")}
        for name, one in running.items():
            error = one.exception()
            if error is not None:
                error.add_note(f"on {name}")
                raise error

    signature = inspect.signature(test)
    wanted = [one for one in signature.parameters.values() if one.name != "at"]
    run.__signature__ = signature.replace(parameters=wanted)  # type: ignore[attr-defined]
    return run


def said(result: Any) -> str:
    """All that a tool said."""
    assert isinstance(result, dict), f"no result: {result!r}"
    return "\n".join(block["text"] for block in result["content"])


async def answers(at: Place, peer: Peer, client: snodo.Client) -> None:
    """The connection works."""
    tool, arguments = peer.words.sum
    assert said(await at.get(client.call_tool(tool, arguments))) == peer.words.total


async def closes(at: Place, peer: Peer, client: snodo.Client) -> None:
    """Close while nothing runs: the peer ends at the end of its input, and nothing is left."""
    await at.get(client.close())
    assert not peer.processes()
    if peer.words is not EVERYTHING:  # it writes nothing down
        assert peer.facts("end"), "a signal ended it"


async def waits(at: Place, peer: Peer, client: snodo.Client, **options: Any) -> Any:
    """Call what goes on until it is cancelled; return the call when it has begun."""
    tool, arguments = peer.words.slow
    if peer.words is EVERYTHING:  # it writes nothing down, and tells of its progress
        call = client.call_tool(tool, arguments, progress=self_(), **options)
        await at.get(receive(is_progress, PATIENCE))
        return call
    before = len(peer.facts("begun"))
    call = client.call_tool(tool, arguments, **options)
    await at.until(lambda: len(peer.facts("begun")) > before)
    return call


def is_progress(message: Any) -> bool:
    """A message of a call whose progress goes to a mailbox."""
    return isinstance(message, tuple) and message[0] == "snodo_progress"
