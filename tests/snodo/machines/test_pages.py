from __future__ import annotations

import pytest

from snodo_actors.machines.pages import (
    LIST_METHODS,
    Complete,
    Failed,
    Fetch,
    Pages,
    page_params,
    read_page,
)
from snodo_actors.words.errors import ServerError
from snodo_actors.words.types import InputRequired, Page

REFUSED = ServerError(-32603, "no")

# what is meant, max_pages, cursors of the pages, what is sent, the end
WALKS = [
    ("one page", 9, [None], [{}], 1),
    ("pages in order", 9, ["a", "b", None], [{}, {"cursor": "a"}, {"cursor": "b"}], 3),
    ("an empty cursor is a cursor", 9, ["", None], [{}, {"cursor": ""}], 2),
    ("as many pages as allowed", 2, ["a", None], [{}, {"cursor": "a"}], 2),
    ("a repeated cursor", 9, ["a", "a"], [{}, {"cursor": "a"}], ("tools", "a")),
    (
        "a circle of cursors",
        9,
        ["a", "b", "a"],
        [{}, {"cursor": "a"}, {"cursor": "b"}],
        ("tools", "a"),
    ),
    ("an empty cursor repeated", 9, ["", ""], [{}, {"cursor": ""}], ("tools", "")),
    ("no end within the limit", 2, ["a", "b"], [{}, {"cursor": "a"}], ("tools", 2)),
    ("no end on the only page", 1, ["a"], [{}], ("tools", 1)),
]


@pytest.mark.parametrize(
    ("max_pages", "cursors", "sent", "end"),
    [row[1:] for row in WALKS],
    ids=[row[0] for row in WALKS],
)
def test_walk(max_pages, cursors, sent, end):
    pages = Pages("tools", max_pages)
    deed = pages.start()
    for number, cursor in enumerate(cursors):
        assert Fetch(sent[number]) == deed
        deed = pages.fetched(Page([{"name": str(number)}], cursor, {}))

    if isinstance(end, int):
        assert Complete([{"name": str(number)} for number in range(end)]) == deed
    else:
        assert isinstance(deed, Failed)
        assert (-32000, "transport", end) == (deed.error.code, deed.error.kind, deed.error.cause)


def test_the_first_error_ends_the_walk():
    pages = Pages("prompts", 9)
    pages.start()
    pages.fetched(Page([{}], "a", {}))
    assert Failed(REFUSED) == pages.fetched(REFUSED)


@pytest.mark.parametrize("kind", list(LIST_METHODS))
def test_a_page_has_items_a_cursor_and_the_whole_result(kind):
    result = {LIST_METHODS[kind][1]: [{"name": "a"}], "nextCursor": "c", "ttlMs": 5}
    assert Page([{"name": "a"}], "c", result) == read_page(kind, result)


@pytest.mark.parametrize("result", [{"tools": []}, {"tools": [], "nextCursor": None}])
def test_the_last_page_has_no_cursor(result):
    assert Page([], None, result) == read_page("tools", result)


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"resources": []},
        {"tools": None},
        {"tools": {}},
        {"tools": "ab"},
        {"tools": [], "nextCursor": 5},
        {"tools": [], "nextCursor": ["c"]},
    ],
)
def test_what_is_no_page_is_an_error(result):
    error = read_page("tools", result)
    assert (-32000, "transport", result) == (error.code, error.kind, error.cause)


def test_a_list_cannot_ask_for_input():
    result = {"resultType": "input_required"}
    error = read_page("tools", InputRequired(result))
    assert (-32000, "transport", result) == (error.code, error.kind, error.cause)


def test_an_error_stays_an_error():
    assert REFUSED is read_page("tools", REFUSED)


def test_a_cursor_is_sent_back_as_it_came():
    assert (page_params(None), page_params("é=/?& +")) == ({}, {"cursor": "é=/?& +"})
