"""What a process does first, as its init entry says."""

from __future__ import annotations

from typing import Any

import anyio

from supervisors import Ignore, Ok, Stop, exit_self

from .scenario import Json
from .terms import Raised, to_reason


async def begin(entry: Json) -> Any:
    """Do what an init *entry* says, and give what init returns."""
    match entry:
        case {"sleep": ms}:
            await anyio.sleep(ms / 1000)
            return await begin(entry.get("then", "ok"))
        case "ignore":
            return Ignore()
        case "bad":
            return "not_a_valid_return"
        case {"stop": reason}:
            return Stop(to_reason(reason))
        case {"raise": reason}:
            raise Raised(reason)
        case {"exit": reason}:
            return exit_self(to_reason(reason))
        case {"throw": value}:
            return value  # a throw in a callback is its return value
        case {"timeout": ms}:
            return Ok(timeout=ms / 1000)
        case {"continue": term}:
            return Ok(then=term)
        case _:
            return Ok()  # "ok"; "hibernate" has no meaning here
