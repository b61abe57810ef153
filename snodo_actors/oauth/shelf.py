"""The tokens of one provider: at hand, and in the store that others may share."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from enum import Enum, auto

import anyio

from snodo_actors.oauth.bounded import put, put_if_absent
from snodo_actors.oauth.proofs import Proofs
from snodo_actors.oauth.store import Store
from snodo_actors.oauth.words.tokens import Tokens


class _Nothing(Enum):
    NOTHING = auto()


_NOTHING = _Nothing.NOTHING
"""Stands for what is not known, where None stands for there being none."""


class Shelf:
    """What the *owner* has for each server, by its URL.

    *owner* tells apart providers of other kinds and clients, who may share a store.
    """

    def __init__(self, store: Store, owner: str, proofs: Proofs | None) -> None:
        self.store = store
        self._owner = owner
        self._proofs = proofs
        self._at_hand: dict[str, Tokens | None] = {}

    def locked(self, url: str, timeout: float) -> AbstractAsyncContextManager[None]:
        """Be the only one, of all tasks, threads and processes, to get tokens for *url*."""
        return self.store.locked(self._name(url), timeout)

    def at_hand(self, url: str) -> Tokens | None:
        """Return what is at hand, if anything is."""
        return self._at_hand.get(url)

    async def look(self, url: str, timeout: float) -> Tokens | None:
        """Return what is at hand, or what the store had when it was asked first."""
        # One step: another thread may take it away between two.
        found = self._at_hand.get(url, _NOTHING)
        if not isinstance(found, _Nothing):
            return found
        if self._proofs is None:
            tokens = await self._load(url)
            # Without the lock: what was saved or forgotten meanwhile is newer.
            return put_if_absent(self._at_hand, url, tokens)
        async with self.locked(url, timeout):  # a key may be made
            return await self.read(url)

    async def read(self, url: str) -> Tokens | None:
        """Read what the store has now, and have the key at hand that it is bound to.

        Where there are keys, the lock is held.
        """
        if self._proofs is not None:
            await self._proofs.load(url)
        tokens = await self._load(url)
        put(self._at_hand, url, tokens)
        return tokens

    async def _load(self, url: str) -> Tokens | None:
        return Tokens.from_json(await self.store.load(self._name(url)))

    async def save(self, url: str, tokens: Tokens) -> Tokens:
        """Keep new *tokens*; the lock is held.

        They are at hand even if the store fails, for a user's consent may be in them.
        """
        put(self._at_hand, url, tokens)
        with anyio.CancelScope(shield=True):  # what they were had for may be spent
            await self.store.save(self._name(url), tokens.to_json())
        return tokens

    async def forget(self, url: str) -> None:
        """Delete the tokens; the lock is held."""
        await self.store.delete(self._name(url))
        put(self._at_hand, url, None)

    def _name(self, url: str) -> str:
        return f"tokens {self._owner} {url}"
