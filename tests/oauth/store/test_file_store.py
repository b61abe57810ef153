"""The file of a store: its rights, its owner, and what happens when it is damaged."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest

from snodo_actors.oauth import private_files
from snodo_actors.oauth.file_store import FileStore
from snodo_actors.oauth.words.errors import AuthorizationError

VALUE = {"token": "s3cr3t"}
IS_ROOT = os.geteuid() == 0


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made" / "by us" / "tokens.json"


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Any:
    before = os.umask(request.param)
    yield
    os.umask(before)


def test_what_a_store_makes_is_for_its_owner_alone(path: Path, umask: Any) -> None:
    store = FileStore(path)

    async def use() -> None:
        async with store.locked("key", 1.0):
            await store.save("key", VALUE)

    anyio.run(use)
    locks = Path(f"{path}.locks")
    assert [rights(folder) for folder in (path.parent.parent, path.parent, locks)] == [0o700] * 3
    assert rights(path) == 0o600
    assert {0o600} == {rights(file) for file in locks.iterdir()}
    assert anyio.run(store.load, "key") == VALUE


def test_the_file_is_ours_to_read_whatever_the_umask(path: Path, umask: Any) -> None:
    store = FileStore(path)
    anyio.run(store.save, "key", {})
    os.umask(0o777)
    anyio.run(store.save, "key", VALUE)

    assert (rights(path), anyio.run(store.load, "key")) == (0o600, VALUE)


def test_a_folder_that_was_there_is_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    anyio.run(FileStore(tmp_path / "tokens.json").save, "key", VALUE)

    assert rights(tmp_path) == 0o755
    assert {"tokens.json", "tokens.json.locks"} == {entry.name for entry in tmp_path.iterdir()}


@pytest.mark.parametrize("deed", ["load", "save"])
def test_looser_rights_are_mended(path: Path, deed: str) -> None:
    store = FileStore(path)
    anyio.run(store.save, "key", VALUE)
    path.chmod(0o644)
    anyio.run(*([store.load, "key"] if deed == "load" else [store.save, "other", VALUE]))

    assert rights(path) == 0o600


def test_the_file_says_what_it_is_and_who_reads_it_later_finds_the_same(path: Path) -> None:
    anyio.run(FileStore(path).save, "key", VALUE)

    assert json.loads(path.read_text()) == {"version": 1, "entries": {"key": VALUE}}
    assert anyio.run(FileStore(str(path)).load, "key") == VALUE
    assert f"FileStore({str(path)!r})" == repr(FileStore(path))


def test_the_path_may_start_at_home_or_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    here = FileStore("tokens.json")
    anyio.run(FileStore("~/tokens.json").save, "key", VALUE)
    monkeypatch.chdir("/")

    assert anyio.run(here.load, "key") == VALUE


DAMAGED = [
    b"",
    b"{",
    b'{"version": 1, "entries": {"key": {"token": "s3cr3t"}}',
    b"\xff\xfe",
    b"[" * 100_000,
    b"null",
    b"[]",
    b'{"entries": {}}',
    b'{"version": 2, "entries": {}}',
    b'{"version": 1, "entries": []}',
    b'{"version": 1, "entries": {"key": "s3cr3t"}}',
]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_is_an_error_that_quotes_nothing_and_changes_nothing(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(content)
    store = FileStore(path)

    for deed in ([store.load, "key"], [store.save, "other", VALUE], [store.delete, "key"]):
        with pytest.raises(AuthorizationError, match=r"tokens\.json .*damaged") as caught:
            anyio.run(*deed)
        error: BaseException | None = caught.value
        assert isinstance(error, AuthorizationError)
        assert error.step == "store"
        while error is not None:
            assert "s3cr3t" not in repr(vars(error)) + repr(error.args)
            error = error.__context__
    assert content == path.read_bytes()


def test_a_file_is_neither_read_nor_written_when_it_is_too_large(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(path)
    anyio.run(store.save, "key", VALUE)
    monkeypatch.setattr(private_files, "MAX_BYTES", 100)

    with pytest.raises(AuthorizationError, match="would have more than 100 bytes"):
        anyio.run(store.save, "other", {"token": "x" * 100})
    assert anyio.run(store.load, "key") == VALUE

    monkeypatch.setattr(private_files, "MAX_BYTES", 10)
    with pytest.raises(AuthorizationError, match="has more than 10 bytes"):
        anyio.run(store.load, "key")


def test_a_symbolic_link_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    target, path = tmp_path / "target.json", tmp_path / "tokens.json"
    anyio.run(FileStore(target).save, "key", VALUE)
    path.symlink_to(target)
    before = target.read_bytes()

    for deed in ([FileStore(path).load, "key"], [FileStore(path).save, "key", {}]):
        with pytest.raises(AuthorizationError, match="is a symbolic link"):
            anyio.run(*deed)
    assert (True, before) == (path.is_symlink(), target.read_bytes())


def test_a_link_in_the_place_of_the_new_file_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "tokens.json.new").symlink_to(victim)
    store = FileStore(tmp_path / "tokens.json")
    anyio.run(store.save, "key", VALUE)

    assert (victim.read_text(), anyio.run(store.load, "key")) == ("precious", VALUE)
    assert not (tmp_path / "tokens.json").is_symlink()


def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()

    with pytest.raises(AuthorizationError, match="not an ordinary file"):
        anyio.run(FileStore(tmp_path / "fifo").load, "key")
    with pytest.raises(AuthorizationError, match="not an ordinary file"):
        anyio.run(FileStore(tmp_path / "folder").load, "key")


@pytest.mark.skipif(not IS_ROOT, reason="only root may give a file away")
@pytest.mark.parametrize("whose", ["tokens.json", "tokens.json.locks"])
def test_what_belongs_to_somebody_else_is_refused(tmp_path: Path, whose: str) -> None:
    store = FileStore(tmp_path / "tokens.json")
    anyio.run(store.save, "key", VALUE)
    os.chown(tmp_path / whose, 12345, -1)

    with pytest.raises(AuthorizationError, match=rf"{whose} belongs to user 12345"):
        anyio.run(store.save, "key", {})
    assert json.loads((tmp_path / "tokens.json").read_text())["entries"]["key"] == VALUE


READ_ONLY = """
import os, sys, tempfile, anyio
from snodo_actors.oauth.file_store import FileStore
from snodo_actors.oauth.words.errors import AuthorizationError

async def lock():
    async with store.locked("key", 1.0): pass

with tempfile.TemporaryDirectory() as folder:  # all is imported before we give up our rights
    store = FileStore(folder + "/tokens.json")
    anyio.run(store.save, "key", {})
    anyio.run(lock)
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(12345); os.setuid(12345)  # root may write anywhere
store = FileStore(sys.argv[1])
print(anyio.run(store.load, "key"))
for deed in ([store.save, "key", {}], [store.delete, "key"], [lock]):
    try:
        anyio.run(*deed)
    except AuthorizationError as error:
        print(error.step, type(error.cause).__name__, sys.argv[1] in str(error))
"""


@pytest.mark.parametrize("locks", [False, True])
def test_a_folder_that_is_only_read_can_be_read_and_says_so_when_written(locks: bool) -> None:
    folder = Path(tempfile.mkdtemp())  # pytest's own is closed to other users
    try:
        path = folder / "tokens.json"
        anyio.run(FileStore(path).save, "key", VALUE)
        if not locks:
            shutil.rmtree(f"{path}.locks")
        for entry in list(folder.rglob("*")):
            if IS_ROOT:
                os.chown(entry, 12345, -1)
        folder.chmod(0o555)
        ran = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)

    refused = "store PermissionError True"
    # The folder of the locks may be written though the one of the file may not.
    last = [] if locks else [refused]
    assert [str(VALUE), refused, refused, *last] == ran.stdout.splitlines()


def test_without_filelock_the_error_says_what_to_install(tmp_path: Path) -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "import sys; sys.modules['filelock'] = None\n"
                "from snodo_actors.oauth.file_store import FileStore\n"
                "FileStore('x')"
            ),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "pip install 'snodo-actors[oauth]'" in said.stderr
