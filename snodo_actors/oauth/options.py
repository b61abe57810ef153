"""The options that all token providers take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypedDict

import httpx

from snodo_actors.oauth.store import Store
from snodo_actors.words.types import Inherit


class ProviderOptions(TypedDict, total=False):
    """What a token provider takes beside what is its own; times are seconds.

    - `scope`: asked for in place of what the server's metadata list; a text with spaces, or a list.
      What the server wants at the moment is added to it.
    - `store`: where tokens and registrations are kept; a `MemoryStore` if left out.
    - `dpop`: true has the tokens bound to a key of ours (RFC 9449), and refuses others.
    - `timeout`: for each request to a metadata document or an authorization server; 30 s.
    - `max_step_ups`: how often more scopes are asked for in vain; 2.
    - `ssl`, `proxy`: as for `connect`.
    - `allow_private_networks`: true lets a server elsewhere name metadata in a private network.
    - `transport`: a function that makes an httpx transport for those requests; it does without the
      three before.
    """

    scope: str | Iterable[str] | None
    store: Store | None
    dpop: bool
    timeout: float
    max_step_ups: int
    ssl: Any
    proxy: str | Inherit | None
    allow_private_networks: bool
    transport: Callable[[], httpx.AsyncBaseTransport] | None
