"""Calls and listens through a server that drops, delays, truncates, duplicates and restarts.

    python benchmarks/chaos.py                        5 minutes
    python benchmarks/chaos.py --minutes 1 --seed 7   shorter, with other dice

Every call has to end in time, and has to know whether the server had it, by the server's own log:
`never_sent` is in no log, what is answered is. No call may be there twice. When it is over, a quiet
server must be heard by all; nothing may be left in the pool or of the process. Exits with 1 else.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import logging
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(sys.path.pop(0))  # last: `http` beside this file is not Python's

from chaos_parts.callers import Callers
from chaos_parts.landlord import Landlord
from chaos_parts.listeners import Listeners
from soak_parts.ledger import Ledger
from soak_parts.leftovers import left_since, running

import snodo_actors as snodo
from supervisors import Node, get_state

CALLERS, STREAMS, CONNECTIONS = 64, 200, 16
CHAOS = 0.2
"""The share of calls that something happens to."""


async def chaos(ledger: Ledger, folder: Path, minutes: float, seed: int) -> None:
    """One run: trouble, quiet, the end, and what the log says of it."""
    log = folder / "log"
    landlord = Landlord(log, seed, CHAOS)
    await landlord.start()
    url = f"http://127.0.0.1:{landlord.port}/mcp"
    async with Node("chaos"):
        client = await snodo.connect(("http", url), pool_size=CONNECTIONS)
        callers = Callers(client, ledger, seed + 1)
        listeners = Listeners(client, ledger, seed + 2)
        tasks = [asyncio.create_task(callers.caller()) for _ in range(CALLERS)]
        tasks += [asyncio.create_task(listeners.listener(i)) for i in range(STREAMS)]
        await landlord.restart_for(minutes * 60)
        callers.is_over = True
        await asyncio.gather(*tasks[:CALLERS])
        await landlord.stop()
        landlord.chaos = 0.0
        await landlord.start()
        await _calm(client, listeners, ledger)
        listeners.is_over = True
        await asyncio.gather(*tasks)
        await _check_pool(client, ledger)
        await client.close()
    await landlord.stop()
    ledger.count("starts of the server", landlord.starts)
    _check_log(callers, ledger, log.read_text().split("\n"))


async def _calm(client: object, listeners: Listeners, ledger: Ledger) -> None:
    """See that all is well once the server is."""
    await asyncio.sleep(3.0)  # those who wait before the next attempt are back by then
    listeners.heard.clear()
    until = time.monotonic() + 30.0
    while len(listeners.heard) < STREAMS and time.monotonic() < until:  # noqa: ASYNC110  # none tells
        await asyncio.sleep(0.1)
    if len(listeners.heard) < STREAMS:
        deaf = sorted(set(range(STREAMS)) - set(listeners.heard))
        ledger.violation("deaf", f"streams {deaf} of a quiet server")
    for _ in range(50):
        result = await client.call_tool("echo", {"text": "quiet"}, timeout=5.0)  # type: ignore[attr-defined]
        if result["content"][0]["text"] != "quiet":
            ledger.violation("wrong answer", f"quiet: {result}")


async def _check_pool(client: object, ledger: Ledger) -> None:
    """See that no slot is busy, and nothing waits, once nobody calls."""
    until = time.monotonic() + 5.0
    while True:
        state = await get_state(client._port)  # type: ignore[attr-defined]  # noqa: SLF001  # no face shows it
        pool = state["pool"]
        if not pool.busy and not pool.waiting and pool.idle <= CONNECTIONS:
            return
        if time.monotonic() > until:
            ledger.violation("pool", str(pool))
            return
        await asyncio.sleep(0.05)


def _check_log(callers: Callers, ledger: Ledger, log: list[str]) -> None:
    """Compare what the callers were told with what the server saw."""
    lines = collections.Counter(log)
    for token, outcome in callers.outcomes.items():
        saw, said = lines[f"saw {token}"], lines[f"said {token}"]
        if saw > 1:
            ledger.violation("twice", f"{token}: {saw} times, {outcome}")
        if outcome.kind == "never_sent" and saw:
            ledger.violation("delivery", f"{token} was seen: {outcome}")
        if outcome.kind == "answered" and not said:
            ledger.violation("delivery", f"{token} was not answered: {outcome}")
        if outcome.kind == "unknown" and not saw:
            ledger.count("unknown, and never seen")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, help="of the dice; another one each time")
    options = parser.parse_args()
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    print(f"{options.minutes:g} minutes, seed {seed}", flush=True)
    logging.disable(logging.CRITICAL)
    ledger = Ledger()
    before = running()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(chaos(ledger, Path(folder), options.minutes, seed))
    for text in left_since(before):
        ledger.violation("left", text)
    for what, count in sorted(ledger.counts.items()):
        print(f"{count:9,}  {what}")
    for words in ledger.words:
        print(words)
    for kind, count in ledger.violations.items():
        print(f"VIOLATED: {kind}, {count} times")
    print(f"{'VIOLATIONS' if ledger.violations else 'nothing was violated'}, seed {seed}")
    sys.exit(1 if ledger.violations else 0)


if __name__ == "__main__":
    main()
