"""The command line: `snodo-actors demo`."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0 if it did what it says."""
    parser = argparse.ArgumentParser(
        prog="snodo-actors", description="An MCP client in which everything that lives is an actor."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo", help="show a supervised server: its tools, a call, its death and its return"
    )
    demo.add_argument(
        "--log", action="store_true", help="also write the log of everything to stderr"
    )
    options = parser.parse_args(arguments)
    return _demo(log=options.log)


def _demo(*, log: bool) -> int:
    if importlib.util.find_spec("mcp") is None:
        print(
            "The demo starts a server made with the official SDK. "
            "Install it with: pip install 'snodo-actors[demo]'",
            file=sys.stderr,
        )
        return 2
    logging.basicConfig(level=logging.INFO if log else logging.CRITICAL)
    import anyio  # noqa: PLC0415  # only the demo needs it here

    from snodo_actors.demo.screen import open_screen  # noqa: PLC0415  # see above
    from snodo_actors.demo.story import DemoFailed, run  # noqa: PLC0415  # see above
    from snodo_actors.words.errors import Error  # noqa: PLC0415  # see above

    screen = open_screen()
    try:
        anyio.run(run, screen)
    except (DemoFailed, Error) as failure:
        print(f"The demo failed: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
