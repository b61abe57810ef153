"""Runs the server, and starts it anew at its old port whenever the dice say so."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

SERVER = str(Path(__file__).with_name("server.py"))


class Landlord:
    """Keeps a server at one port."""

    def __init__(self, log: Path, seed: int, chaos: float) -> None:
        self.chaos = chaos
        self.port = 0
        self.starts = 0
        self._log = log
        self._dice = random.Random(seed)
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it; it listens when this returns."""
        self.starts += 1
        arguments = [str(self.port), str(self._log), str(self._dice.random())[2:], str(self.chaos)]
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            SERVER,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self.port = int(await self._process.stdout.readline())

    async def stop(self) -> None:
        """Kill it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await process.communicate()

    async def restart_for(self, seconds: float) -> None:
        """Kill it and start it anew, again and again."""
        until = asyncio.get_running_loop().time() + seconds
        while (left := until - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(min(left, self._dice.uniform(3.0, 12.0)))
            await self.stop()
            await asyncio.sleep(self._dice.choice([0.0, 0.05, 0.5]))
            await self.start()
