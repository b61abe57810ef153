"""How the demo speaks: with rich in a terminal, in plain lines elsewhere."""

from __future__ import annotations

import sys
from typing import Any, Protocol


class Screen(Protocol):
    """What the demo writes on."""

    def step(self, title: str) -> None:
        """Begin a step."""

    def say(self, text: str, *, style: str = "") -> None:
        """Write lines in a style."""


class PlainScreen:
    """Lines of text."""

    def step(self, title: str) -> None:
        """Begin a step."""
        print(f"\n== {title}", flush=True)

    def say(self, text: str, *, style: str = "") -> None:
        """Write lines; the style is for terminals."""
        for line in text.splitlines():
            print(f"   {line}", flush=True)


class RichScreen:
    """The same in colour."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415  # in the demo extra

        self._console: Any = Console(highlight=False)

    def step(self, title: str) -> None:
        """Begin a step."""
        self._console.print()
        self._console.rule(f"[bold]{title}", align="left", style="cyan")

    def say(self, text: str, *, style: str = "") -> None:
        """Write lines in a style."""
        from rich.text import Text  # noqa: PLC0415  # in the demo extra

        for line in text.splitlines():
            self._console.print(Text(f"  {line}", style=style))


def open_screen() -> Screen:
    """The screen that fits where the output goes."""
    if sys.stdout.isatty():
        try:
            return RichScreen()
        except ImportError:
            return PlainScreen()
    return PlainScreen()
