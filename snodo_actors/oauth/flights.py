"""Work that many ask for at once and one does, across tasks, threads and loops.

Whoever asks first does it; the others wait for what comes of it. If the one that does it is
cancelled, the next does it anew.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from snodo_actors.words.errors import Error
from supervisors import Future

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    value: T


@dataclass(frozen=True, slots=True)
class _Failed:
    error: Error


@dataclass(frozen=True, slots=True)
class _Abandoned:
    """Who did it was cancelled, or failed in a way that is not for others to see."""


class Flights(Generic[T]):
    """What is being done now, by key."""

    __slots__ = ("_flights", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, Future[_Done[T] | _Failed | _Abandoned]] = {}

    async def run(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return what *work* does for *key*, done here or by whoever is at it already.

        Raises:
            Error: What *work* raised, each time an object of its own.
        """
        mine: Future[_Done[T] | _Failed | _Abandoned] = Future()
        while True:
            with self._lock:
                flight = self._flights.setdefault(key, mine)
            if flight is mine:
                break
            match await flight:
                case _Done(value):
                    return value
                case _Failed(error):
                    raise error.again()
                case _Abandoned():
                    pass  # perhaps it is ours to do now
        outcome: _Done[T] | _Failed | _Abandoned = _Abandoned()
        try:
            value = await work()
        except Error as error:
            outcome = _Failed(error)
            raise
        else:
            outcome = _Done(value)
            return value
        finally:
            with self._lock:
                del self._flights[key]
            mine.set(outcome)
