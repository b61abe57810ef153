"""An actor that owns a stream: events are its messages, and when it ends, so does the stream."""

from __future__ import annotations

import sys
from typing import Any

import anyio

import snodo_actors as snodo
from supervisors import Caller, GenServer, Node, receive, send, stop

SERVER = ("stdio", sys.executable, ["-m", "snodo_actors.demo.server"])


class Watcher(GenServer):
    """Keeps the list of a server's tools up to date."""

    async def init(self, client: snodo.Client) -> None:
        """Open the stream; this actor owns it."""
        self.client = client
        self.changes = 0
        self.stream = await client.listen({"toolsListChanged": True})
        self.stream.demand(1)

    def handle_call(self, request: str, caller: Caller) -> int:
        """Tell how many changes there were."""
        return self.changes

    def handle_info(self, message: Any) -> None:
        """Take the next event, and ask for one more."""
        match message:
            case ("snodo_subscription", ref, ("notification", method, _)) if ref is self.stream.ref:
                self.changes += 1
                print(method)
                send(self.parent, "changed")
                self.stream.demand(1)
            case _:
                super().handle_info(message)


async def main() -> None:
    """Let the server change its tools while the watcher looks."""
    async with Node(), await snodo.connect(SERVER) as client:
        watcher = await Watcher.start_link(client)
        await client.call_tool("change_tools")
        await receive("changed".__eq__, timeout=10)
        print("changes:", await watcher.call("changes"))
        await stop(watcher)


if __name__ == "__main__":
    anyio.run(main)
