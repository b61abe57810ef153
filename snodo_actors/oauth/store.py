"""Where a token provider keeps what has to outlive a connection, and the store that forgets.

A store knows keys and values; what they mean is the provider's affair.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from typing import Any, Protocol

import anyio

from snodo_actors.oauth.turns import Turns
from snodo_actors.oauth.words.errors import AuthorizationError


class Store(Protocol):
    """What a provider asks of a store; each method may be called from any task, thread and loop."""

    async def load(self, key: str) -> dict[str, Any] | None:
        """Return what was saved under *key*, as an object of the caller's own; None if nothing.

        Raises:
            AuthorizationError: The store cannot be read (step ``store``).
        """
        ...

    async def save(self, key: str, value: dict[str, Any]) -> None:
        """Keep *value* under *key*, whole or, on failure, not at all. Other keys stay as they are.

        Raises:
            AuthorizationError: The store cannot be written; it has what it had (step ``store``).
            TypeError: *value* holds what JSON does not have.
            ValueError: *value* holds a number that JSON does not have, or itself.
        """
        ...

    async def delete(self, key: str) -> None:
        """Forget *key*; nothing happens if nothing is saved under it.

        Raises:
            AuthorizationError: The store cannot be written; it has what it had (step ``store``).
        """
        ...

    def locked(self, key: str, timeout: float) -> AbstractAsyncContextManager[None]:
        """Hold *key* alone among all who share the store, also across processes.

        It is a promise among those who ask for it: load, save and delete do not wait for it. It is
        not reentrant. *timeout* is how long to wait for it, in seconds; 0 asks once.

        Raises:
            AuthorizationError: It was not free in time (step ``store``).
        """
        ...


def to_json(value: dict[str, Any]) -> str:
    """Write *value* in ASCII.

    Raises:
        TypeError: It holds what JSON does not have.
        ValueError: It holds a number that JSON does not have, or itself.
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def lock_timed_out(timeout: float, what: str) -> AuthorizationError:
    """Say that the lock *what* was not free within *timeout* seconds."""
    return AuthorizationError(
        "store",
        f"the lock {what} was not free within {timeout:g} s; who holds it is not known. If a user"
        " is being asked to sign in elsewhere, wait for that; else look for a program that hangs",
    )


class MemoryStore:
    """Keeps values as long as the process runs."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}  # as JSON: what is saved or loaded shares nothing with us
        self._turns = Turns()

    def __repr__(self) -> str:
        return f"<MemoryStore of {len(self._values)} values>"

    async def load(self, key: str) -> dict[str, Any] | None:
        """Return a copy of what was saved under *key*; None if nothing."""
        text = self._values.get(key)
        return None if text is None else json.loads(text)

    async def save(self, key: str, value: dict[str, Any]) -> None:
        """Keep a copy of *value* under *key*.

        Raises:
            TypeError: *value* holds what JSON does not have.
            ValueError: *value* holds a number that JSON does not have, or itself.
        """
        self._values[key] = to_json(value)

    async def delete(self, key: str) -> None:
        """Forget *key*."""
        self._values.pop(key, None)

    @asynccontextmanager
    async def locked(self, key: str, timeout: float) -> AsyncGenerator[None]:
        """Hold *key* alone in this process; wait at most *timeout* seconds for it.

        Raises:
            AuthorizationError: It was not free in time (step ``store``).
        """
        with ExitStack() as held:
            with anyio.move_on_after(timeout) as waiting:
                held.callback(await self._turns.take(key))
            if waiting.cancelled_caught:
                raise lock_timed_out(timeout, f"of a key in {self!r}")
            yield
