"""Our client over HTTP beside the official SDK, aiohttp and a bare protocol, measured in one run.

    python benchmarks/http.py            5 rounds, about 13 minutes
    python benchmarks/http.py --quick    1 round of short ones, about a minute and a half
    python benchmarks/http.py --full     5,000 clients and streams

Each measurement has a process and a server of its own, the rounds are interleaved, and targets are
medians of ratios within a round. Needs `mcp`, `aiohttp`, `httptools`, `msgspec` and `uvloop`; what
is not installed is left out. Always exits with 0.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from pathlib import Path

# A program's own folder comes first in the path, where this file is called as a module of Python's.
HERE = str(Path(__file__).resolve().parent)
sys.path[:] = [path for path in sys.path if path != HERE]
sys.path.append(HERE)

from http_cases.gauges import allow_descriptors  # noqa: E402  # the path is set above
from http_cases.rounds import WORK, jobs, run_rounds  # noqa: E402  # as above
from http_cases.sizes import SIZES  # noqa: E402  # as above
from http_cases.tables import print_tables  # noqa: E402  # as above


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1 round of short ones")
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--full", action="store_true", help="5,000 clients and streams")
    parser.add_argument("--rounds", type=int, help="how often everything is measured")
    parser.add_argument("--only", default="", help="do the work whose name holds this")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--system", help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = "quick" if options.quick else "full" if options.full else "plain"
    if options.work is not None:
        from http_cases.work import print_measured  # noqa: PLC0415  # not all of it is installed

        logging.disable(logging.CRITICAL)
        allow_descriptors()
        print_measured(options.work, options.system, SIZES[size])
        return
    if not any(jobs(options.only)):
        parser.error(f"--only is a part of one of: {', '.join(WORK)}")
    began = time.monotonic()
    rounds = options.rounds or (1 if options.quick else 5)
    figures = run_rounds(Path(__file__), rounds, size, only=options.only, tell=_progress)
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
