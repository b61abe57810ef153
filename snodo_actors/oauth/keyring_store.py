"""A store in the keyring of the system: Keychain, Credential Manager, Secret Service, KWallet."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread

from snodo_actors.oauth.file_locks import FileLocks
from snodo_actors.oauth.keyring_entries import MAX_CHARACTERS, KeyringEntries
from snodo_actors.oauth.state_folder import state_folder
from snodo_actors.oauth.store import to_json
from snodo_actors.oauth.words.errors import AuthorizationError

T = TypeVar("T")

_LONGEST_NAME = 200  # Windows takes 513 characters, of which a piece needs some


class KeyringStore:
    """Keeps values in the keyring of the system, each as the password of a user of *service*.

    The keyring is the one that `keyring.get_keyring()` finds or was told. A keyring that first asks
    its user to unlock it keeps calls waiting. Locks are files, in *lock_folder* or else in the
    user's state folder.

    *max_characters* is how long one password may be; a longer value takes several. Without it, it
    is what Windows can take on Windows, and no limit elsewhere.

    Raises:
        ImportError: `keyring` or `filelock` is not installed.
    """

    def __init__(
        self,
        service: str = "snodo-actors",
        *,
        lock_folder: str | os.PathLike[str] | None = None,
        max_characters: int | None = MAX_CHARACTERS,
    ) -> None:
        try:
            importlib.import_module("keyring")
        except ImportError as error:
            raise ImportError(
                "a store in the keyring needs keyring: pip install 'snodo-actors[keyring]'",
                name="keyring",
            ) from error
        self._service = service
        self._entries = KeyringEntries(service, max_characters)
        folder = state_folder() / "locks" if lock_folder is None else Path(lock_folder).expanduser()
        self._locks = FileLocks(folder.absolute())

    def __repr__(self) -> str:
        return f"KeyringStore({self._service!r})"

    async def load(self, key: str) -> dict[str, Any] | None:
        """Return what was saved under *key*; None if nothing.

        Raises:
            AuthorizationError: There is no keyring, it refuses, or what is in it is damaged.
        """
        # The keyring may be asking its user to unlock it: who is cancelled need not wait for that.
        return await anyio.to_thread.run_sync(
            self._doing("read", lambda: self._entries.load(_name(key))), abandon_on_cancel=True
        )

    async def save(self, key: str, value: dict[str, Any]) -> None:
        """Keep *value* under *key*.

        Raises:
            AuthorizationError: There is no keyring, or it refuses. It has what it had.
            TypeError: *value* holds what JSON does not have.
            ValueError: *value* holds a number that JSON does not have, or itself.
        """
        text = to_json({"value": value})
        await self._change(lambda: self._entries.save(_name(key), text))

    async def delete(self, key: str) -> None:
        """Forget *key*.

        Raises:
            AuthorizationError: There is no keyring, or it refuses.
        """
        await self._change(lambda: self._entries.delete(_name(key)))

    def locked(self, key: str, timeout: float) -> AbstractAsyncContextManager[None]:
        """Hold *key* alone among all processes of this user; wait at most *timeout* seconds.

        Raises:
            AuthorizationError: It was not free in time, or the folder is of no use.
        """
        return self._locks.locked(f"key {self._service}\0{key}", timeout)

    async def _change(self, work: Callable[[], None]) -> None:
        # One at a time for the whole service: on Windows, `keyring` moves the passwords of other
        # users of a service when it sets one.
        await self._locks.run_locked(f"service {self._service}", self._doing("changed", work))

    def _doing(self, deed: str, work: Callable[[], T]) -> Callable[[], T]:
        def done() -> T:
            import keyring.errors  # noqa: PLC0415  # an extra

            try:
                return work()
            except AuthorizationError:
                raise
            except keyring.errors.KeyringError as error:
                said, cause = str(error) or type(error).__name__, error
            # Backends are plugins on the libraries of the system and raise what those raise, which
            # may quote the command or the message with the secret in it.
            except Exception as error:  # noqa: BLE001
                said, cause = type(error).__name__, None
            # Not in an `except`: an error keeps the one that was being handled.
            raise AuthorizationError(
                "store", f"the keyring could not be {deed} for {self!r}: {said}", cause=cause
            )

        return done


def _name(key: str) -> str:
    """Name the user of the service, so that who looks into the keyring may know it."""
    if 0 < len(key) <= _LONGEST_NAME and key.isprintable():
        return key
    return "sha256:" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
