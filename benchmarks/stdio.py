"""Our client over stdio beside that of the official SDK and a bare pipe, measured in one run.

    python benchmarks/stdio.py            5 rounds, about 6 minutes
    python benchmarks/stdio.py --quick    1 round of short ones, about a minute

Each measurement has a process of its own, the rounds are interleaved, and targets are medians of
ratios within a round. Needs `mcp`; what is not installed is left out. Always exits with 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import time
from pathlib import Path

sys.path.append(sys.path.pop(0))  # last: `http` beside this file is not Python's

from stdio_cases.rounds import WORK, run_rounds
from stdio_cases.tables import print_tables
from stdio_cases.work import measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1 round of short ones")
    parser.add_argument("--rounds", type=int, help="how often everything is measured")
    parser.add_argument("--only", default="", help="do the work whose name holds this")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--system", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        _measure_here(options)
        return
    kinds = (*WORK, "import")
    if not any(options.only in kind for kind in kinds):
        parser.error(f"--only is a part of one of: {', '.join(kinds)}")
    began = time.monotonic()
    rounds = options.rounds or (1 if options.quick else 5)
    figures = run_rounds(
        Path(__file__), rounds, quick=options.quick, only=options.only, tell=_progress
    )
    _progress("")
    print_tables(figures)
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        print("the machine was busy with other things: take the ratios with a grain of salt")
    print(f"{rounds} rounds in {time.monotonic() - began:.0f} s, load average {load:.1f}")


def _measure_here(options: argparse.Namespace) -> None:
    logging.disable(logging.CRITICAL)
    factory = None
    if options.system == "ours uvloop":
        import uvloop  # noqa: PLC0415  # it may not be installed

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        work = measure(options.work, options.system, quick=options.quick)
        print(json.dumps(runner.run(work)))


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


if __name__ == "__main__":
    main()
