"""A list over HTTP follows its cursors to the end, and has an end whatever the cursors are."""

from __future__ import annotations

import pytest
from case_servers import LEGACY, MODERN, across, everywhere, lost, took
from http_outcomes import broken, refused, said_no
from http_server import result

ODD = "é=/?& +"


def names(items):
    return "".join(item["name"] for item in items)


def asked(server):
    return [fact["cursor"] for fact in server.facts("page")]


@pytest.mark.parametrize(("mode", "most"), [("same", 2), ("cycle", 4), ("empty", 2)])
@everywhere
async def test_a_cursor_that_comes_again_ends_the_list(at, case, mode, most):
    server = case("B-061", CASE_PAGES=mode)
    client = await at.get(server.connect())
    with took(below=2):
        outcome = await at.outcome(client.list_tools())
    if mode == "empty" and not isinstance(outcome, Exception):
        assert names(outcome) == "t1"
    else:
        lost(outcome)
    assert len(asked(server)) <= most
    await at.get(client.close())


@everywhere
async def test_cursors_without_end_end_at_max_pages(at, case):
    server = case("B-061", CASE_PAGES="endless")
    client = await at.get(server.connect(max_pages=5))
    lost(await at.error(client.list_tools()), ("tools", 5))
    assert asked(server) == [None, "n1", "n2", "n3", "n4"]
    await at.get(client.close())


@pytest.mark.parametrize(
    ("mode", "expected", "cursors"),
    [
        ("last", "t1t2t3t4t5", [None, "p2", "p3", "p4", "p5"]),
        ("null", "t1", [None]),
        ("absent", "t1", [None]),
        ("three", "abcdefg", [None, ODD, "z"]),
    ],
)
@across
async def test_lists_that_end(at, case, mode, expected, cursors):
    server = case("B-061", CASE_PAGES=mode)
    client = await at.get(server.connect(max_pages=5))
    assert names(await at.get(client.list_tools())) == expected
    assert asked(server) == cursors
    if mode == "three":
        page = await at.get(client.list_page("tools"))
        assert (names(page.items), page.next_cursor) == ("abc", ODD)
        page = await at.get(client.list_page("tools", ODD))
        assert (names(page.items), page.next_cursor) == ("de", "z")
    await at.get(client.close())


@pytest.mark.parametrize("mode", ["badtype", "notools", "toolsnull", "failmid"])
@across
async def test_pages_that_are_none(at, case, mode):
    server = case("B-061", CASE_PAGES=mode)
    client = await at.get(server.connect())
    with took(below=1):
        failed = await at.error(client.list_tools())
    if mode == "failmid":
        said_no(failed, -32603, "page 2 broke")
    else:
        lost(failed)
    await at.get(client.close())


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@pytest.mark.parametrize("how", ["status", "close", "redirect"])
@across
async def test_a_page_in_the_middle_that_does_not_come(at, server, how, protocol):
    def first(exchange):
        page = {"tools": server.tools, "nextCursor": "2", "resultType": "complete"}
        exchange.json(result(exchange.request["id"], page))

    def second(exchange):
        match how:
            case "status":
                exchange.respond(503, b"later")
            case "close":
                exchange.close()
            case "redirect":
                exchange.respond(302, b"there", [("Location", server.url)])

    server.once("tools/list", first, second)
    client = await at.get(server.connect(protocol=protocol, pool_size=1))
    with took(below=1):
        failed = await at.error(client.list_tools())
    match how:
        case "status":
            refused(failed, 503, b"later")
        case "close":
            broken(failed)
        case "redirect":
            refused(failed, 302, b"there")
    assert len(server.received("tools/list")) == 2
    assert names(await at.get(client.list_tools())) == "echo"
    await at.get(client.close())
