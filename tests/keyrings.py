"""Keyrings for tests: backends of `keyring` that keep passwords in a file that processes share."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError


class FileKeyring(KeyringBackend):
    """All passwords in one file, as plain as tests want it, and with no lock of its own.

    Its folder is in the environment.
    """

    priority = 0.1  # never chosen unless named

    def _path(self) -> Path:
        return Path(os.environ["TEST_KEYRING_FOLDER"]) / "passwords.json"

    def _read(self) -> dict[str, str]:
        try:
            return json.loads(self._path().read_text())
        except FileNotFoundError:
            return {}

    def _write(self, passwords: dict[str, str]) -> None:
        new = self._path().with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        new.write_text(json.dumps(passwords))
        new.replace(self._path())

    def get_password(self, service: str, username: str) -> str | None:
        return self._read().get(json.dumps([service, username]))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self._read(), json.dumps([service, username]): password})

    def delete_password(self, service: str, username: str) -> None:
        passwords = self._read()
        if passwords.pop(json.dumps([service, username]), None) is None:
            raise PasswordDeleteError("no such password")
        self._write(passwords)


@contextlib.contextmanager
def keyring_of_this_process(ours: KeyringBackend) -> Iterator[KeyringBackend]:
    """Let *ours* be the keyring, without a look at what else there is on this machine."""
    before = keyring.core._keyring_backend
    keyring.set_keyring(ours)
    yield ours
    keyring.core._keyring_backend = before


class StrictKeyring(KeyringBackend):
    """Keeps passwords in memory, none longer than *longest*; fails as told."""

    priority = 0.1

    def __init__(self, longest: int = 100) -> None:
        super().__init__()
        self.longest = longest
        self.passwords: dict[tuple[str, str], str] = {}
        self.fails: BaseException | None = None
        self.sets_left: int | None = None
        self.on_get: Any = None

    def get_password(self, service: str, username: str) -> str | None:
        if self.on_get is not None:
            self.on_get(username)
        if self.fails is not None:
            raise self.fails
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.sets_left is not None:
            if self.sets_left == 0:
                raise OSError(f"could not run: write {password}")
            self.sets_left -= 1
        if len(password) > self.longest:
            raise ValueError("The stub received bad data")
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.passwords.pop((service, username), None) is None:
            raise PasswordDeleteError("no such password")
