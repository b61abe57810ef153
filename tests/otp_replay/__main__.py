"""The command: `python -m tests.otp_replay FOLDER`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from .bent import WITHOUT_MEANING
from .folder import Way, replay_all
from .replay import DEADLINE_SECONDS
from .scenario import files

SLACK_VARIABLE: Final = "OTP_REPLAY_SLACK"


def main(arguments: list[str] | None = None) -> int:
    """Replay a folder; 0 if all scenarios passed, 1 if one failed, 2 if there was nothing to do."""
    options = _parser().parse_args(arguments)
    folder = Path(options.folder)
    if not folder.is_dir():
        return _usage(f"{folder} is no folder")
    paths = [path for path in files(folder) if not options.only or path.stem in options.only]
    if not paths:
        return _usage(f"no scenario to replay in {folder}")
    failed = _replay(paths, options)
    if failed:
        sys.stdout.flush()
        os._exit(1)  # a scenario that hangs may have left threads behind
    return 0


def _replay(paths: list[Path], options: argparse.Namespace) -> int:
    way = Way(options.slack, options.deadline, options.backend)
    failed = 0
    for path, problems in replay_all(paths, way, options.jobs):
        if problems:
            failed += 1
            print(f"FAILED {path.stem}: {problems[0]}")
            print("".join(f"    {text}\n" for text in problems[1:]), end="", flush=True)
        elif options.verbose:
            why = WITHOUT_MEANING.get(path.stem)
            print(f"passed {path.stem}{'' if why is None else f' ({why})'}", flush=True)
    print(f"{len(paths) - failed} passed, {failed} failed")
    return failed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.otp_replay",
        description="Replay recorded OTP scenarios against supervisors.",
    )
    parser.add_argument("folder", help="the folder with the scenarios")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="replay this scenario (may be repeated)"
    )
    parser.add_argument(
        "--jobs",
        type=_at_least_one,
        default=1,
        metavar="N",
        help="replay N scenarios at once, each in a process of its own (default: 1)",
    )
    parser.add_argument(
        "--slack",
        type=float,
        default=float(os.environ.get(SLACK_VARIABLE, "1")),
        metavar="FACTOR",
        help="multiply upper time bounds, for a loaded machine "
        f"(default: 1, or what {SLACK_VARIABLE} says)",
    )
    parser.add_argument(
        "--deadline",
        type=float,
        default=DEADLINE_SECONDS,
        metavar="SECONDS",
        help=f"call a scenario that takes longer a failure (default: {DEADLINE_SECONDS:g})",
    )
    parser.add_argument(
        "--backend",
        choices=("asyncio", "trio"),
        default="asyncio",
        help="the event loop; trio runs processes that wake together in an order of its own, "
        "which a scenario may not allow (default: asyncio)",
    )
    parser.add_argument("--verbose", action="store_true", help="name the scenarios that pass too")
    return parser


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return number


def _usage(text: str) -> int:
    print(text, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
