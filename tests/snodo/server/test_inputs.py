"""How a function asks for input: in the result in 2026-07-28, by requests of the server before."""

from __future__ import annotations

from typing import Any

import pytest
from everything import FIRST, FORM, LATER, STATELESS, VERSIONS, Asker, make
from protocol_schemas import check

from snodo_actors.server import Call, InputNeeded, Server, ask_form, ask_sampling, ask_url
from snodo_actors.server.inputs import needed_capabilities
from snodo_actors.words.types import InputRequired

SERVER = make()
ALL = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
ANSWER = {"action": "accept", "content": {"name": "Bo"}}


def asking(version: str, capabilities: dict[str, Any] | None = None) -> Asker:
    return Asker(SERVER, version, ALL if capabilities is None else capabilities)


def test_a_result_that_asks_and_the_request_that_answers() -> None:
    asker = asking(STATELESS)

    result = asker.ask("tools/call", name="greet")
    check(result, STATELESS, "InputRequiredResult")
    assert {key: result[key] for key in ("resultType", "inputRequests", "requestState")} == {
        "resultType": "input_required",
        "inputRequests": {
            "name": {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": "Your name?", "requestedSchema": FORM},
            }
        },
        "requestState": "asked",
    }
    assert "ttlMs" not in result

    again = asker.ask(
        "tools/call", name="greet", inputResponses={"name": ANSWER}, requestState="asked"
    )
    assert again["content"] == [{"type": "text", "text": "Hello Bo, asked"}]


def test_every_kind_of_request_is_as_the_schema_has_it() -> None:
    result = asking(STATELESS).ask("tools/call", name="ask_all")

    check(result, STATELESS, "InputRequiredResult")
    assert "requestState" not in result


@pytest.mark.parametrize(("method", "params"), [
    ("prompts/get", {"name": "asking"}),
    ("resources/read", {"uri": "notes://asks"}),
])  # fmt: skip
def test_prompts_and_resources_may_ask_too(method: str, params: Any) -> None:
    asker = asking(STATELESS)

    assert asker.ask(method, **params)["resultType"] == "input_required"
    answered = asker.ask(method, **params, inputResponses={"name": ANSWER})
    assert answered["resultType"] == "complete"


def test_a_state_alone_asks_to_be_asked_again() -> None:
    result = asking(STATELESS).ask("tools/call", name="wait")

    check(result, STATELESS, "InputRequiredResult")
    assert ("inputRequests" in result, result["requestState"]) == (False, "1")


def test_the_value_clients_have_can_be_returned_too() -> None:
    server = Server("returns")

    @server.tool()
    def ask() -> InputRequired:
        return InputRequired({"inputRequests": {"a": ask_form("?", FORM)}, "requestState": "s"})

    result = Asker(server, STATELESS, ALL).ask("tools/call", name="ask")
    assert (list(result["inputRequests"]), result["requestState"]) == (["a"], "s")


CAPABILITIES = [
    ({}, ask_form("?", FORM), {"elicitation": {"form": {}}}),
    ({"elicitation": {}}, ask_form("?", FORM), {}),
    ({"elicitation": {"url": {}}}, ask_form("?", FORM), {"elicitation": {"form": {}}}),
    ({"elicitation": {}}, ask_url("?", "u"), {"elicitation": {"url": {}}}),
    ({"elicitation": {"url": {}}}, ask_url("?", "u"), {}),
    ({}, ask_sampling([], 1), {"sampling": {}}),
    ({"sampling": {}}, ask_sampling([], 1), {}),
    ({"sampling": {}}, ask_sampling([], 1, tools=[]), {"sampling": {"tools": {}}}),
    ({"sampling": {"tools": {}}}, ask_sampling([], 1, toolChoice={}), {}),
    ({}, {"method": "roots/list"}, {"roots": {}}),
    ({"roots": {"listChanged": True}}, {"method": "roots/list"}, {}),
]


@pytest.mark.parametrize(("declared", "request_", "missing"), CAPABILITIES)
def test_what_a_client_has_to_declare(declared: Any, request_: Any, missing: Any) -> None:
    assert needed_capabilities({"a": request_}, declared) == missing


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_that_cannot_be_asked(version: str) -> None:
    error = asking(version, {}).ask("tools/call", name="greet")
    message = "Server requires the elicitation capability for this request"

    if version == STATELESS:
        check(
            {"jsonrpc": "2.0", "id": 1, "error": error},
            version,
            "MissingRequiredClientCapabilityError",
        )
        needed = {"requiredCapabilities": {"elicitation": {"form": {}}}}
        assert error == {"code": -32021, "message": message, "data": needed}
    else:
        assert error == {"code": -32603, "message": message}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_function_may_require_capabilities(version: str) -> None:
    error = asking(version).ask("tools/call", name="needs_sampling")
    able = asking(version, {"sampling": {"tools": {"any": 1}}}).ask(
        "tools/call", name="needs_sampling"
    )

    assert error["code"] == (-32021 if version == STATELESS else -32603)
    if version == STATELESS:
        assert error["data"] == {"requiredCapabilities": {"sampling": {"tools": {}}}}
    assert able["content"] == [{"type": "text", "text": "it can"}]


# ---- the initialize era


@pytest.mark.parametrize("version", [LATER, FIRST])
def test_older_clients_are_asked_while_they_wait(version: str) -> None:
    asked: list[Any] = []

    def answer(request: Any) -> Any:
        asked.append(request)
        return {"jsonrpc": "2.0", "id": request["id"], "result": ANSWER}

    result = asking(version).ask("tools/call", {"on_server_request": answer}, name="greet")

    assert result["content"] == [{"type": "text", "text": "Hello Bo, asked"}]
    (request,) = asked
    check(request, version, "ElicitRequest")
    assert ("mode" in request["params"]) == (version == LATER)


def test_all_kinds_are_asked_in_the_order_of_their_names() -> None:
    asked: list[str] = []

    async def answer(request: Any) -> Any:
        names = {
            "elicitation/create": "ElicitRequest",
            "sampling/createMessage": "CreateMessageRequest",
            "roots/list": "ListRootsRequest",
        }
        check(request, LATER, names[request["method"]])
        asked.append(request["params"].get("mode") if "params" in request else request["method"])
        return {"jsonrpc": "2.0", "id": request["id"], "result": {}}

    result = asking(LATER).ask("tools/call", {"on_server_request": answer}, name="ask_all")

    assert asked == ["form", "url", None, "roots/list"]
    assert result["structuredContent"] == {"result": ["a-form", "b-url", "c-model", "d-roots"]}


def test_a_state_alone_makes_the_function_run_again() -> None:
    result = asking(LATER).ask("tools/call", name="wait")

    assert result["content"] == [{"type": "text", "text": "after 2"}]


def test_a_client_that_does_not_answer() -> None:
    def refuse(request: Any) -> Any:
        return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -1, "message": "no"}}

    error = asking(LATER).ask("tools/call", {"on_server_request": refuse}, name="greet")
    assert error == {
        "code": -32603,
        "message": "the client did not answer elicitation/create",
        "data": {"code": -1, "message": "no"},
    }
    assert asking(LATER).ask("tools/call", name="greet")["code"] == -32603


def test_a_function_that_never_has_enough() -> None:
    def answer(request: Any) -> Any:
        return {"jsonrpc": "2.0", "id": request["id"], "result": ANSWER}

    error = asking(LATER).ask("tools/call", {"on_server_request": answer}, name="forever")
    assert error == {"code": -32603, "message": "the function asked for input 100 times"}


# ---- mistakes


def test_nothing_to_ask_for_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="needs requests, a state or both"):
        InputNeeded()


@pytest.mark.parametrize("version", VERSIONS)
def test_what_no_client_can_be_asked(version: str) -> None:
    server = Server("odd")

    @server.tool()
    def ask(call: Call) -> str:
        raise InputNeeded({"a": {"method": "tools/call"}})

    error = Asker(server, version).ask("tools/call", name="ask")
    assert error["code"] == -32603
    assert "no client can be asked 'tools/call'" in error["message"]


def test_a_completion_cannot_ask() -> None:
    server = Server("odd")
    server.prompt("p")(lambda a: a)

    @server.completion("a", prompt="p")
    def complete(value: str) -> list[str]:
        raise InputNeeded(state="s")

    ref, argument = {"type": "ref/prompt", "name": "p"}, {"name": "a", "value": ""}
    error = Asker(server, STATELESS).ask("completion/complete", ref=ref, argument=argument)
    assert error == {
        "code": -32603,
        "message": "completion/complete failed: it cannot ask for input",
    }
