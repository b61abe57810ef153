"""What is said of a soak: a line now and then, and all of it at the end."""

from __future__ import annotations

import sys

from soak_parts.checks import Checks
from soak_parts.ledger import Ledger

REQUESTS = ("call", "name", "ask")


def show(ledger: Ledger) -> None:
    """Say how it goes, to whoever watches."""
    if sys.stderr.isatty():
        wrong = sum(ledger.violations.values())
        sys.stderr.write(
            f"\r{ledger.seconds:5.0f} s, {_requests(ledger):,} requests, {wrong} wrong"
        )
        sys.stderr.flush()


def summary(ledger: Ledger, checks: Checks, said: str, *, verbose: bool) -> int:
    """Print what happened; returns the exit status."""
    counts = ledger.counts
    if verbose:
        for what, n in sorted(counts.items()):
            print(f"{n:>12,}  {what}")
        for sample in checks.samples:
            print(f"{sample.resident:>12,}  bytes resident, {sample.blocks:,} blocks")
    for text in ledger.words:
        print(text)
    broken = sum(n for what, n in counts.items() if what.startswith("trouble: "))
    restarts = counts["report: supervisor child_terminated"]
    wrong = sum(ledger.violations.values())
    kinds = ", ".join(f"{n} {kind}" for kind, n in ledger.violations.items())
    print(
        f"soak: {said}: {_requests(ledger):,} requests, {broken:,} deeds of trouble, "
        f"{restarts:,} children terminated, {counts['report: crash']:,} crashes, "
        f"{counts['monitors']:,} monitors, {counts['links']:,} links, {counts['checks']} checks, "
        f"{_memory(checks)}; {wrong} violations{': ' if kinds else ''}{kinds}"
    )
    return 1 if wrong else 0


def _requests(ledger: Ledger) -> int:
    return sum(n for what, n in ledger.counts.items() if what.split(":")[0] in REQUESTS)


def _memory(checks: Checks) -> str:
    if not checks.samples:
        return "memory not measured"
    first, last = checks.samples[0], checks.samples[-1]
    return f"{first.resident / 1e6:.1f} to {last.resident / 1e6:.1f} MB resident"
