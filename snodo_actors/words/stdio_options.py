"""The options of a server that runs as a child process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from snodo_actors.words.checks import pairs, path, positive

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
MAX_SERVER_REQUESTS: Final = 16

Stderr: TypeAlias = Literal["capture", "inherit", "discard"] | Callable[[str], Any]
Environment: TypeAlias = Mapping[str, str | None] | Iterable[tuple[str, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioOptions:
    """What `connect` takes for a stdio target.

    `env` is added to our own environment, where None takes a name out of it. `stderr` is kept for
    the exit reason and logged, or goes where ours goes, or nowhere, or line by line to a function.
    """

    env: Environment = ()
    cd: str | os.PathLike[str] | None = None
    max_line_bytes: int = MAX_LINE_BYTES
    max_server_requests: int = MAX_SERVER_REQUESTS
    stderr: Stderr = "capture"
    owner: Any = None

    def __post_init__(self) -> None:
        positive("max_line_bytes", self.max_line_bytes)
        positive("max_server_requests", self.max_server_requests)
        if not callable(self.stderr) and self.stderr not in ("capture", "inherit", "discard"):
            raise ValueError(
                'stderr must be "capture", "inherit", "discard" or a function of one line, '
                f"not {self.stderr!r}"
            )
        object.__setattr__(self, "env", _environment(self.env))
        if self.cd is not None:
            object.__setattr__(self, "cd", path("cd", self.cd))


def _environment(value: Any) -> tuple[tuple[str, str | None], ...]:
    environment = tuple(pairs("env", value))
    for name, item in environment:
        if not isinstance(name, str) or not (item is None or isinstance(item, str)):
            raise TypeError(
                f'env must be strings, or None to unset, not {name!r}: write env={{"NAME": "1"}}'
            )
        if not name or "=" in name or "\0" in name or "\0" in (item or ""):
            raise ValueError(f"env has a name or value no environment can hold: {name!r}")
    return environment
