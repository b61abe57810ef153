"""Our actors beside pykka's threads and a bare mailbox on an event loop, measured in one run.

    python benchmarks/actors.py            5 rounds, about 4 minutes
    python benchmarks/actors.py --quick    1 round of small cases, under a minute

Each case has a process of its own, the rounds are interleaved, medians are shown, and targets are
ratios between figures of this run. Always exits with 0.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.append(sys.path.pop(0))  # last: `http` beside this file is not Python's

from actor_cases.catalogue import cases
from actor_cases.rounds import run_rounds
from actor_cases.tables import print_tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1 round of small cases")
    parser.add_argument("--rounds", type=int, help="how often each case is run")
    parser.add_argument("--only", default="", help="run the cases whose name holds this")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--system", help=argparse.SUPPRESS)
    parser.add_argument("--size", default="full", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        case = next(c for c in cases() if (c.name, c.system) == (options.case, options.system))
        print(json.dumps(case.run(case.n[options.size])))
        sys.stdout.flush()
        os._exit(0)  # pykka's threads are not worth waiting for
    began = time.monotonic()
    size = "quick" if options.quick else "full"
    rounds = options.rounds or (1 if options.quick else 5)
    wanted = [case for case in cases() if options.only in case.name]
    figures = run_rounds(Path(__file__), wanted, size, rounds, _progress)
    _progress("")
    print_tables(figures)
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        print("the machine was busy with other things: take the ratios with a grain of salt")
    print(f"{rounds} rounds in {time.monotonic() - began:.0f} s, load average {load:.1f}")


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


if __name__ == "__main__":
    main()
