"""Results that may be used again, for how long, and by whom.

Knows keys, times, sizes and which notification makes which result stale; knows nothing of requests
or connections. It is not locked: whoever shares it between threads does that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Literal, TypeVar

from snodo_actors.words.types import is_object

R = TypeVar("R")

Scope = Literal["public", "private"]

CACHEABLE: Final = frozenset(
    {
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "resources/read",
    }
)

_STALE: Final[Mapping[str, tuple[str, ...]]] = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}


@dataclass(frozen=True, slots=True)
class Key:
    """What a result depends on.

    Attributes:
        namespace: Which server: clients with the same one share public results.
        method: The request's method.
        uri: The resource that was read, for ``resources/read``.
        rest: All else: version, capabilities, the client's name, the params as given.
        credential: Who may see a private result; None in the key of a public one.
    """

    namespace: Hashable
    method: str
    uri: str | None
    rest: Hashable
    credential: Hashable = None

    @property
    def subject(self) -> tuple[Hashable, str, str | None]:
        """What a notification names when it makes the result stale."""
        return self.namespace, self.method, self.uri

    def private(self, credential: Hashable) -> Key:
        """Make the key of the private result that *credential* may see."""
        return replace(self, credential=credential)


@dataclass(frozen=True, slots=True)
class Hints:
    """How long a result stays fresh, in seconds, and who may share it."""

    ttl: float
    scope: Scope


def read_hints(result: Mapping[str, Any]) -> Hints | None:
    """Read what the server says about keeping *result*; None: not at all."""
    ttl, scope = result.get("ttlMs"), result.get("cacheScope")
    if type(ttl) is not int or ttl <= 0 or scope not in ("public", "private"):
        return None
    return Hints(ttl / 1000, scope)


@dataclass(slots=True)
class _Entry(Generic[R]):
    result: R
    size: int
    stale_at: float


class Cache(Generic[R]):
    """At most *max_results* results of *max_bytes* together; the least recently used goes first."""

    __slots__ = ("_bytes", "_entries", "_generation", "_max_bytes", "_max_results", "_subjects")

    def __init__(self, *, max_results: int = 256, max_bytes: int = 16 * 1024 * 1024) -> None:
        self._max_results = max_results
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Key, _Entry[R]] = OrderedDict()
        self._subjects: dict[Hashable, set[Key]] = {}  # so that an event costs no walk
        self._bytes = 0
        self._generation = 0

    @property
    def generation(self) -> int:
        """A count that grows with each invalidation: note it at lookup, hand it in at `store`."""
        return self._generation

    def lookup(self, key: Key, now: float) -> R | None:
        """Find the fresh result of *key*."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if now >= entry.stale_at:
            self._remove(key)
            return None
        self._entries.move_to_end(key)
        return entry.result

    def store(
        self, key: Key, result: R, hints: Hints, *, size: int, generation: int, now: float
    ) -> bool:
        """Keep *result*, unless something was invalidated since its lookup or it is too large.

        *key* carries the credential that got the answer: a private result without one is not kept,
        a public one is kept for everybody.
        """
        if generation != self._generation or size > self._max_bytes:
            return False
        if hints.scope == "public":
            key = key.private(None)
        elif key.credential is None:
            return False
        self._remove(key)
        self._entries[key] = _Entry(result, size, now + hints.ttl)
        self._subjects.setdefault(key.subject, set()).add(key)
        self._bytes += size
        while len(self._entries) > self._max_results or self._bytes > self._max_bytes:
            self._remove(next(iter(self._entries)))
        return True

    def invalidate(self, namespaces: Iterable[Hashable], method: str, params: object) -> int:
        """Remove what the notification *method* makes stale; count the removed.

        *namespaces*: those of the server it came from.
        """
        if method == "notifications/resources/updated":
            uri = params.get("uri") if is_object(params) else None
            if not isinstance(uri, str):
                return 0
            methods: tuple[str, ...] = ("resources/read",)
        else:
            uri = None
            methods = _STALE.get(method, ())
            if not methods:
                return 0
        self._generation += 1
        if not self._entries:
            return 0  # as in a program that keeps nothing, and may have thousands of streams
        subjects = [(namespace, method, uri) for namespace in namespaces for method in methods]
        stale = [key for subject in subjects for key in self._subjects.get(subject, ())]
        for key in stale:
            self._remove(key)
        return len(stale)

    def forget(self, namespace: Hashable) -> None:
        """Remove every result of a server that is there no more."""
        for key in [key for key in self._entries if key.namespace == namespace]:
            self._remove(key)

    def _remove(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._bytes -= entry.size
        subject = self._subjects[key.subject]
        subject.remove(key)
        if not subject:
            del self._subjects[key.subject]

    @property
    def bytes_held(self) -> int:
        """How large the results are together."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)
