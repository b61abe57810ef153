"""A supervised counter: it fails, its supervisor starts it anew, the name stays."""

from __future__ import annotations

import anyio

from supervisors import Caller, CallExit, GenServer, Node, Supervisor, call, when_down


class Counter(GenServer):
    """Counts up; anything but a number is its end."""

    def init(self, start: int) -> None:
        """Begin at *start*."""
        self.count = start

    def handle_call(self, request: int, caller: Caller) -> int:
        """Add the number and answer with the sum."""
        self.count += request
        return self.count


async def main() -> None:
    """Count, fail, and count again."""
    async with Node():
        await Supervisor.start_link([Counter.child_spec(10, name="counter")])
        print(await call("counter", 5))

        ended = when_down("counter")
        try:
            await call("counter", "five")
        except CallExit as exit:
            print(f"the counter is gone: {exit.reason}")
        await ended

        print(await call("counter", 1))


if __name__ == "__main__":
    anyio.run(main)
