"""Which authorization server a client belongs to that was registered at one nobody named."""

from __future__ import annotations

from snodo_actors.oauth.discovery import Place, not_registered
from snodo_actors.oauth.store import Store
from snodo_actors.oauth.words.client import RegisteredClient


class Issuers:
    """The issuers of clients: the first that a server names is taken for it, once for all."""

    def __init__(self, store: Store, lock_timeout: float) -> None:
        self._store = store
        self._lock_timeout = lock_timeout

    async def of(self, client: RegisteredClient) -> str | None:
        """Find the issuer of *client*; None: no server has named one yet."""
        if client.issuer is not None:
            return client.issuer
        bound = await self._store.load(_key(client))
        return None if bound is None else bound.get("issuer")

    async def bind(self, client: RegisteredClient, place: Place) -> None:
        """Take the issuer of *place* for that of *client*, before anything of it goes there.

        Raises:
            AuthorizationError: It is another one by now.
        """
        if await self.of(client) == place.issuer:
            return
        async with self._store.locked(_key(client), self._lock_timeout):
            issuer = await self.of(client)
            if issuer is None:
                await self._store.save(_key(client), {"issuer": place.issuer})
            elif issuer != place.issuer:  # another server was quicker
                raise not_registered(issuer, (place.issuer,), place.server_url)


def _key(client: RegisteredClient) -> str:
    return f"issuer {client.client_id}"
