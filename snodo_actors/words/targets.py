"""What `connect` connects to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snodo_actors.words.checks import path
from snodo_actors.words.types import Custom, Http, Stdio, Target

_EXAMPLES = '("stdio", "python", ["server.py"]) or ("http", "https://example.test/mcp")'


def read_target(target: Any) -> Target:
    """Read a target.

    Raises:
        TypeError: It is none of the targets.
    """
    if isinstance(target, Stdio | Http | Custom):
        return target
    match target:
        case ("stdio", command, args) if _is_list(args):
            return Stdio(path("command", command), tuple(path("args", arg) for arg in args))
        case ("http", url):
            return Http(str(url))
        case (transport, init_arg) if callable(getattr(transport, "request", None)):
            return Custom(transport, init_arg)
        case ("stdio", *_):
            raise TypeError(
                f'a stdio target is ("stdio", command, [arguments]), not {target!r}: '
                'write ("stdio", "python", ["server.py"])'
            )
        case (transport, _):
            raise TypeError(f"{transport!r} is no transport: it has no request(); use {_EXAMPLES}")
        case _:
            raise TypeError(f"{target!r} is no target: write {_EXAMPLES}")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
