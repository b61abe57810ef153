"""Values as passwords in a keyring, one or several for each.

Knows how a value is cut into what a keyring can take, and that a reader needs no lock; knows
nothing of tasks and errors.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
from typing import Any, cast

from snodo_actors.oauth.words.errors import AuthorizationError

MAX_CHARACTERS = 1200 if sys.platform == "win32" else None
"""Characters that a password may have: Windows takes 2,560 bytes of UTF-16."""

_READINGS = 10


class KeyringEntries:
    """The passwords of *service*. The first of a value holds it, or says which pieces do."""

    def __init__(self, service: str, max_characters: int | None) -> None:
        self._service = service
        self._max_characters = max_characters

    def load(self, name: str) -> dict[str, Any] | None:
        """Return the value of *name*; None if there is none.

        Raises:
            AuthorizationError: It is damaged.
            Exception: What the keyring raises.
        """
        before = None
        for _ in range(_READINGS):
            first = self._get(name)
            if first is None:
                return None
            pieces = [self._get(piece) for piece in _pieces(name, first)]
            whole = [piece for piece in pieces if piece is not None]
            if len(whole) == len(pieces):
                return self._value(name, "".join(whole) if pieces else first)
            if first == before:
                break
            before = first  # it may have been saved anew, and its old pieces are gone
        raise self._damaged(name)

    def save(self, name: str, text: str) -> None:
        """Keep the JSON *text* under *name*; until its last step the old one is whole.

        Raises:
            Exception: What the keyring raises.
        """
        old = self._get(name)
        pieces: list[str] = []
        first = text
        try:
            if self._max_characters is not None and len(text) > self._max_characters:
                size = self._max_characters
                parts = [text[start : start + size] for start in range(0, len(text), size)]
                first = json.dumps({"pieces": len(parts), "series": secrets.token_hex(4)})
                pieces = _pieces(name, first)
                for piece, part in zip(pieces, parts, strict=True):
                    self._set(piece, part)
            self._set(name, first)
        except BaseException:
            self._forget(pieces)
            raise
        self._forget(_pieces(name, old))

    def delete(self, name: str) -> None:
        """Forget *name*.

        Raises:
            Exception: What the keyring raises.
        """
        import keyring  # noqa: PLC0415  # an extra

        old = self._get(name)
        if old is not None:
            keyring.delete_password(self._service, name)
            self._forget(_pieces(name, old))

    def _get(self, name: str) -> str | None:
        import keyring  # noqa: PLC0415  # an extra

        return keyring.get_password(self._service, name)

    def _set(self, name: str, password: str) -> None:
        import keyring  # noqa: PLC0415  # an extra

        keyring.set_password(self._service, name, password)

    def _forget(self, names: list[str]) -> None:
        import keyring  # noqa: PLC0415  # an extra

        for name in names:
            # What is left of an old value harms nobody, and the new one is in its place.
            with contextlib.suppress(Exception):
                keyring.delete_password(self._service, name)

    def _value(self, name: str, text: str) -> dict[str, Any]:
        match _document(text):
            case {"value": dict()} as document:
                return cast("dict[str, Any]", document["value"])
            case _:
                raise self._damaged(name)

    def _damaged(self, name: str) -> AuthorizationError:
        return AuthorizationError(
            "store",
            f"the password of {name!r} in the service {self._service!r} of the keyring is damaged."
            " Nothing was changed: delete it there and sign in again",
        )


def _pieces(name: str, first: str | None) -> list[str]:
    """Name the passwords that hold what *first* does not hold itself."""
    match _document(first or ""):
        case {"pieces": int(count), "series": str(series)}:
            return [f"{name} ({series}, {number})" for number in range(1, count + 1)]
        case _:
            return []


def _document(text: str) -> Any:
    """Read JSON; None if it is none, for the reason would quote it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
