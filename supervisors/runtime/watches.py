"""What one process holds of another: a watch over it, or a name that can be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisors.runtime.future import Future
from supervisors.words.reasons import ExitReason

if TYPE_CHECKING:
    from supervisors.runtime.process import Process


class Monitor:
    """One watch of one process over another. Also a send target if it was made with an alias."""

    __slots__ = ("active", "alias", "open", "target", "watcher")

    def __init__(self, watcher: Process, target: Any, alias: str | None) -> None:
        self.watcher = watcher
        self.target = target
        self.active = True
        self.alias = alias
        self.open = alias is not None

    def __repr__(self) -> str:
        return f"<monitor of {self.target}>"


class Alias:
    """A stand-in for a process that can be taken back; what is sent to it then vanishes."""

    __slots__ = ("once", "open", "owner")

    def __init__(self, owner: Process, *, once: bool) -> None:
        self.owner = owner
        self.once = once
        self.open = True

    def __repr__(self) -> str:
        return f"<alias of {self.owner.ref}>"


class WhenDown(Future[ExitReason]):
    """The reason a process will end with; forgotten when nobody waits for it any more."""

    __slots__ = ("_process",)

    def __init__(self, process: Process) -> None:
        super().__init__(process.node)
        self._process = process

    def _withdrawn(self) -> None:
        self._process.transmit(self._process.on_demonitor, self)
