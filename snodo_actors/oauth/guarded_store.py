"""The user's store, whose failures are all of one kind here.

Whoever waits for the same token is told of an error of ours. Of another they would not be: each
would try for itself, and ask the user once more.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import Any

from snodo_actors.oauth.store import Store
from snodo_actors.oauth.words.errors import AuthorizationError
from snodo_actors.words.errors import Error


class GuardedStore:
    """A store that raises nothing but errors of ours."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self, key: str) -> dict[str, Any] | None:
        """Return what was saved under *key*; None if nothing."""
        with _failing("load"):
            value: Any = await self._store.load(key)
        if value is not None and not isinstance(value, dict):
            raise AuthorizationError("store", "load() of the store returned no dict")
        return value  # pyright: ignore[reportUnknownVariableType]  # the store is the user's

    async def save(self, key: str, value: dict[str, Any]) -> None:
        """Keep *value* under *key*."""
        with _failing("save"):
            await self._store.save(key, value)

    async def delete(self, key: str) -> None:
        """Forget *key*."""
        with _failing("delete"):
            await self._store.delete(key)

    @asynccontextmanager
    async def locked(self, key: str, timeout: float) -> AsyncGenerator[None]:
        """Hold *key* alone; what is raised meanwhile is passed on as it is."""
        with _failing("locked"):
            lock = self._store.locked(key, timeout)
            await lock.__aenter__()
        try:
            yield
        except BaseException:
            with _failing("locked"):
                await lock.__aexit__(*sys.exc_info())
            raise
        with _failing("locked"):
            await lock.__aexit__(None, None, None)


@contextlib.contextmanager
def _failing(name: str) -> Generator[None]:
    try:
        yield
    except Error:
        raise
    except Exception as error:
        raise AuthorizationError(
            "store", f"{name}() of the store raised {type(error).__name__}", cause=error
        ) from error
