"""Who is who: the recorded names of processes.

A process is "id#n": the n-th attempt to start something called id.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from supervisors import Ref

from .scenario import ScenarioError

OTHER: Final = "<other>"


class People:
    """The processes of one run, by id and by ref."""

    def __init__(self) -> None:
        self._attempts: Counter[str] = Counter()
        self._names: dict[Ref, tuple[str, int]] = {}
        self._latest: dict[str, Ref] = {}
        self.bare: set[Ref] = set()
        """Processes that were spawned, not started: OTP reports their ends in another way."""
        self.raw: set[Ref] = set()
        """Bare processes under a supervisor."""

    def attempt(self, id: str) -> int:
        """Count one more attempt to start *id*, and give its number."""
        self._attempts[id] += 1
        return self._attempts[id]

    def enter(self, id: str, n: int, ref: Ref) -> None:
        """Remember that *ref* is the process of the *n*-th attempt to start *id*."""
        self._names[ref] = (id, n)
        self._latest[id] = ref

    def latest(self, id: str) -> Ref:
        """Give the newest process called *id*.

        Raises:
            ScenarioError: There was none.
        """
        try:
            return self._latest[id]
        except KeyError:
            raise ScenarioError(f"no process called {id!r} was started") from None

    def find(self, id: str) -> Ref | None:
        """Give the newest process called *id*, if there was one."""
        return self._latest.get(id)

    def is_puppet(self, ref: Ref) -> bool:
        """Tell whether *ref* is a bare process, spawned or supervised."""
        return ref in self.bare or ref in self.raw

    def everyone(self) -> list[Ref]:
        """Give all processes of this run, a parent before its children."""
        return list(self._names)

    def knows(self, ref: Any) -> bool:
        """Tell whether *ref* belongs to this run."""
        return isinstance(ref, Ref) and ref in self._names

    def id_and_attempt(self, ref: Ref) -> tuple[str, int]:
        """Give the id of *ref* and the number of the attempt that started it."""
        return self._names[ref]

    def name_of(self, ref: Any) -> str:
        """Give the recorded name of *ref*."""
        known = self._names.get(ref)
        return OTHER if known is None else f"{known[0]}#{known[1]}"
