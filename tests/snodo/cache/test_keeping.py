"""What is kept and for how long, and which calls neither look at it nor add to it."""

from __future__ import annotations

from typing import Any

import pytest
from counted import Counted
from everything import FIRST, LATER, make

import snodo_actors as snodo
from snodo_actors import telemetry
from supervisors import self_

TTL = 1.5
"""Seconds the results of `everything` may be kept."""
READ = {"uri": "notes://today"}
TRACE = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
FORM = {"mode": "form", "message": "who?", "requestedSchema": {"type": "object"}}


@pytest.fixture
def server() -> Counted:
    return Counted(make())


def result(ttl: Any = 60_000, scope: Any = "public", **more: Any) -> dict[str, Any]:
    """A result that may be kept for a minute."""
    return {"resultType": "complete", "ttlMs": ttl, "cacheScope": scope, "contents": [], **more}


def test_nothing_is_kept_unless_that_is_asked_for(server: Counted) -> None:
    client = server.client(cache=False)
    for _ in range(2):
        client.read_resource(READ["uri"]).get()
    keeping = server.client()
    keeping.read_resource(READ["uri"]).get()
    assert server.asked == {"resources/read": 3}


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("server/discover", lambda client: client.discover()),
        ("tools/list", lambda client: client.list_tools()),
        ("tools/list", lambda client: client.list_page("tools")),
        ("resources/list", lambda client: client.list_resources()),
        ("resources/templates/list", lambda client: client.list_resource_templates()),
        ("prompts/list", lambda client: client.list_prompts()),
        ("resources/read", lambda client: client.read_resource("notes://today")),
        ("resources/read", lambda client: client.request("resources/read", READ)),
        ("resources/read", lambda client: client.read_resource("notes://today", timeout=3.0)),
    ],
)
def test_a_result_is_sent_for_once(server: Counted, method: str, call: Any) -> None:
    client = server.client()

    assert call(client).get() == call(client).get() == call(client).get()
    assert server.asked == {method: 1}


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("tools/call", lambda client: client.call_tool("add", {"a": 1})),
        ("prompts/get", lambda client: client.get_prompt("talk")),
    ],
)
def test_other_results_are_not_kept_whatever_they_say(
    server: Counted, method: str, call: Any
) -> None:
    server.answers[method] = lambda _: result(content=[], messages=[])
    client = server.client()
    call(client).get()
    call(client).get()
    assert server.asked == {method: 2}


@pytest.mark.usefixtures("inner_node")
async def test_what_is_kept_is_there_in_a_task(server: Counted) -> None:
    client = await snodo.direct(server, cache=True)

    assert await client.list_tools() == await client.list_tools()
    assert await client.read_resource(READ["uri"]) == await client.read_resource(READ["uri"])
    assert server.asked == {"tools/list": 1, "resources/read": 1}


def test_a_result_is_kept_for_its_time(server: Counted, clock: Any) -> None:
    client, start = server.client(), clock.now
    client.read_resource(READ["uri"]).get()

    clock.now = start + TTL - 0.001
    client.read_resource(READ["uri"]).get()
    assert server.asked["resources/read"] == 1
    clock.now = start + TTL
    client.read_resource(READ["uri"]).get()
    assert server.asked["resources/read"] == 2
    clock.now = start + 2 * TTL - 0.001
    client.read_resource(READ["uri"]).get()
    assert server.asked["resources/read"] == 2


@pytest.mark.parametrize(
    "answer",
    [
        result(ttl=0),
        result(ttl=-1),
        result(ttl=60_000.0),
        result(ttl="60000"),
        result(scope="shared"),
        {"contents": []},
        {"contents": [], "ttlMs": 60_000},
    ],
)
def test_a_result_that_does_not_say_so_is_not_kept(server: Counted, answer: Any) -> None:
    server.answers["resources/read"] = lambda _: dict(answer)
    client = server.client()
    for _ in range(2):
        assert client.read_resource("x:").get() == answer
    assert server.asked["resources/read"] == 2


@pytest.mark.parametrize(
    "options",
    [
        {"bypass_cache": True},
        {"meta": {}},
        {"meta": {"a": 1}},
        {"trace_context": TRACE},
        {"progress": print},
        {"reset_timeout_on_progress": True},
        {"max_total_timeout": 5.0},
        {"extension": "x"},
        {"answer_input": False},
        {"max_input_rounds": 3},
        {"input_responses": {}},
        {"request_state": "s"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_a_call_with_other_options_neither_looks_nor_keeps(server: Counted, options: Any) -> None:
    server.answers["resources/read"] = lambda _: result(number=server.asked["resources/read"])
    client = server.client()

    def number(**options: Any) -> int:
        return client.read_resource("x:", **options).get()["number"]

    assert number(**options) == 1
    assert number() == 2, "it was kept"
    assert number(**options) == 3, "it was looked at"
    assert number() == 2, "it was kept in place of the other"


def test_a_mailbox_for_progress_is_such_an_option_too(server: Counted) -> None:
    client = server.client()
    for _ in range(2):
        client.read_resource(READ["uri"], progress=self_()).get()
    assert server.asked["resources/read"] == 2


@pytest.mark.parametrize(
    "others",
    [
        {"uri": "notes://raw"},
        {"uri": "notes://today", "_meta": {"a": 1}},
        {"uri": "notes://today", "more": 1},
        {"uri": "notes://today", "more": True},
        {"uri": "notes://today", "more": 1.0},
        {"uri": "notes://today", "more": None},
    ],
)
def test_other_params_are_another_result(server: Counted, others: Any) -> None:
    server.answers["resources/read"] = lambda message: result(got=message["params"])
    client = server.client()
    first = client.request("resources/read", READ).get()

    assert client.request("resources/read", others).get() != first
    assert client.request("resources/read", others).get()["got"]["uri"] == others["uri"]
    assert server.asked["resources/read"] == 2
    seen = [client.request("resources/read", params).get() for params in (READ, others, READ)]
    assert seen[0] == seen[2] == first
    assert server.asked["resources/read"] == 2


def test_the_order_of_params_does_not_matter(server: Counted) -> None:
    server.answers["resources/read"] = lambda _: result()
    client = server.client()
    client.request("resources/read", {"uri": "x:", "a": {"b": 1, "c": 2}}).get()
    client.request("resources/read", {"a": {"c": 2, "b": 1}, "uri": "x:"}).get()
    assert server.asked["resources/read"] == 1


def test_params_that_are_no_json_are_refused_as_without_a_cache(server: Counted) -> None:
    for client in (server.client(), server.client(cache=False)):
        with pytest.raises(TypeError):
            client.request("resources/read", {"uri": object()}).get()
        with pytest.raises(ValueError, match="NaN"):
            client.request("resources/read", {"uri": float("nan")}).get()
    assert server.asked == {}


def test_a_failure_is_not_kept(server: Counted) -> None:
    client = server.client()
    for _ in range(2):
        with pytest.raises(snodo.ServerError):
            client.read_resource("notes://not-there").get()
    assert server.asked["resources/read"] == 2


def test_a_method_the_version_lacks_is_still_refused(server: Counted) -> None:
    server.client().discover().get()
    for version in (LATER, FIRST):
        with pytest.raises(snodo.ProtocolError) as refused:
            server.client(protocol=version).discover().get()
        assert refused.value.code == -32601


def test_a_wish_for_input_and_what_follows_on_it_are_not_kept(server: Counted) -> None:
    def answer(message: Any) -> Any:
        if "requestState" in message["params"]:
            return result(said="done")
        wish = {"method": "elicitation/create", "params": FORM}
        asking = {"resultType": "input_required", "inputRequests": {"a": wish}, "requestState": "s"}
        return {**asking, "ttlMs": 60_000, "cacheScope": "public"}

    server.answers["resources/read"] = answer
    accept = {"action": "accept", "content": {}}
    client = server.client(input_handlers={"form": lambda _params: accept})
    for _ in range(2):
        assert client.read_resource("x:").get()["said"] == "done"
    assert server.asked["resources/read"] == 4

    by_hand = server.client(client_capabilities={"elicitation": {}})
    for _ in range(2):
        assert isinstance(by_hand.read_resource("x:").get(), snodo.InputRequired)
        by_hand.request("resources/read", {"uri": "x:", "requestState": "s"}).get()
        by_hand.request("resources/read", {"uri": "x:", "inputResponses": {}}).get()
    assert server.asked["resources/read"] == 10


def test_handlers_alone_do_not_stand_in_the_way(server: Counted) -> None:
    client = server.client(input_handlers={"form": print})
    for _ in range(2):
        client.read_resource(READ["uri"]).get()
        assert client.list_tools().get()
    assert server.asked == {"resources/read": 1, "tools/list": 1}


def test_a_list_is_kept_page_by_page(server: Counted, clock: Any) -> None:
    def page(message: Any) -> Any:
        number = int(message["params"].get("cursor", "0"))
        ttl = 1_000 if number == 100 else 60_000
        body = result(ttl=ttl, tools=[{"name": f"t{number}"}])
        return {**body, "nextCursor": str(number + 1)} if number < 249 else body

    server.answers["tools/list"] = page
    client = server.client()
    tools = client.list_tools().get()
    assert [tool["name"] for tool in tools] == [f"t{number}" for number in range(250)]
    assert client.list_tools().get() == tools
    assert client.list_page("tools", "100").get().items == [{"name": "t100"}]
    assert server.asked["tools/list"] == 250

    clock.now += 1.0
    assert client.list_tools().get() == tools
    assert server.asked["tools/list"] == 251


def test_a_caller_may_change_what_it_got(server: Counted) -> None:
    server.answers["resources/read"] = lambda _: result(inner={"list": [1]})
    client = server.client()
    for _ in range(3):
        mine = client.read_resource("x:").get()
        assert mine["inner"] == {"list": [1]}
        mine["inner"]["list"].append(2)
        mine["more"] = mine.pop("contents")
    assert server.asked["resources/read"] == 1


def test_numbers_and_texts_come_back_as_they_were(server: Counted) -> None:
    odd = {"big": 10**63, "small": -(2**63), "float": 1.0, "tiny": 5e-324, "null": None}
    odd |= {"text": "é\u2028\0😀", "é": [True, False, []]}
    server.answers["resources/read"] = lambda _: result(odd=odd)
    client = server.client()
    client.read_resource("x:").get()
    kept = client.read_resource("x:").get()["odd"]
    assert kept == odd
    assert [type(value) for value in kept.values()] == [type(value) for value in odd.values()]
    assert server.asked["resources/read"] == 1


def test_what_is_no_json_is_not_kept(server: Counted) -> None:
    odd = object()
    server.answers["resources/read"] = lambda _: result(odd=odd)
    client = server.client()
    assert client.read_resource("x:").get()["odd"] is odd
    assert client.read_resource("x:").get()["odd"] is odd
    assert server.asked["resources/read"] == 2


def test_two_that_ask_at_once_are_both_sent(server: Counted) -> None:
    client = server.client()
    calls = [client.read_resource(READ["uri"]) for _ in range(2)]
    assert calls[0].get() == calls[1].get()
    assert server.asked["resources/read"] == 2


def test_telemetry_hears_of_a_hit_in_place_of_a_request(server: Counted) -> None:
    events: list[tuple[str, Any]] = []
    client = server.client()
    detach = telemetry.attach(lambda event, what: events.append((event, what)))
    try:
        for _ in range(2):
            client.read_resource(READ["uri"]).get()
    finally:
        detach()

    assert [event for event, _ in events] == ["request.start", "request.stop", "cache.hit"]
    hit = {"who": "direct everything", "method": "resources/read", "params": READ}
    assert events[-1][1] == hit


def test_a_trace_context_of_the_telemetry_s_own_does_not_stand_in_the_way(server: Counted) -> None:
    client = server.client()

    def trace(event: str, what: dict[str, Any]) -> None:
        if event == "request.start":
            what["carrier"].update(TRACE)

    detach = telemetry.attach(trace)
    try:
        for _ in range(2):
            client.read_resource(READ["uri"]).get()
    finally:
        detach()
    assert server.asked["resources/read"] == 1
