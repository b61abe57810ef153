"""Processes by key: one owner for each key, or many.

A registry is a server so that it has a place in the tree; its table is read and written in whatever
thread asks, under a lock. A dead owner is gone from it before anybody is told of its end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

from supervisors.behaviours.gen_server import GenServer
from supervisors.machines.names import Names
from supervisors.runtime.actor_ref import ActorRef, ServerRef
from supervisors.runtime.current import self_process
from supervisors.runtime.future import Future
from supervisors.runtime.lookup import find_process
from supervisors.runtime.process import Process
from supervisors.runtime.process_table import Name
from supervisors.runtime.ref import Ref
from supervisors.runtime.sending import send
from supervisors.runtime.states import DEAD
from supervisors.words import checks
from supervisors.words.errors import NameTaken, NoProcess, NoSuchName, SpecError

Keys = Literal["unique", "duplicate"]


class _Table:
    """The entries of one registry."""

    def __init__(self, keys: Keys) -> None:
        self.names: Names[Process] = Names(unique=keys == "unique")
        self.lock = threading.Lock()
        self.process: Process | None = None
        self.listeners: tuple[str, ...] = ()
        self.meta: dict[Any, Any] = {}

    def register(self, key: Hashable, owner: Process, value: Any) -> None:
        registry = self.alive()
        with self.lock:
            first = not self.names.keys(owner)
            holder = self.names.register(key, owner, value)
            if holder is not None and holder.state == DEAD:
                self.names.release(holder)
                holder = self.names.register(key, owner, value)
        if holder is not None:
            raise NameTaken(str(key), holder.ref)
        if first:
            owner.before_end(self.release)
            owner.transmit(owner.on_link, registry)
            registry.transmit(registry.on_link, owner)
        self.tell("register", key, owner, value)

    def unregister(
        self, key: Hashable, owner: Process, value: Any = None, *, any_value: bool = True
    ) -> None:
        registry = self.alive()
        with self.lock:
            if any_value:
                was = self.names.unregister(key, owner)
            else:
                was = self.names.unregister_value(key, owner, value)
            last = was and not self.names.keys(owner)
        if last:
            owner.transmit(owner.on_unlink, registry)
            registry.transmit(registry.on_unlink, owner)
        if was:
            self.tell("unregister", key, owner)

    def release(self, owner: Process) -> None:
        with self.lock:
            self.names.release(owner)

    def living(self, key: Hashable) -> list[tuple[Process, Any]]:
        self.alive()
        with self.lock:
            return [entry for entry in self.names.lookup(key) if entry[0].state != DEAD]

    def alive(self) -> Process:
        process = self.process
        if process is None or process.state == DEAD:
            raise NoProcess("the registry", "a look into it")
        return process

    def tell(self, what: str, key: Hashable, owner: Process, *value: Any) -> None:
        for name in self.listeners:
            listener = find_process(name)
            if listener is not None:
                listener.put((what, self.alive().ref, key, owner.ref, *value))


@dataclass(frozen=True, slots=True)
class Via:
    """A key in a registry, usable wherever a process or a name is asked for."""

    registry: RegistryRef
    key: Hashable

    def whereis(self) -> Ref | None:
        """The process that has the key now."""
        return self.registry.whereis(self.key)

    def register(self, process: Process) -> None:
        """Give the key to a process that is being started.

        Raises:
            NameTaken: A living process has it.
        """
        self.registry.table().register(self.key, process, None)

    def __str__(self) -> str:
        return f"{self.key!r} in {self.registry}"


class RegistryRef(ServerRef["Registry"]):
    """A handle on a registry. What it offers works in any thread, at once."""

    __slots__ = ()

    def table(self) -> _Table:
        """The entries.

        Raises:
            NoProcess: The registry has ended.
        """
        actor = cast("Registry | None", self.process.actor)
        if actor is None:
            raise NoProcess(self, "a look into it", self.process.reason)
        return actor.table

    def register(self, key: Hashable, value: Any = None) -> None:
        """Register the calling process under *key*.

        Raises:
            NameTaken: The keys are unique, and a living process (it may be the same) has this one.
            NoProcess: The registry has ended.
        """
        self.table().register(key, self_process(), value)

    def unregister(self, key: Hashable) -> None:
        """Take out every entry the calling process has under *key*."""
        self.table().unregister(key, self_process())

    def unregister_match(self, key: Hashable, value: Any) -> None:
        """Take out the calling process's entries under *key* that hold *value*."""
        self.table().unregister(key, self_process(), value, any_value=False)

    def lookup(self, key: Hashable) -> list[tuple[Ref, Any]]:
        """The (ref, value) entries of *key*, oldest first."""
        return [(owner.ref, value) for owner, value in self.table().living(key)]

    def whereis(self, key: Hashable) -> Ref | None:
        """The process registered under a unique *key*, or None."""
        living = self.table().living(key)
        return living[0][0].ref if living else None

    def keys(self, ref: Ref) -> list[Hashable]:
        """The keys of a process, oldest first."""
        checks.instance("a process", ref, Ref, "registry.keys(self_())")
        table = self.table()
        with table.lock:
            return table.names.keys(ref.process) if ref.is_alive() else []

    def match(self, key: Hashable, match: Callable[[Any], object]) -> list[tuple[Ref, Any]]:
        """The entries of *key* whose value *match* accepts."""
        return [entry for entry in self.lookup(key) if match(entry[1])]

    def update_value(self, key: Hashable, change: Callable[[Any], Any]) -> tuple[Any, Any] | None:
        """Change the value of the calling process's unique entry; returns (new, old).

        None if the entry is another process's, or there is none.

        Raises:
            SpecError: The keys are not unique.
        """
        table = self.table()
        if not table.names.unique:
            raise SpecError('update_value() needs a registry with keys="unique"')
        owner = self_process()
        with table.lock:
            held = table.names.lookup(key)
            if not held or held[0][0] is not owner:
                return None
            return table.names.update(key, owner, change(held[0][1]))

    def count(self) -> int:
        """How many entries there are."""
        table = self.table()
        with table.lock:
            return len(table.names)

    def select(self) -> list[tuple[Hashable, Ref, Any]]:
        """All entries as (key, ref, value)."""
        table = self.table()
        with table.lock:
            return [
                (k, owner.ref, v) for k, owner, v in table.names.entries() if owner.state != DEAD
            ]

    def dispatch(self, key: Hashable, function: Callable[[list[tuple[Ref, Any]]], object]) -> None:
        """Call *function* with the entries of *key*, here and now; not at all if there are none."""
        entries = self.lookup(key)
        if entries:
            function(entries)

    def send_to(self, key: Hashable, message: Any) -> None:
        """Send *message* to the process registered under a unique *key*.

        Raises:
            NoSuchName: Nobody is.
        """
        ref = self.whereis(key)
        if ref is None:
            raise NoSuchName(str(key))
        send(ref, message)

    def via(self, key: Hashable) -> Via:
        """*key* as a name: `start_link(name=registry.via(key))`, `call(registry.via(key), ...)`."""
        return Via(self, key)

    def put_meta(self, key: Any, value: Any) -> None:
        """Keep *value* with the registry itself."""
        self.table().meta[key] = value

    def meta(self, key: Any, default: Any = None) -> Any:
        """What `put_meta` kept."""
        return self.table().meta.get(key, default)


class Registry(GenServer):
    """A table of processes by key.

    `await Registry.start_link(name="sessions", keys="unique", listeners=())`. Whoever registers is
    linked with the registry until its last entry is gone.
    """

    trap_exit: ClassVar[bool] = True
    ref_class: ClassVar[type[ActorRef[Any]]] = RegistryRef

    @classmethod
    def start_link(  # type: ignore[override]  # its ref has methods of its own
        cls,
        *args: Any,
        name: Name | None = None,
        start_timeout: float | None = None,
        **kwargs: Any,
    ) -> Future[RegistryRef]:
        """Start a registry, linked to the calling process; the arguments are those of `init`."""
        started = super().start_link(*args, name=name, start_timeout=start_timeout, **kwargs)
        return cast("Future[RegistryRef]", started)

    @classmethod
    def start_unlinked(  # type: ignore[override]  # its ref has methods of its own
        cls,
        *args: Any,
        name: Name | None = None,
        start_timeout: float | None = None,
        **kwargs: Any,
    ) -> Future[RegistryRef]:
        """Start a registry without link and parent; otherwise as `start_link`."""
        started = super().start_unlinked(*args, name=name, start_timeout=start_timeout, **kwargs)
        return cast("Future[RegistryRef]", started)

    def init(self, keys: Keys = "unique", listeners: Iterable[str] = ()) -> None:
        """Make an empty table."""
        if keys not in ("unique", "duplicate"):
            raise SpecError(f'keys is "unique" or "duplicate", not {keys!r}')
        self.table = _Table(keys)
        self.table.listeners = tuple(listeners)
        self.table.process = self._otp_process

    def format_status(self) -> Any:
        """How many entries there are; not whose."""
        return {"entries": len(self.table.names)}

    def handle_info(self, message: Any) -> None:
        """An owner ended: its entries went with it."""
