"""Which process is meant by a ref, a name, or whatever else knows one."""

from __future__ import annotations

from typing import Any

import pykka

from supervisors.runtime.nodes import current_node, running_default_node
from supervisors.runtime.process import Process
from supervisors.runtime.ref import Ref
from supervisors.runtime.states import DEAD
from supervisors.runtime.threads import process_of_foreign
from supervisors.words import checks
from supervisors.words.errors import NotAProcess

Dest = Any
"""A ref (ours or pykka's), a registered name, or, to send to, an alias or a monitor with one."""


def find_named(name: str) -> Process | None:
    """The living process that has *name* here, or on the default node."""
    checks.name(name)
    node = current_node()
    process = node.names.get(name)
    if process is None:
        default = running_default_node()
        if default is not None and default is not node:
            process = default.names.get(name)
    return process if process is not None and process.state != DEAD else None


def find_process(dest: Dest) -> Process | None:
    """The process that *dest* means, or None if nobody has the name.

    Raises:
        NotAProcess: It is nothing that could mean one.
    """
    if isinstance(dest, Ref):
        return dest.process
    if isinstance(dest, str):
        return find_named(dest)
    if isinstance(dest, pykka.ActorRef):
        return process_of_foreign(dest, current_node())  # pyright: ignore[reportUnknownArgumentType]  # isinstance() cannot know what kind of actor
    via = getattr(dest, "whereis", None)
    if via is not None:
        found = via()
        return found.process if isinstance(found, Ref) else None
    raise NotAProcess(dest)
