"""Whether a list goes on, and with which cursor.

Knows pages and cursors; knows nothing of requests. A cursor means only itself: the empty string is
one, and only its absence (or null) ends a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from snodo_actors.wire.jsonrpc import Outcome
from snodo_actors.words.errors import Error
from snodo_actors.words.failures import malformed_page, repeated_cursor, too_many_pages
from snodo_actors.words.types import InputRequired, JSONObject, ListKind, Page, is_list

LIST_METHODS: Final[dict[ListKind, tuple[str, str]]] = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "resource_templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
}
"""The method of each kind of list, and where its result has the items."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """Send the list request with these *params*."""

    params: JSONObject


@dataclass(frozen=True, slots=True)
class Complete:
    """These are all the *items*, in order."""

    items: list[JSONObject]


@dataclass(frozen=True, slots=True)
class Failed:
    """Fail with *error*; the items so far are lost."""

    error: Error


Deed: TypeAlias = Fetch | Complete | Failed


def page_params(cursor: str | None) -> JSONObject:
    """Build the params that ask for the page at *cursor*, or for the first."""
    return {} if cursor is None else {"cursor": cursor}


def read_page(kind: ListKind, outcome: Outcome) -> Page | Error:
    """Read one page of a list; an answer that is none is an error."""
    if isinstance(outcome, Error):
        return outcome
    if isinstance(outcome, InputRequired):
        return malformed_page(outcome.result)
    items = outcome.get(LIST_METHODS[kind][1])
    cursor = outcome.get("nextCursor")
    if not is_list(items) or not isinstance(cursor, str | None):
        return malformed_page(outcome)
    return Page(items, cursor, outcome)


class Pages:
    """The walk through one list of at most *max_pages* pages."""

    __slots__ = ("_cursors", "_items", "_kind", "_max_pages", "_read")

    def __init__(self, kind: ListKind, max_pages: int) -> None:
        self._kind: ListKind = kind
        self._max_pages = max_pages
        self._items: list[JSONObject] = []
        self._cursors: set[str] = set()
        self._read = 0

    def start(self) -> Fetch:
        """Begin with the first page."""
        return Fetch(page_params(None))

    def fetched(self, page: Page | Error) -> Deed:
        """Go on after a *page*, whose items may have been thinned out since it was read."""
        if isinstance(page, Error):
            return Failed(page)
        self._items.extend(page.items)
        self._read += 1
        cursor = page.next_cursor
        if cursor is None:
            return Complete(self._items)
        if cursor in self._cursors:
            return Failed(repeated_cursor(self._kind, cursor))
        if self._read >= self._max_pages:
            return Failed(too_many_pages(self._kind, self._max_pages))
        self._cursors.add(cursor)
        return Fetch(page_params(cursor))
