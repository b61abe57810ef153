"""Values in a keyring: in pieces where they are long, and what a keyring that fails makes of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from keyring.errors import KeyringLocked, PasswordSetError
from keyrings import StrictKeyring, keyring_of_this_process

from snodo_actors.oauth.keyring_store import KeyringStore
from snodo_actors.oauth.words.errors import AuthorizationError

LONG = {"token": "s3cr3t" * 100}


@pytest.fixture
def strict() -> Iterator[StrictKeyring]:
    """A keyring that takes at most 100 characters."""
    with keyring_of_this_process(StrictKeyring(100)) as ours:
        yield ours


@pytest.fixture
def store(strict: StrictKeyring, tmp_path: Path) -> KeyringStore:
    return KeyringStore("test", lock_folder=tmp_path, max_characters=100)


def test_a_short_value_is_one_password_of_the_user_with_the_name_of_the_key(
    store: Any, strict: StrictKeyring
) -> None:
    anyio.run(store.save, "https://example.test/mcp", {"a": 1})

    assert strict.passwords == {("test", "https://example.test/mcp"): '{"value":{"a":1}}'}
    assert repr(store) == "KeyringStore('test')"


def test_a_long_value_is_kept_in_pieces_of_which_none_is_left_over(
    store: Any, strict: StrictKeyring
) -> None:
    for value in (LONG, {"token": "n" * 300}, LONG):
        anyio.run(store.save, "key", value)
        assert value == anyio.run(store.load, "key")
    assert len(strict.passwords) == 8
    assert max(map(len, strict.passwords.values())) == 100

    anyio.run(store.save, "key", {"short": True})
    assert list(strict.passwords) == [("test", "key")]

    anyio.run(store.save, "key", LONG)
    anyio.run(store.delete, "key")
    assert strict.passwords == {}


def test_a_save_that_fails_midway_leaves_the_old_value_and_no_pieces(
    store: Any, strict: StrictKeyring
) -> None:
    anyio.run(store.save, "key", {"old": True})
    for sets in range(8):
        strict.sets_left = sets
        with pytest.raises(AuthorizationError, match="could not be changed") as caught:
            anyio.run(store.save, "key", LONG)
        assert "s3cr3t" not in f"{caught.value!r}{caught.value.__context__!r}"
        assert list(strict.passwords) == [("test", "key")]
        assert anyio.run(store.load, "key") == {"old": True}


def test_who_reads_while_it_is_saved_anew_gets_the_old_or_the_new(
    store: Any, strict: StrictKeyring, tmp_path: Path
) -> None:
    anyio.run(store.save, "key", LONG)
    other = KeyringStore("test", lock_folder=tmp_path / "other", max_characters=100)

    def between(username: str) -> None:
        if username.endswith(", 3)"):
            strict.on_get = None
            anyio.run(other.save, "key", {"new": "n" * 200})

    strict.on_get = between
    assert anyio.run(store.load, "key") == {"new": "n" * 200}


@pytest.mark.parametrize("damage", ["not JSON", "{}", "[]", '{"value": 1}', "a piece is gone"])
def test_a_damaged_value_is_an_error_that_quotes_nothing(
    store: Any, strict: StrictKeyring, damage: str
) -> None:
    anyio.run(store.save, "key", LONG)
    if damage == "a piece is gone":
        del strict.passwords[next(name for name in strict.passwords if name[1].endswith(", 2)"))]
    else:
        strict.passwords["test", "key"] = damage

    with pytest.raises(AuthorizationError, match=r"'key' .* is damaged") as caught:
        anyio.run(store.load, "key")
    assert "s3cr3t" not in repr(vars(caught.value))
    assert caught.value.__context__ is None
    # Signing in again is what mends it.
    anyio.run(store.save, "key", {"new": True})
    assert anyio.run(store.load, "key") == {"new": True}


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (KeyringLocked("the user has not unlocked it"), "the user has not unlocked it"),
        (PasswordSetError(), "PasswordSetError"),
        (RuntimeError("s3cr3t"), "RuntimeError"),
    ],
)
def test_what_a_keyring_raises_becomes_one_error(
    store: Any, strict: StrictKeyring, failure: Exception, said: str
) -> None:
    strict.fails = failure
    for deed in ([store.load, "key"], [store.save, "key", LONG], [store.delete, "key"]):
        with pytest.raises(AuthorizationError, match=said) as caught:
            anyio.run(*deed)
        assert (caught.value.step, caught.value.delivery) == ("store", "never_sent")
        assert "s3cr3t" not in f"{caught.value!r}{caught.value.__cause__!r}"
        assert caught.value.__context__ is None


def test_without_a_keyring_the_error_says_what_keyring_says(strict: Any, store: Any) -> None:
    keyring.set_keyring(NoKeyring())

    with pytest.raises(AuthorizationError, match="No recommended backend was available"):
        anyio.run(store.load, "key")


def test_locks_are_in_the_users_state_folder(
    strict: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    anyio.run(KeyringStore().save, "key", {"a": 1})
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    anyio.run(KeyringStore().save, "key", {"a": 1})

    for folder in ("state", "home/.local/state"):
        assert len(list((tmp_path / folder / "snodo-actors" / "locks").iterdir())) == 1


def test_without_keyring_the_error_says_what_to_install() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "import sys; sys.modules['keyring'] = None\n"
                "from snodo_actors.oauth.keyring_store import KeyringStore\n"
                "KeyringStore()"
            ),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "pip install 'snodo-actors[keyring]'" in said.stderr
