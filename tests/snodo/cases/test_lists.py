"""A list follows its cursors to the end, and has an end whatever the cursors are."""

from __future__ import annotations

import pytest
from case_servers import across, echoes, lost, timed_out, took

import snodo_actors as snodo

ODD = "é=/?& +\u2028\x00😀"


@pytest.fixture
def pages(server_of):
    return server_of("pages")


def asked(server):
    return [fact["cursor"] for fact in server.facts("page")]


def names(items):
    return "".join(item["name"] for item in items)


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    ("mode", "most"), [("same", 2), ("cycle", 4), ("long cycle", 9), ("empty", 2)]
)
@across
async def test_a_cursor_that_comes_again_ends_the_list(at, pages, mode, most, protocol):
    client = await at.get(pages.connect(protocol=protocol, env={"CASE_PAGES": mode}))
    with took(below=3):
        outcome = await at.outcome(client.list_tools())
    if mode == "empty" and not isinstance(outcome, Exception):
        assert names(outcome) == "t1"
    else:
        lost(outcome)
        assert outcome.cause[0] == "tools"
    assert len(asked(pages)) <= most
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_cursors_without_end_end_at_max_pages(at, pages):
    client = await at.get(pages.connect(max_pages=5, env={"CASE_PAGES": "endless"}))
    lost(await at.error(client.list_tools()), ("tools", 5))
    assert asked(pages) == [None, "n1", "n2", "n3", "n4"]
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_as_many_pages_as_are_allowed_are_a_list(at, pages):
    client = await at.get(pages.connect(max_pages=5, env={"CASE_PAGES": "last"}))
    assert names(await at.get(client.list_tools())) == "t1t2t3t4t5"
    assert len(asked(pages)) == 5
    await at.get(client.close())


@pytest.mark.parametrize("mode", ["null", "absent"])
@across
async def test_no_cursor_is_the_last_page(at, pages, mode):
    client = await at.get(pages.connect(env={"CASE_PAGES": mode}))
    assert names(await at.get(client.list_tools())) == "t1"
    page = await at.get(client.list_page("tools"))
    assert page.next_cursor is None
    await at.get(client.close())


@across
async def test_a_cursor_goes_back_as_it_came(at, pages):
    client = await at.get(pages.connect(env={"CASE_PAGES": "three"}))
    assert names(await at.get(client.list_tools())) == "abcdefg"
    assert asked(pages) == [None, ODD, "z"]
    assert not pages.facts("page")[0]["given"], "a first page has no cursor, not a null one"
    page = await at.get(client.list_page("tools"))
    assert (names(page.items), page.next_cursor) == ("abc", ODD)
    page = await at.get(client.list_page("tools", ODD))
    assert (names(page.items), page.next_cursor) == ("de", "z")
    assert page.result["nextCursor"] == "z"
    await at.get(client.close())


@across
async def test_empty_pages_are_pages(at, pages):
    client = await at.get(pages.connect(env={"CASE_PAGES": "empty pages"}))
    assert await at.get(client.list_tools()) == []
    assert asked(pages) == [None, "1", "2", "3"]
    await at.get(client.close())


@pytest.mark.parametrize(
    "mode", ["badtype", "badlist", "false", "itemsnull", "itemsobject", "itemstring", "input"]
)
@across
async def test_what_is_no_page_fails_the_list(at, pages, mode):
    client = await at.get(pages.connect(protocol="2026-07-28", env={"CASE_PAGES": mode}))
    with took(below=2):
        lost(await at.error(client.list_tools()))
        lost(await at.error(client.list_page("tools")))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_page_without_its_items(at, pages):
    """Decided at once, and the same twice."""
    client = await at.get(pages.connect(env={"CASE_PAGES": "noitems"}))
    outcomes = [await at.outcome(client.list_tools()) for _ in range(2)]
    for outcome in outcomes:
        lost(outcome)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_items_of_odd_shape_break_nothing(at, pages):
    client = await at.get(pages.connect(env={"CASE_PAGES": "itemodd"}))
    with took(below=2):
        outcome = await at.outcome(client.list_tools())
    if isinstance(outcome, Exception):
        lost(outcome)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_error_in_the_middle_is_the_lists_error(at, pages):
    client = await at.get(pages.connect(env={"CASE_PAGES": "failmid"}))
    error = await at.error(client.list_tools())
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.message) == (-32603, "page 2 broke")
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_exit_in_the_middle_is_the_lists_error(at, pages):
    client = await at.get(pages.connect(env={"CASE_PAGES": "exitmid"}))
    with took(below=2):
        lost(await at.error(client.list_tools()), ("exit_status", 3))
    await at.get(client.close())


@across
async def test_a_page_has_its_own_time(at, pages):
    client = await at.get(pages.connect(env={"CASE_PAGES": "silentmid"}))
    with took(below=2):
        timed_out(await at.error(client.list_tools(timeout=0.4)), 0.4)
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_malformed_page_in_the_middle(at, pages):
    client = await at.get(pages.connect(env={"CASE_PAGES": "malformedmid"}))
    with took(below=2):
        lost(await at.error(client.list_tools()))
    await echoes(at, client)
    await at.get(client.close())


@pytest.mark.parametrize("kind", ["tools", "resources", "resource_templates", "prompts"])
@across
async def test_the_other_lists_are_no_different(at, pages, kind):
    client = await at.get(pages.connect(max_pages=3, env={"CASE_PAGES": "endless"}))
    lost(await at.error(getattr(client, f"list_{kind}")()), (kind, 3))
    assert len(asked(pages)) == 3
    await at.get(client.close())


@across
async def test_a_list_that_is_closed_on_the_way(at, pages):
    client = await at.get(pages.connect(env={"CASE_PAGES": "endless"}, max_pages=1_000_000))
    listing = client.list_tools()
    await at.until(lambda: len(pages.facts("page")) > 20)
    with took(below=3):
        await at.get(client.close())
        lost(await at.error(listing), "closed")
