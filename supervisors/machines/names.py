"""Who owns which key.

One table for unique and for duplicate keys, looked up from either side in constant time. Knows
nothing of processes: owners are any hashable things that compare by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

O = TypeVar("O", bound=Hashable)  # noqa: E741  # an owner


class Names(Generic[O]):
    """Entries of (key, owner, value), in the order they were made."""

    def __init__(self, *, unique: bool) -> None:
        self.unique = unique
        self._entries: dict[Hashable, list[tuple[O, Any]]] = {}
        self._keys: dict[O, dict[Hashable, int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def register(self, key: Hashable, owner: O, value: Any = None) -> O | None:
        """Enter *key* for *owner*. Returns the owner that has it already, if keys are unique."""
        entries = self._entries.get(key)
        if entries is None:
            entries = self._entries[key] = []
        elif self.unique:
            return entries[0][0]
        entries.append((owner, value))
        keys = self._keys.setdefault(owner, {})
        keys[key] = keys.get(key, 0) + 1
        return None

    def unregister(self, key: Hashable, owner: O) -> bool:
        """Take out every entry of *key* that is *owner*'s; False if there was none."""
        return self._remove(key, owner, lambda _value: True) > 0

    def unregister_value(self, key: Hashable, owner: O, value: Any) -> bool:
        """Take out the entries of *key* that are *owner*'s and hold *value*."""
        return self._remove(key, owner, lambda held: bool(held == value)) > 0

    def release(self, owner: O) -> list[Hashable]:
        """Take out every entry of *owner* and say which keys it had."""
        keys = list(self._keys.get(owner, ()))
        for key in keys:
            self._remove(key, owner, lambda _value: True)
        return keys

    def lookup(self, key: Hashable) -> list[tuple[O, Any]]:
        """The (owner, value) entries of *key*, oldest first."""
        return list(self._entries.get(key, ()))

    def owner(self, key: Hashable) -> O | None:
        """The first owner of *key*, or None."""
        entries = self._entries.get(key)
        return entries[0][0] if entries else None

    def keys(self, owner: O) -> list[Hashable]:
        """The keys of *owner*, oldest first; a key it has several times is named as often."""
        return [key for key, n in self._keys.get(owner, {}).items() for _ in range(n)]

    def entries(self) -> list[tuple[Hashable, O, Any]]:
        """All entries as (key, owner, value)."""
        return [(key, owner, value) for key, held in self._entries.items() for owner, value in held]

    def update(self, key: Hashable, owner: O, value: Any) -> tuple[Any, Any] | None:
        """Give *owner*'s entry of a unique *key* a new value; returns (new, old), or None."""
        entries = self._entries.get(key)
        if not entries or entries[0][0] is not owner:
            return None
        old = entries[0][1]
        entries[0] = (owner, value)
        return value, old

    def _remove(self, key: Hashable, owner: O, condition: Callable[[Any], bool]) -> int:
        entries = self._entries.get(key)
        if entries is None:
            return 0
        kept = [entry for entry in entries if not (entry[0] is owner and condition(entry[1]))]
        removed = len(entries) - len(kept)
        if not removed:
            return 0
        if kept:
            self._entries[key] = kept
        else:
            del self._entries[key]
        keys = self._keys[owner]
        keys[key] -= removed
        if not keys[key]:
            del keys[key]
        if not keys:
            del self._keys[owner]
        return removed
