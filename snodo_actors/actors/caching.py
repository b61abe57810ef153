"""What clients keep of results: one store for the program, looked at before a request is sent.

A result is kept as the JSON text of it, and each hit reads that text anew, so no caller sees what
another does to its copy. The text is needed anyhow, to know the size; to read that of a list of
twenty tools takes 33 us, where a deep copy of the list takes 274 us.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from snodo_actors.actors import telemetry
from snodo_actors.actors.request import Profile, Request
from snodo_actors.machines.cache import CACHEABLE, Cache, Hints, Key, read_hints
from snodo_actors.wire import codec
from snodo_actors.words.client_options import ClientOptions
from snodo_actors.words.request_options import RequestOptions
from snodo_actors.words.types import Session, is_object
from supervisors import Ref

_INPUT: Final = ("inputResponses", "requestState")


class Store:
    """Results, for every thread; *now* is the time that they grow old by, in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._cache: Cache[bytes] = Cache()
        self._lock = threading.Lock()
        self._now = now

    def find(self, key: Key) -> tuple[bytes | None, int]:
        """Find the fresh result of *key*, and the generation to hand in at `keep`."""
        with self._lock:
            return self._cache.lookup(key, self._now()), self._cache.generation

    def keep(self, key: Key, text: bytes, hints: Hints, *, size: int, generation: int) -> None:
        """Keep a result, unless something was invalidated since its *generation*."""
        with self._lock:
            self._cache.store(key, text, hints, size=size, generation=generation, now=self._now())

    def notified(self, namespaces: Iterable[Hashable], method: object, params: object) -> None:
        """Forget what an event of a stream makes stale; to be called as soon as it arrives."""
        if not isinstance(method, str):
            return
        with self._lock:
            self._cache.invalidate(namespaces, method, params)

    def forget(self, namespace: Hashable) -> None:
        """Forget the results of a connection that has ended."""
        with self._lock:
            self._cache.forget(namespace)


STORE = Store()


@dataclass(frozen=True, slots=True)
class Sharing:
    """Which clients share what is kept: those of one server, that ask it in the same way.

    Attributes:
        namespace: Which server.
        variant: What else the connection's results depend on.
        credential: Makes the key of who asks, for private results, of the session; None if that is
            not known before a request is under way, or never. The key None means unknown, too.
    """

    namespace: Hashable
    variant: Hashable = None
    credential: Callable[[Session | None], Hashable] | None = None


class Lookup:
    """A look at what is kept, for one request, and what is to be kept of its result.

    A transport that learns only while it carries the request out who asks calls `answers`, and sets
    `credential` again if it got the answer as somebody else.
    """

    __slots__ = ("_generation", "_key", "_key_size", "_who_asks", "credential")

    def __init__(
        self, key: Key, key_size: int, who_asks: Callable[[], Hashable] | None = None
    ) -> None:
        self._key = key
        self._key_size = key_size
        self._who_asks = who_asks
        self._generation = -1
        self.credential: Hashable = None

    def answers(self, request: Request, credential: Hashable = None) -> bool:
        """Answer *request* if there is what *credential* may see; None: what everybody may see."""
        self.credential = credential
        text, generation = STORE.find(self._key.private(credential))
        if self._generation < 0:
            self._generation = generation
        if text is None:
            return False
        if telemetry.handlers:
            telemetry.emit(
                "cache.hit", who=request.who, method=request.method, params=request.params
            )
        request.try_set(codec.decode_own(text))
        return True

    def keep(self, result: Any) -> None:
        """Keep the *result* that was sent for, if its hints allow it."""
        hints = read_hints(result) if is_object(result) else None
        if self._who_asks is not None and self._who_asks() != self.credential:
            self.credential = None  # it changed on the way: nobody knows who was answered
        if hints is None or (hints.scope == "private" and self.credential is None):
            return
        try:
            text = codec.encode(result)
        except (TypeError, ValueError):
            return  # somebody's own transport gave what is no JSON
        size, key = self._key_size + len(text), self._key.private(self.credential)
        STORE.keep(key, text, hints, size=size, generation=self._generation)


class Caching:
    """What one client looks up and keeps."""

    __slots__ = ("_asker", "_client", "_profile")

    def __init__(self, client: ClientOptions, profile: Profile | None) -> None:
        self._client = client
        self._profile = profile
        self._asker: bytes | None = None

    def answers(self, request: Request, options: RequestOptions, sharing: Sharing) -> bool:
        """Answer *request* if that can be done here; else let its result be kept, if it may be."""
        method, params = request.method, request.params
        if method not in CACHEABLE or not options.is_plain or any(n in params for n in _INPUT):
            return False
        asker, text = self._what_it_says(), codec.encode_sorted(params)
        uri = params.get("uri") if method == "resources/read" else None
        key = Key(
            sharing.namespace,
            method,
            uri if isinstance(uri, str) else None,
            (asker, sharing.variant, text),
        )
        who_asks = None
        if sharing.credential is not None:
            session = self._profile.session if self._profile is not None else None
            who_asks = partial(sharing.credential, session)
        lookup = Lookup(key, len(asker) + len(method) + len(text), who_asks)
        if lookup.answers(request):
            return True
        credential = who_asks() if who_asks is not None else None
        if credential is not None and lookup.answers(request, credential):
            return True
        request.lookup = lookup
        return False

    def _what_it_says(self) -> bytes:
        """What every request says of the client: another version or capability, another result."""
        if self._asker is None:
            profile, client = self._profile, self._client
            version = None if profile is None else profile.version
            capabilities = client.capabilities if profile is None else profile.capabilities
            self._asker = codec.encode_sorted([version, capabilities, client.client_info])
        return self._asker


def sharing_of_port(port: Ref) -> Sharing:
    """With whom a client shares whose connection is the actor *port*: those who use that one.

    A server that is started anew has another port, and may have other results.
    """
    return Sharing(("port", port.id))


def sharing_of_nobody() -> Sharing:
    """With whom a client shares of whose server nothing is known: with no other."""
    return Sharing(object())


def sharing_of_runtime(runtime: Any, auth: Any) -> Sharing:
    """With whom the client of an in-process server shares: with all of *runtime*.

    What is private is shared by those with the same *auth*: equal in type and value, or the same
    object. It is looked at each time, as it may change. One that cannot be compared, since it has
    no hash and is no dict, list, tuple or set of what has, gets only what is public.
    """

    def credential(session: Session | None) -> Hashable:
        try:
            return _frozen(auth), session.id if session is not None else None
        except (TypeError, RuntimeError):  # it holds itself, or changes right now
            return None

    try:
        hash(runtime)
    except TypeError:
        return Sharing(object(), credential=credential)
    return Sharing(("runtime", runtime), credential=credential)


def _frozen(value: Any) -> Hashable:
    """Make a key of *value*; 1 and True are two, unlike for a dict.

    Raises:
        TypeError: There is something in it that has no hash.
    """
    kind: Any = value.__class__
    if kind is dict:
        return kind, frozenset((_frozen(name), _frozen(item)) for name, item in value.items())
    if kind is set or kind is frozenset:
        return kind, frozenset(map(_frozen, value))
    if kind is list or kind is tuple:
        return kind, tuple(map(_frozen, value))
    hash(value)
    return kind, value
