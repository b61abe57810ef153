"""Transports of the user's own: what they are called with, where, and what becomes of failures."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import anyio
import anyio.lowlevel
import pytest
from everything import FIRST, LATER, STATELESS, VERSIONS, make
from inside import PATIENCE

import snodo_actors as snodo
from snodo_actors.words.types import Custom

META = "io.modelcontextprotocol/"
NAME = {"action": "accept", "content": {"name": "Bo"}}


class Wire:
    """What the transports of one test have in common: the server, and what was seen."""

    def __init__(self, versions: Any = None) -> None:
        self.runtime = make().runtime(versions)
        self.seen: list[Any] = []
        self.answers: dict[str, Any] = {}
        self.headers: list[tuple[str, str]] = []
        self.session_ended: Any = None

    def saw(self, *what: Any) -> None:
        self.seen.append(what)

    def names(self) -> list[str]:
        return [
            what[1]["method"] if what[0] in ("request", "notify") else what[0] for what in self.seen
        ]


class Plain:
    """A transport made of plain functions."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.peer = wire.runtime.connect()

    @classmethod
    def connect(cls, wire: Wire, **options: Any) -> Plain:
        wire.saw("connect", options)
        failure = wire.answers.get("connect")
        if isinstance(failure, Exception):
            raise failure
        return cls(wire)

    def request(self, message: Any, **options: Any) -> Any:
        self.wire.saw("request", message, options)
        if message["method"] == "initialize" and "on_response_headers" in options:
            options["on_response_headers"](self.wire.headers)
        if message["method"] in self.wire.answers:
            answer = self.wire.answers[message["method"]]
            if isinstance(answer, BaseException):
                raise answer
            return answer
        return self.peer.request(message, **options)

    def notify(self, message: Any, **options: Any) -> Any:
        self.wire.saw("notify", message, options)
        answer = self.wire.answers.get(message["method"])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def listen(self, message: Any, deliver: Any, **options: Any) -> Any:
        self.wire.saw("listen", message, options)
        if "listen" in self.wire.answers:
            raise self.wire.answers["listen"]
        end = self.peer.listen(message, deliver)

        def ended(reason: Any) -> None:
            self.wire.saw("end", reason)
            end(reason)

        return ended

    def delete_session(self, **options: Any) -> None:
        self.wire.saw("delete_session", options)
        if self.wire.session_ended is not None:
            raise self.wire.session_ended

    def close(self) -> None:
        self.wire.saw("close")


class Slow(Plain):
    """The same, with functions that are async."""

    async def request(self, message: Any, **options: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        response = super().request(message, **options)
        return response if isinstance(response, dict | snodo.Error | str) else await response

    async def notify(self, message: Any, **options: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return super().notify(message, **options)

    async def close(self) -> None:
        await anyio.lowlevel.checkpoint()
        super().close()


class Bare:
    """What is needed, and no more."""

    @staticmethod
    def connect(wire: Wire, **_options: Any) -> Any:
        return Plain.connect(wire)

    @staticmethod
    def request(state: Any, message: Any, **options: Any) -> Any:
        return Plain.request(state, message, **options)

    @staticmethod
    def close(state: Any) -> None:
        Plain.close(state)


@pytest.fixture(params=[Plain, Slow])
def transport(request: pytest.FixtureRequest) -> Any:
    return request.param


def opened(transport: Any, wire: Wire, **options: Any) -> snodo.Client:
    return snodo.connect((transport, wire), **options).get(timeout=PATIENCE)


# ---- opening


@pytest.mark.parametrize("version", VERSIONS)
def test_a_connection_in_each_version(transport: Any, version: str) -> None:
    wire = Wire()
    client = opened(transport, wire, protocol=version)

    assert (client.protocol, client.session is None) == (version, version == STATELESS)
    assert client.call_tool("add", {"a": 1}).get()["structuredContent"] == {"result": 3}
    assert client.read_resource("notes://raw").get()["contents"][0]["blob"] == "AAE="
    assert client.list_tools().get()[0]["name"] == "add"
    assert repr(client) == f"<Client of transport {transport.__name__}, {version}>"
    client.close().get()
    client.close().get()
    assert wire.names().count("close") == 1


async def test_a_connection_in_a_task(transport: Any) -> None:
    wire = Wire()

    async with await snodo.connect((transport, wire)) as client:
        assert client.protocol == STATELESS
        result = await client.call_tool("later", {"point": {"x": 1}})
        assert result["structuredContent"]["x"] == 2
    assert wire.names() == ["connect", "server/discover", "tools/call", "close"]


def test_a_pin_sends_nothing() -> None:
    wire = Wire()
    opened(Plain, wire, protocol=STATELESS)

    assert wire.names() == ["connect"]


PROBES = [
    (None, STATELESS),
    ({"supportedVersions": [LATER]}, LATER),
    ({"supportedVersions": [FIRST, LATER, "later"]}, LATER),
]


@pytest.mark.parametrize(("result", "spoken"), PROBES)
def test_a_modern_answer_settles_it_on_the_same_connection(result: Any, spoken: str) -> None:
    wire = Wire()
    if result is not None:
        wire.answers["server/discover"] = {"jsonrpc": "2.0", "id": 1, "result": result}

    assert opened(Plain, wire).protocol == spoken
    assert wire.names().count("connect") == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required"}},
        "text",
        OSError("gone"),
        snodo.RequestTimeout(-32001, "too late", cause="timeout"),
    ],
)
def test_any_other_answer_reopens_the_connection(transport: Any, answer: Any) -> None:
    wire = Wire([LATER, FIRST])
    wire.answers["server/discover"] = answer

    assert opened(transport, wire).protocol == LATER
    assert wire.names() == [
        *("connect", "server/discover", "close"),
        *("connect", "initialize", "notifications/initialized"),
    ]


def test_what_a_transport_is_called_with() -> None:
    wire = Wire()
    given = {
        "timeout": 7.0,
        "probe_timeout": 3.0,
        "colour": "red",
        "client_capabilities": {"a": {}},
    }
    client = opened(Plain, wire, **given)
    client.call_tool("add", {"a": 1}, timeout=2.0).get()
    client.call_tool("steps", {"count": 1}, progress=print, reset_timeout_on_progress=True).get()

    connect, probe, call, progress = wire.seen
    assert {key: connect[1][key] for key in given} == given
    assert set(connect[1]) == {*given, "on_server_request"}
    assert probe[1]["params"]["_meta"][f"{META}clientCapabilities"] == {"a": {}}
    assert probe[2] == {"timeout": 3.0, "dialect": STATELESS}
    assert call[2] == {"timeout": 2.0, "dialect": STATELESS}
    assert call[1]["params"]["arguments"] == {"a": 1}
    told = progress[2]
    assert (told["timeout"], told["reset_timeout_on_progress"], told["max_total_timeout"]) == (
        (7.0, True, 600.0)
    )
    assert callable(told["on_progress"])


def test_what_a_transport_is_called_with_in_a_session() -> None:
    wire = Wire()
    wire.headers = [("mcp-session-id", "s-1"), ("date", "today")]
    client = opened(Plain, wire, protocol=[LATER, FIRST], timeout=9.0)
    client.ping().get()
    client.close().get()

    _, hello, initialized, ping, deleted, _ = wire.seen
    headers = [("mcp-protocol-version", LATER), ("mcp-session-id", "s-1")]
    assert "_meta" not in hello[1]["params"]
    assert "headers" not in hello[2]
    assert (hello[2]["timeout"], hello[2]["dialect"]) == (9.0, LATER)
    assert initialized[1] == {
        "jsonrpc": "2.0",
        "method": "notifications/initialized",
        "params": {},
    }
    assert initialized[2] == {"timeout": 9.0, "dialect": LATER, "headers": headers}
    assert (ping[2]["headers"], callable(ping[2]["on_server_request"])) == (headers, True)
    assert deleted[1] == {"headers": headers, "timeout": 5.0}
    assert client.session is not None
    assert client.session.id == "s-1"


@pytest.mark.parametrize("headers", [[], [("mcp-session-id", "")]])
def test_a_session_without_an_id_is_not_ended(headers: Any) -> None:
    wire = Wire()
    wire.headers = headers
    client = opened(Plain, wire, protocol=LATER)
    client.close().get()

    assert wire.names()[-2:] == ["notifications/initialized", "close"]


def test_to_close_needs_no_waiting_where_nothing_has_to_wait() -> None:
    wire = Wire()
    opened(Plain, wire).close()

    assert wire.names()[-1] == "close"


def test_to_close_never_fails(caplog: Any) -> None:
    wire = Wire()
    wire.headers, wire.session_ended = [("mcp-session-id", "s-1")], ValueError("no session")
    client = opened(Plain, wire, protocol=LATER, timeout=2.0)

    assert client.close().get() is None
    assert wire.seen[-2][1]["timeout"] == 2.0
    assert wire.names()[-1] == "close"
    assert "closing a connection failed" in caplog.text


# ---- opening fails


def failure(call: Any) -> snodo.Error:
    with pytest.raises(snodo.Error) as failed:
        call.get(timeout=PATIENCE)
    assert failed.value.who is not None
    return failed.value


def test_a_transport_that_cannot_notify_speaks_2026_only() -> None:
    wire = Wire()
    error = failure(snodo.connect((Bare, wire), protocol=[FIRST, LATER]))

    assert (error.code, error.kind, error.data) == (
        -32602,
        "protocol",
        {"requested": [LATER, FIRST]},
    )
    assert wire.names() == ["connect", "close"]
    assert opened(Bare, wire).protocol == STATELESS


def test_no_version_in_common() -> None:
    wire = Wire()
    result = {"supportedVersions": ["2030-01-01"]}
    wire.answers["server/discover"] = {"jsonrpc": "2.0", "id": 1, "result": result}

    error = failure(snodo.connect((Plain, wire), protocol=[STATELESS, LATER]))
    assert (error.code, error.data) == (
        (-32602, {"requested": [STATELESS, LATER], "supported": ["2030-01-01"]})
    )
    assert wire.names() == ["connect", "server/discover", "close"]


HELLOS = [
    ({"result": {"protocolVersion": "2030-01-01"}}, -32602, "protocol"),
    ({"result": {}}, -32000, "transport"),
    ({"result": {"resultType": "input_required"}}, -32000, "transport"),
    ({"error": {"code": -32603, "message": "no"}}, -32603, "execution"),
    ({"result": 1}, -32000, "transport"),
]


@pytest.mark.parametrize(("answer", "code", "kind"), HELLOS)
def test_a_hello_that_settles_nothing(answer: Any, code: int, kind: str) -> None:
    wire = Wire()
    wire.headers = [("mcp-session-id", "s-1")]
    wire.answers["initialize"] = {"jsonrpc": "2.0", "id": 1, **answer}

    error = failure(snodo.connect((Plain, wire), protocol=LATER))
    assert (error.code, error.kind) == (code, kind)
    assert wire.names() == ["connect", "initialize", "close"]


@pytest.mark.parametrize("answer", [snodo.TransportError(-32000, "no"), OSError("no")])
def test_a_session_that_cannot_be_begun_is_ended(answer: Any) -> None:
    wire = Wire()
    wire.headers = [("mcp-session-id", "s-1")]
    wire.answers["notifications/initialized"] = answer

    assert failure(snodo.connect((Plain, wire), protocol=LATER)).code == -32000
    assert wire.names()[-3:] == ["notifications/initialized", "delete_session", "close"]


def test_a_connection_that_cannot_be_made() -> None:
    wire = Wire()
    wire.answers["connect"] = OSError("nobody there")

    error = failure(snodo.connect((Plain, wire)))
    assert (error.code, error.kind, error.delivery) == (-32000, "transport", "never_sent")
    assert (error.cause[0], str(error.cause[1])) == ("failed_connect", "nobody there")
    wire.answers["connect"] = snodo.TransportError(-32000, "refused", cause="mine")
    assert failure(snodo.connect((Plain, wire))).cause == "mine"


def test_a_mistake_in_a_transport_is_nobody_else_s(transport: Any) -> None:
    wire = Wire()
    wire.answers["initialize"] = ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError):
        opened(transport, wire, protocol=LATER)
    assert wire.names() == ["connect", "initialize", "close"]
    wire.answers["connect"] = ZeroDivisionError("mine")
    with pytest.raises(ZeroDivisionError):
        opened(transport, wire)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ((object, 1), "is no transport: it has no request"),
        ((type("T", (), {"request": print}), 1), "no connect, no close"),
        ((Plain, 1, 2), "is no target"),
    ],
)
def test_what_is_no_transport(target: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        snodo.connect(target)


def test_wrong_options_are_told_in_order() -> None:
    wire = Wire()

    refused = snodo.connect((Plain, wire), protocol="1900-01-01", timeout=-1.0)
    assert failure(refused).data == {"requested": "1900-01-01", "supported": list(VERSIONS)}
    with pytest.raises(ValueError, match="timeout"):
        snodo.connect(Custom(Plain, wire), timeout=-1.0)
    assert wire.seen == []


async def test_a_connection_nobody_waits_for_is_closed() -> None:
    class Stuck(Slow):
        closed: ClassVar[list[str]] = []

        async def request(self, message: Any, **options: Any) -> Any:
            await anyio.sleep_forever()

        async def close(self) -> None:
            await anyio.sleep(0.001)
            self.closed.append("closed")

    with anyio.move_on_after(0.01):
        await snodo.connect((Stuck, Wire()))
    assert Stuck.closed == ["closed"]


# ---- requests


def test_requests_run_where_they_are_awaited() -> None:
    seen: list[int] = []

    class Here(Plain):
        def request(self, message: Any, **options: Any) -> Any:
            seen.append(threading.get_ident())
            return super().request(message, **options)

    client = opened(Here, Wire())
    call = client.call_tool("add", {"a": 1})
    assert len(seen) == 1
    call.get()
    assert seen == [threading.get_ident()] * 2


ERROR = {"jsonrpc": "2.0", "id": 1, "error": {"code": 7, "message": "m", "data": 1}}
BOTH = {"result": {}, "error": {}}
LATE = snodo.RequestTimeout(-32001, "late", cause="timeout")
RESPONSES = [
    (ERROR, "ServerError", 7, None),
    (BOTH, "TransportError", -32000, BOTH),
    ("text", "TransportError", -32000, "text"),
    (None, "TransportError", -32000, None),
    (LATE, "RequestTimeout", -32001, "timeout"),
]


@pytest.mark.parametrize(("answer", "kind", "code", "cause"), RESPONSES)
def test_an_answer_that_is_a_failure(answer: Any, kind: str, code: int, cause: Any) -> None:
    wire = Wire()
    client = opened(Plain, wire, protocol=STATELESS)
    wire.answers["tools/call"] = answer

    error = failure(client.call_tool("add"))
    assert (type(error).__name__, error.code, error.cause) == (kind, code, cause)
    assert error.who == "transport Plain"


@pytest.mark.parametrize(
    "lost", [OSError("x"), EOFError(), anyio.EndOfStream(), anyio.ClosedResourceError()]
)
def test_the_loss_of_a_connection(transport: Any, lost: Exception) -> None:
    wire = Wire()
    client = opened(transport, wire, protocol=STATELESS)
    wire.answers["tools/call"] = lost

    error = failure(client.call_tool("add"))
    assert (error.code, error.kind, error.delivery) == (-32000, "transport", "unknown")
    assert error.cause is lost


def test_a_mistake_in_a_request_is_raised(transport: Any) -> None:
    wire = Wire()
    client = opened(transport, wire, protocol=STATELESS)
    wire.answers["tools/call"] = ZeroDivisionError()

    with pytest.raises(ZeroDivisionError):
        client.call_tool("add").get()


@pytest.mark.parametrize("version", VERSIONS)
def test_input_is_asked_for_over_a_transport(transport: Any, version: str) -> None:
    handlers = {"form": lambda _params: NAME}
    client = opened(transport, Wire(), protocol=version, input_handlers=handlers)

    result = client.call_tool("greet").get()
    assert result["content"][0]["text"] == "Hello Bo, asked"


FORM = {"message": "?", "requestedSchema": {}}
SERVER_REQUESTS = [
    ({"id": 1, "method": "ping"}, {"result": {}}),
    ({"id": "a", "method": "sampling/createMessage", "params": {}}, {"error": -32602}),
    ({"id": 1, "method": "roots/list"}, {"error": -32601}),
    ({"id": 1, "method": "none"}, {"error": -32601}),
    ({"id": 1, "method": "elicitation/create", "params": FORM}, {"result": NAME}),
    ({"method": "ping"}, {"error": -32600}),
]


@pytest.mark.parametrize(("request_", "expected"), SERVER_REQUESTS)
def test_requests_of_the_server_are_answered(request_: Any, expected: Any) -> None:
    wire = Wire()
    opened(Plain, wire, protocol=LATER, input_handlers={"form": lambda _params: NAME})

    answer = wire.seen[0][1]["on_server_request"](request_)
    assert answer["id"] == request_.get("id")
    if "error" in expected:
        assert answer["error"]["code"] == expected["error"]
    else:
        assert answer["result"] == expected["result"]


# ---- streams


@pytest.mark.usefixtures("node")
def test_a_stream_over_a_transport() -> None:
    wire = Wire()
    client = opened(Plain, wire, protocol=STATELESS)
    stream = client.listen({"toolsListChanged": True}, timeout=2.0).get(timeout=PATIENCE)

    assert stream.accepted == {"toolsListChanged": True}
    assert wire.seen[-1][2] == {"dialect": STATELESS, "timeout": 2.0}
    stream.close().get(timeout=PATIENCE)
    for _ in range(1000):
        if wire.names()[-1] == "end":
            break
        threading.Event().wait(0.005)
    assert wire.seen[-1] == ("end", ("cancelled", "client"))


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("answer", [snodo.TransportError(-32000, "no"), OSError("no")])
def test_a_stream_that_cannot_be_opened(answer: Exception) -> None:
    wire = Wire()
    client = opened(Plain, wire, protocol=STATELESS)
    wire.answers["listen"] = answer

    assert failure(client.listen({})).code == -32000
    wire.answers["listen"] = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        client.listen({}).get(timeout=PATIENCE)


def test_a_transport_without_streams() -> None:
    client = opened(Bare, Wire(), protocol=STATELESS)

    with pytest.raises(ValueError, match=r"transport Bare has no listen\(\)"):
        client.listen({})
