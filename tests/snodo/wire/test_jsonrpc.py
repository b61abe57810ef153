from __future__ import annotations

import pytest
from protocol_schemas import check, examples

from snodo_actors.wire import jsonrpc
from snodo_actors.wire.jsonrpc import read_response, result_types
from snodo_actors.wire.meta import build_params, version_meta
from snodo_actors.words.errors import ServerError, TransportError
from snodo_actors.words.types import InputRequired
from snodo_actors.words.versions import INITIALIZE, STATELESS, VERSIONS

EVERY = (None, *VERSIONS)
UNSETTLED_OR_OLD = (None, *INITIALIZE)


def response(**members):
    return {"jsonrpc": "2.0", "id": 1, **members}


RESULTS = [
    # a result is what the server sent
    (EVERY, {}),
    (EVERY, {"content": [], "isError": True}),
    (EVERY, {"resultType": "complete"}),
    (UNSETTLED_OR_OLD, {"resultType": "partial"}),
    (UNSETTLED_OR_OLD, {"resultType": None}),
    (UNSETTLED_OR_OLD, {"resultType": ["complete"]}),
    (UNSETTLED_OR_OLD, {"resultType": "task"}),
]


@pytest.mark.parametrize(("versions", "result"), RESULTS)
def test_a_result_is_handed_on_as_it_came(versions, result) -> None:
    for version in versions:
        assert read_response(response(result=result), version) is result


@pytest.mark.parametrize(
    "result_type", ["partial", "", "Complete", None, True, 5, ["complete"], {}]
)
def test_an_unknown_kind_of_result_is_malformed_in_the_newest_version(result_type) -> None:
    answer = response(result={"resultType": result_type})
    outcome = read_response(answer, STATELESS)

    assert isinstance(outcome, TransportError)
    assert (outcome.code, outcome.cause) == (-32000, answer)


@pytest.mark.parametrize("version", EVERY)
def test_a_wish_for_input_is_one_in_every_version(version) -> None:
    result = {"resultType": "input_required", "inputRequests": {}}

    assert read_response(response(result=result), version) == InputRequired(result)


TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.mark.parametrize(
    ("types", "method", "capabilities"),
    [
        (("complete", "task"), "tools/call", TASKS),
        (("complete", "task"), "tasks/get", TASKS),
        (("complete",), "prompts/get", TASKS),
        (("complete",), "tools/call", {}),
        (("complete",), "tools/call", {"extensions": {}}),
        (("complete",), "tools/call", {"extensions": None}),
    ],
)
def test_a_task_is_a_result_where_its_extension_is_declared(types, method, capabilities) -> None:
    assert result_types(method, capabilities) == types


def test_a_kind_of_result_that_is_expected_is_accepted() -> None:
    result = {"resultType": "task", "taskId": "1"}

    assert read_response(response(result=result), STATELESS, ("complete", "task")) is result
    assert isinstance(read_response(response(result=result), STATELESS), TransportError)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("json_rpc", {"code": -32700, "message": "parse"}),
        ("json_rpc", {"code": -32600, "message": "request"}),
        ("protocol", {"code": -32601, "message": "method"}),
        ("protocol", {"code": -32602, "message": "params", "data": {"a": 1}}),
        ("execution", {"code": -32603, "message": "internal", "data": None}),
        ("protocol", {"code": -32000, "message": "", "data": "x"}),
        ("protocol", {"code": 10**30, "message": "big", "more": 1}),
    ],
)
@pytest.mark.parametrize("version", EVERY)
def test_an_error_is_the_server_s(kind, error, version) -> None:
    outcome = read_response(response(error=error), version)

    assert type(outcome) is ServerError
    assert (outcome.code, outcome.message, outcome.data) == (
        error["code"],
        error["message"],
        error.get("data"),
    )
    assert (outcome.kind, outcome.cause, outcome.delivery) == (kind, None, "answered")


@pytest.mark.parametrize(
    "answer",
    [
        {},
        response(),
        response(result={}, error={"code": 1, "message": "both"}),
        response(result={}, error=None),
        response(result=None, error={"code": 1, "message": "both"}),
        response(result=None),
        response(result=[]),
        response(result="input_required"),
        response(result=5),
        response(error=None),
        response(error="text"),
        response(error=[]),
        response(error={}),
        response(error={"code": 1}),
        response(error={"message": "no code"}),
        response(error={"code": "1", "message": "text"}),
        response(error={"code": 1.0, "message": "float"}),
        response(error={"code": True, "message": "true"}),
        response(error={"code": 1, "message": None}),
        {"Result": {}},
    ],
)
@pytest.mark.parametrize("version", EVERY)
def test_anything_else_is_malformed(answer, version) -> None:
    outcome = read_response(answer, version)

    assert type(outcome) is TransportError
    assert (outcome.code, outcome.kind, outcome.cause) == (-32000, "transport", answer)


INFO = {"name": "snodo", "version": "1"}
REQUESTS = [
    ("CallToolRequest", "tools/call", {"name": "a", "arguments": {}}),
    ("GetPromptRequest", "prompts/get", {"name": "a", "arguments": {"b": "c"}}),
    ("ReadResourceRequest", "resources/read", {"uri": "file:///a"}),
    ("ListToolsRequest", "tools/list", {}),
    ("ListToolsRequest", "tools/list", {"cursor": ""}),
    ("ListPromptsRequest", "prompts/list", {}),
    ("ListResourcesRequest", "resources/list", {}),
    ("ListResourceTemplatesRequest", "resources/templates/list", {}),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("name", "method", "params"), REQUESTS)
def test_requests_follow_the_schema(name, method, params, version) -> None:
    base = version_meta(version, {"elicitation": {"form": {}}}, INFO)
    message = jsonrpc.request(7, method, build_params(params, base, progress_token=7))

    check(message, version, name)
    check(message, version, "JSONRPCRequest")


@pytest.mark.parametrize("params", [{"notifications": {"toolsListChanged": True}}])
def test_listen_follows_the_schema(params) -> None:
    message = jsonrpc.request(
        7, "subscriptions/listen", build_params(params, version_meta(STATELESS, {}, INFO))
    )
    check(message, STATELESS, "SubscriptionsListenRequest")


@pytest.mark.parametrize("version", INITIALIZE)
def test_initialize_follows_the_schema(version) -> None:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": INFO}

    check(jsonrpc.request(1, "initialize", params), version, "InitializeRequest")
    check(jsonrpc.request(1, "ping", {}), version, "PingRequest")
    check(jsonrpc.notification("notifications/initialized", {}), version, "InitializedNotification")


@pytest.mark.parametrize("version", VERSIONS)
def test_notifications_and_answers_follow_the_schema(version) -> None:
    check(jsonrpc.cancelled(5, "timed out"), version, "CancelledNotification")
    for id in (1, "a"):
        check(jsonrpc.error_response(id, -32601, "no"), version, _error_of(version))
        check(jsonrpc.error_response(id, -32601, "no", {}), version, _error_of(version))


def _error_of(version):
    return "JSONRPCError" if version == "2025-06-18" else "JSONRPCErrorResponse"


@pytest.mark.parametrize(
    ("message", "built"),
    [
        (
            {"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {}},
            jsonrpc.request(5, "ping", {}),
        ),
        (
            {"jsonrpc": "2.0", "method": "a", "params": {"b": 1}},
            jsonrpc.notification("a", {"b": 1}),
        ),
        ({"jsonrpc": "2.0", "id": None, "result": {}}, jsonrpc.result_response(None, {})),
        (
            {"jsonrpc": "2.0", "id": "x", "error": {"code": -1, "message": "no"}},
            jsonrpc.error_response("x", -1, "no"),
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no", "data": 0}},
            jsonrpc.error_response(1, -1, "no", 0),
        ),
    ],
)
def test_messages(message, built) -> None:
    assert built == message
    assert list(built) == list(message)


RESPONSES = [
    "CallToolResultResponse",
    "CompleteResultResponse",
    "DiscoverResultResponse",
    "GetPromptResultResponse",
    "ListToolsResultResponse",
    "ReadResourceResultResponse",
    "SubscriptionsListenResultResponse",
]


@pytest.mark.parametrize("name", RESPONSES)
def test_published_responses_are_results(name) -> None:
    for answer in examples(name):
        outcome = read_response(answer, STATELESS)

        if answer["result"].get("resultType") == "input_required":
            assert outcome == InputRequired(answer["result"])
        else:
            assert outcome is answer["result"]


def test_published_wishes_for_input_are_such() -> None:
    for result in examples("InputRequiredResult"):
        assert read_response(response(result=result), STATELESS) == InputRequired(result)
