"""The calls that take more than one request: input rounds and lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from snodo_actors.actors.conversation import Flow, Pause, UserCode
from snodo_actors.actors.request import Request
from snodo_actors.machines.inputs import Failed as InputFailed
from snodo_actors.machines.inputs import InputRounds, Run
from snodo_actors.machines.pages import (
    LIST_METHODS,
    Complete,
    Failed,
    Fetch,
    Pages,
    page_params,
    read_page,
)
from snodo_actors.words.errors import Error
from snodo_actors.words.types import (
    InputHandler,
    InputKind,
    InputRequired,
    JSONObject,
    ListKind,
    Page,
)


class NewRequest(Protocol):
    """Makes one more request of a call; *again* is what an input round adds to its params."""

    def __call__(
        self, method: str, params: Mapping[str, Any], again: JSONObject | None = None
    ) -> Request:
        """Make the request."""
        ...


def ask(
    new_request: NewRequest,
    method: str,
    params: Mapping[str, Any],
    handlers: Mapping[InputKind, InputHandler],
    rounds: InputRounds | None,
) -> Flow:
    """One request and, with *rounds*, as many more as the server asks for input."""
    outcome: Any = yield from _sent(new_request(method, params))
    while rounds is not None and isinstance(outcome, InputRequired):
        deed = rounds.required(outcome.result)
        while isinstance(deed, Run):
            deed = rounds.returned((yield UserCode(handlers[deed.kind], deed.params)))
        if isinstance(deed, InputFailed):
            raise deed.error
        if deed.delay:
            yield Pause(deed.delay)
        outcome = yield new_request(method, params, deed.params)
    if isinstance(outcome, Error):
        raise outcome
    return outcome


def _sent(request: Request) -> Flow:
    """Send *request*, unless it was answered here: no step, as a list may have many such pages."""
    if request.done() and request.exception() is None:
        return request.get()
    return (yield request)


Asking = Callable[[str, Mapping[str, Any]], Flow]
"""`ask` with everything but the method and the params given."""


Thin = Callable[[Page], Page]
"""Takes out of a page what cannot be used on this connection."""


def list_page(asking: Asking, kind: ListKind, cursor: str | None, thin: Thin) -> Flow:
    """One page of a list."""
    page = read_page(kind, (yield from _outcome(asking, kind, page_params(cursor))))
    if isinstance(page, Error):
        raise page
    return thin(page)


def list_all(asking: Asking, kind: ListKind, max_pages: int, thin: Thin) -> Flow:
    """Every item of a list, page after page."""
    pages = Pages(kind, max_pages)
    deed: Fetch | Complete | Failed = pages.start()
    while isinstance(deed, Fetch):
        page = read_page(kind, (yield from _outcome(asking, kind, deed.params)))
        deed = pages.fetched(page if isinstance(page, Error) else thin(page))
    if isinstance(deed, Failed):
        raise deed.error
    return deed.items


def _outcome(asking: Asking, kind: ListKind, params: JSONObject) -> Flow:
    try:
        return (yield from asking(LIST_METHODS[kind][0], params))
    except Error as error:
        return error
