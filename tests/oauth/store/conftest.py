"""A store of each kind, and processes that share one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import store_worker
from keyrings import FileKeyring, keyring_of_this_process

from snodo_actors.oauth.store import MemoryStore

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def keyring_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a keyring which is that of this process and of those it starts."""
    folder = tmp_path / "keyring"
    folder.mkdir()
    monkeypatch.setenv("TEST_KEYRING_FOLDER", str(folder))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.FileKeyring")
    with keyring_of_this_process(FileKeyring()):
        yield folder


@pytest.fixture(params=["file", "keyring"])
def shared(request: pytest.FixtureRequest, tmp_path: Path, keyring_folder: Path) -> list[str]:
    """Kind and path of a store that processes share."""
    return [request.param, str(tmp_path / "folder" / "tokens.json")]


@pytest.fixture
def shared_store(shared: list[str]) -> Any:
    return store_worker.open_store(*shared)


@pytest.fixture(params=["memory", "file", "keyring"])
def store(request: pytest.FixtureRequest, tmp_path: Path, keyring_folder: Path) -> Any:
    """An empty store of each kind."""
    if request.param == "memory":
        return MemoryStore()
    return store_worker.open_store(request.param, str(tmp_path / "folder" / "tokens.json"))


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process of `store_worker`; all are killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(deed: str, *arguments: str, backend: str = "asyncio") -> subprocess.Popen[str]:
        command = [sys.executable, store_worker.__file__, deed, backend, *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
