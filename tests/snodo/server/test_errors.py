"""What is refused, with which code, in each version."""

from __future__ import annotations

from typing import Any

import pytest
from everything import FIRST, LATER, STATELESS, VERSIONS, Asker, make, meta
from protocol_schemas import check

from snodo_actors.server import Server, ToolResult
from snodo_actors.server.peer import Peer

SERVER = make()
INITIALIZE = {
    "protocolVersion": LATER,
    "capabilities": {},
    "clientInfo": {"name": "a", "version": "1"},
}


@pytest.fixture(scope="module", params=VERSIONS)
def asker(request: pytest.FixtureRequest) -> Asker:
    return Asker(SERVER, request.param)


_REVIEW = {"type": "ref/prompt", "name": "review"}
_TEXT, _OBJECT = "must be a string", "must be an object"

REFUSALS = {
    -32602: [
        ("tools/call", {"name": "none"}, "Unknown tool: none"),
        ("tools/call", {"name": 7}, f"Invalid params: name {_TEXT}"),
        ("tools/call", {"name": "add", "arguments": []}, f"Invalid params: arguments {_OBJECT}"),
        ("tools/list", {"cursor": "none"}, "Invalid cursor"),
        ("tools/list", {"cursor": "\xe9"}, "Invalid cursor"),
        ("tools/list", {"cursor": 3}, "Invalid cursor"),
        ("prompts/get", {"name": "none"}, "Unknown prompt: none"),
        (
            "prompts/get",
            {"name": "review"},
            "Invalid arguments for prompt review: Object missing required field `code`",
        ),
        ("resources/read", {}, f"Invalid params: uri {_TEXT}"),
        ("completion/complete", {"ref": {"type": "r"}}, "Unknown kind of reference: r"),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "none"}},
            "Unknown reference: none",
        ),
        ("completion/complete", {"ref": _REVIEW, "argument": {}}, f"Invalid params: name {_TEXT}"),
    ],
    -32603: [
        (
            "prompts/get",
            {"name": "odd"},
            "prompt odd failed: a prompt returns texts, blocks or messages, not 7",
        ),
        (
            "resources/read",
            {"uri": "notes://broken"},
            "resource notes://broken failed: no disk",
        ),
    ],
    -32601: [
        ("example/none", {}, "Method not found: example/none"),
        ("logging/setLevel", {"level": "info"}, "Method not found: logging/setLevel"),
        ("resources/subscribe", {"uri": "a"}, "Method not found: resources/subscribe"),
        ("sampling/createMessage", {}, "Method not found: sampling/createMessage"),
    ],
}
ROWS = [
    (method, params, {"code": code, "message": message})
    for code, rows in REFUSALS.items()
    for method, params, message in rows
]


@pytest.mark.parametrize(("method", "params", "error"), ROWS)
def test_a_refusal(asker: Asker, method: str, params: Any, error: Any) -> None:
    assert asker.ask(method, **params) == error


@pytest.mark.parametrize("uri", ["notes://none", "notes://gone", "notes://by/nobody/1"])
def test_a_resource_that_is_not_there(asker: Asker, uri: str) -> None:
    assert asker.ask("resources/read", uri=uri) == {
        "code": -32602 if asker.version == STATELESS else -32002,
        "message": f"Resource not found: {uri}",
        "data": {"uri": uri},
    }


def test_a_function_may_refuse_by_itself(asker: Asker) -> None:
    assert asker.ask("tools/call", name="fails", arguments={"how": "json-rpc"}) == {
        "code": -32050,
        "message": "not like that",
        "data": {"how": "json-rpc"},
    }


def test_what_has_no_form_in_json_is_our_failure(asker: Asker, caplog: Any) -> None:
    error = asker.ask("tools/call", name="unsendable")

    assert error["code"] == -32603
    assert error["message"].startswith("tool unsendable failed: Encoding objects of type object")
    assert "returned what cannot be sent" in caplog.text


def test_numbers_that_json_lacks_are_our_failure(asker: Asker) -> None:
    server = Server("infinite")

    @server.tool()
    def infinite() -> ToolResult:
        return ToolResult(structured={"a": float("inf"), "b": None})

    error = Asker(server, asker.version).ask("tools/call", name="infinite")
    assert (error["code"], "JSON has no NaN" in error["message"]) == (-32603, True)


MISSING = [
    ("tools/list", "Tools", "tools"),
    ("tools/call", "Tools", "tools"),
    ("resources/list", "Resources", "resources"),
    ("resources/templates/list", "Resources", "resources"),
    ("resources/read", "Resources", "resources"),
    ("prompts/list", "Prompts", "prompts"),
    ("prompts/get", "Prompts", "prompts"),
    ("completion/complete", "Completions", "completions"),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("method", "name", "feature"), MISSING)
def test_what_is_not_offered(version: str, method: str, name: str, feature: str) -> None:
    assert Asker(Server("empty"), version).ask(method) == {
        "code": -32601,
        "message": f"{name} not supported",
        "data": {"reason": f"Server does not support the {feature} capability"},
    }


def test_what_only_the_other_era_has(asker: Asker) -> None:
    methods = (
        ["ping"] if asker.version == STATELESS else ["server/discover", "subscriptions/listen"]
    )
    for method in methods:
        assert asker.ask(method)["code"] == -32601


# ---- which version a message is in


def sent(peer: Peer, method: str, params: Any) -> Any:
    response = peer.request({"jsonrpc": "2.0", "id": "a", "method": method, "params": params})
    assert response["id"] == "a"
    return response.get("error", response.get("result"))


def test_a_version_that_is_not_enabled_is_answered_with_those_that_are() -> None:
    peer = SERVER.runtime([STATELESS, LATER]).connect()
    asked = {**meta(), "io.modelcontextprotocol/protocolVersion": "1900-01-01"}

    response = peer.request(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": asked}}
    )
    check(response, STATELESS, "UnsupportedProtocolVersionError")
    assert response["error"] == {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": [STATELESS, LATER], "requested": "1900-01-01"},
    }


def test_a_stateless_request_has_to_say_what_the_client_can() -> None:
    asked = meta()
    del asked["io.modelcontextprotocol/clientCapabilities"]

    error = sent(SERVER.runtime(STATELESS).connect(), "tools/list", {"_meta": asked})
    assert (error["code"], "clientCapabilities" in error["message"]) == (-32602, True)


@pytest.mark.parametrize(
    ("versions", "method", "code", "said"),
    [
        ([STATELESS], "tools/list", -32602, "_meta needs io.modelcontextprotocol/protocolVersion"),
        ([STATELESS, LATER], "tools/list", -32602, "_meta needs"),
        ([LATER], "tools/list", -32602, "initialize first"),
        ([LATER], "server/discover", -32601, "Method not found"),
        ([STATELESS], "ping", -32602, "_meta needs"),
    ],
)
def test_a_request_before_anything_is_settled(
    versions: list[str], method: str, code: int, said: str
) -> None:
    error = sent(SERVER.runtime(versions).connect(), method, {})

    assert (error["code"], said in error["message"]) == (code, True)


def test_a_ping_may_come_before_anything_is_settled() -> None:
    assert sent(SERVER.runtime(LATER).connect(), "ping", {}) == {}


@pytest.mark.parametrize(
    ("versions", "requested", "answered"),
    [
        ([LATER, FIRST], LATER, LATER),
        ([LATER, FIRST], FIRST, FIRST),
        ([FIRST], LATER, FIRST),
        (list(VERSIONS), "2024-11-05", LATER),
    ],
)
def test_initialize_settles_a_version_that_is_enabled(
    versions: list[str], requested: str, answered: str
) -> None:
    peer = SERVER.runtime(versions).connect()

    hello = sent(peer, "initialize", {**INITIALIZE, "protocolVersion": requested})
    assert hello["protocolVersion"] == answered
    assert "tools" in sent(peer, "tools/list", {})


def test_initialize_without_a_version_of_its_era() -> None:
    assert sent(SERVER.runtime(STATELESS).connect(), "initialize", INITIALIZE) == {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": [STATELESS], "requested": LATER},
    }
    assert sent(SERVER.runtime().connect(), "initialize", {})["code"] == -32602


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"id": None, "method": "ping"}, -32600),
        ({"id": 1.5, "method": "ping"}, -32600),
        ({"id": True, "method": "ping"}, -32600),
        ({"id": 1, "method": 7}, -32600),
        ({"id": 1, "method": "ping", "params": []}, -32602),
        ({"id": 1, "method": "ping", "params": {"_meta": 1}}, -32602),
    ],
)
def test_what_is_no_request(message: Any, code: int) -> None:
    assert SERVER.runtime(LATER).connect().request(message)["error"]["code"] == code


def test_a_stream_is_not_opened_by_a_request() -> None:
    asker = Asker(SERVER, STATELESS)

    assert asker.ask("subscriptions/listen", notifications={})["code"] == -32600
