"""Which processes a node has, and who of them has which name."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol, TypeAlias

from supervisors.runtime.states import DEAD
from supervisors.words.errors import NameTaken

if TYPE_CHECKING:
    from supervisors.runtime.process import Process


class Elsewhere(Protocol):
    """A name in a registry of its own, as `Registry.via()` gives one."""

    def register(self, process: Process) -> None:
        """Give the name to a process that is being started."""


Name: TypeAlias = str | Elsewhere
"""What a process can be registered under."""


class ProcessTable:
    """The part of a node that knows its processes."""

    def __init__(self) -> None:
        self.processes: dict[int, Process] = {}
        self.names: dict[str, Process] = {}
        self._naming = threading.Lock()

    def register(self, name: str, process: Process) -> None:
        """Give *process* the name *name*.

        Raises:
            NameTaken: *name* belongs to a living process, or *process* has a name already.
        """
        with self._naming:
            holder = self.names.get(name)
            if holder is not None and holder.state != DEAD:
                raise NameTaken(name, holder.ref)
            if process.name is not None:
                raise NameTaken(process.name, process.ref)
            self.names[name] = process
            process.name = name

    def unregister(self, name: str) -> None:
        """Free *name*; nothing happens if nobody has it."""
        process = self.names.pop(name, None)
        if process is not None:
            process.name = None

    def forget(self, process: Process) -> None:
        """Drop a process that has ended."""
        self.processes.pop(process.id, None)
        if process.name is not None and self.names.get(process.name) is process:
            del self.names[process.name]
