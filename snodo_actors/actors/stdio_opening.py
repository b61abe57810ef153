"""What a stdio connection is opened with."""

from __future__ import annotations

from dataclasses import dataclass, field

from snodo_actors.actors.starts import Starts
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.stdio_options import StdioOptions
from snodo_actors.words.types import Stdio
from supervisors import Ref


@dataclass(frozen=True, slots=True)
class Opening:
    """What a stdio connection is opened with, checked."""

    who: str
    target: Stdio
    allowed: tuple[str, ...]
    client: ClientOptions
    stdio: StdioOptions
    owner: Ref | None = None
    starts: Starts = field(default_factory=Starts)
