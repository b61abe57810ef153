"""Servers of the official SDK in the client's own process."""

from __future__ import annotations

import gc
import threading
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest
from inside import PATIENCE, inside, silenced
from mcp.server import Server
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer
from sdk_servers import Log, high_level, low_level

import snodo_actors as snodo
from snodo_actors.adapters.mcp import runtime
from supervisors import Node, spawn, when_down

STATELESS, LATER, FIRST = VERSIONS = ("2026-07-28", "2025-11-25", "2025-06-18")
CHANGING = {"roots": {"listChanged": True}}
NAME = {"action": "accept", "content": {"name": "Bo"}}


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> Any:
    return request.param


def opened(server: Any, **options: Any) -> snodo.Client:
    return snodo.direct(runtime(server), **options).get(timeout=PATIENCE)


def said(result: Any) -> str:
    text: str = result["content"][0]["text"]
    return text


def until(log: Log, line: str) -> None:
    for _ in range(1000):
        if line in log.lines:
            return
        threading.Event().wait(0.005)
    raise AssertionError(f"{line!r} is not among {log.lines}")


# ---- what a client can ask


@pytest.mark.usefixtures("node")
def test_calls_in_a_thread(log: Log, version: str) -> None:
    with opened(high_level(log), protocol=version) as client:
        assert client.protocol == version
        assert client.call_tool("add", {"a": 1, "b": 2}).get()["structuredContent"] == {"result": 3}
        assert client.list_tools().get()[0]["name"] == "add"
        assert client.list_resources().get()[0]["uri"] == "notes://today"
        assert client.list_resource_templates().get()[0]["uriTemplate"] == "notes://{name}/one"
        assert client.read_resource("notes://ann/one").get()["contents"][0]["text"] == "of ann"
        prompt = client.get_prompt("review", {"code": "x"}).get()
        assert prompt["messages"][0]["content"]["text"] == "Review: x"
        if version == STATELESS:
            assert client.discover().get()["instructions"] == "Use it."
        else:
            assert client.ping().get() == {}
            assert client.session is not None
            assert client.session.server_info == {"name": "sdk", "version": "3"}
    assert log.lines == ["begun", "ended"]


@pytest.mark.usefixtures("inner_node")
async def test_calls_in_a_task(log: Log) -> None:
    for version in VERSIONS:
        async with await snodo.direct(runtime(high_level(log)), protocol=version) as client:
            result = await client.call_tool("add", {"a": 1, "b": 2})
            assert result["structuredContent"] == {"result": 3}
    assert log.lines == ["begun", "ended"] * 3


async def test_many_calls_from_another_loop(log: Log) -> None:
    results: dict[int, Any] = {}

    async def call(client: snodo.Client, number: int) -> None:
        results[number] = await client.call_tool("add", {"a": number, "b": 1})

    with Node():
        made = runtime(high_level(log))
        async with await snodo.direct(made) as client, anyio.create_task_group() as group:
            for number in range(30):
                group.start_soon(call, client, number)
    assert [results[n]["structuredContent"]["result"] for n in range(30)] == [
        n + 1 for n in range(30)
    ]


def test_calls_in_a_process_of_a_node(log: Log, node: Node) -> None:
    async def run() -> Any:
        async with await snodo.direct(runtime(low_level(log))) as client:
            return await client.call_tool("echo", {"a": 1})

    assert said(inside(node, run)) == "{'a': 1}"


@pytest.mark.usefixtures("node")
def test_a_low_level_server(log: Log, version: str) -> None:
    client = opened(low_level(log), protocol=version)
    assert said(client.call_tool("echo", {"a": 1}).get()) == "{'a': 1}"
    assert [tool["name"] for tool in client.list_tools().get()] == ["echo"]
    with client, pytest.raises(snodo.ServerError) as failed:
        client.list_prompts().get()
    error = failed.value
    assert (error.code, error.kind, error.delivery) == (-32601, "protocol", "answered")
    assert error.who == "direct low"


@pytest.mark.usefixtures("node")
def test_a_tool_that_fails(log: Log, version: str) -> None:
    with opened(high_level(log), protocol=version) as client:
        assert client.call_tool("fails").get()["isError"] is True
    with opened(low_level(log), protocol=version) as client:
        with pytest.raises(snodo.ServerError):
            client.call_tool("crash").get()
        assert said(client.call_tool("echo").get()) == "{}"


@pytest.mark.usefixtures("node")
def test_progress_comes_to_where_the_call_waits(log: Log, version: str) -> None:
    told: list[Any] = []

    def progress(params: Any) -> None:
        told.append((params["progress"], params["message"], threading.get_ident()))

    with opened(high_level(log), protocol=version) as client:
        client.call_tool("steps", {"count": 2}, progress=progress).get()
    here = threading.get_ident()
    assert told == [(1, "step 1", here), (2, "step 2", here)]


class Enough(Exception):
    pass


@pytest.mark.usefixtures("node")
def test_what_a_progress_function_raises_is_the_caller_s(log: Log) -> None:
    def progress(_params: Any) -> None:
        raise Enough

    with opened(high_level(log)) as client:
        with pytest.raises(Enough):
            client.call_tool("steps", {"count": 2}, progress=progress).get()
        assert said(client.call_tool("steps", {"count": 1}).get()) == "done"


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("version", [LATER, FIRST])
def test_forms_are_answered_where_the_call_waits(log: Log, version: str) -> None:
    threads: list[int] = []

    def form(_params: Any) -> Any:
        threads.append(threading.get_ident())
        return NAME

    with opened(high_level(log), protocol=version, input_handlers={"form": form}) as client:
        assert said(client.call_tool("ask").get()) == "Hello Bo"
    assert threads == [threading.get_ident()]


@pytest.mark.usefixtures("inner_node")
async def test_input_is_asked_for_in_rounds(log: Log) -> None:
    async def call_tool(_ctx: Any, params: Any) -> Any:
        if params.input_responses is None:
            schema = {"type": "object", "properties": {"name": {"type": "string"}}}
            asked = {"message": "Your name?", "requestedSchema": schema}
            request = {"method": "elicitation/create", "params": asked}
            return types.InputRequiredResult.model_validate(
                {"inputRequests": {"name": request}, "requestState": "s"}
            )
        text = types.TextContent(type="text", text=f"{params.input_responses['name']}")
        return types.CallToolResult(content=[text])

    async def form(_params: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return NAME

    server: Server[Any] = Server("asks", on_call_tool=call_tool)
    async with await snodo.direct(runtime(server), input_handlers={"form": form}) as client:
        assert "Bo" in said(await client.call_tool("any"))


@pytest.mark.usefixtures("node")
def test_who_calls(log: Log, version: str) -> None:
    token = AccessToken(token="t", client_id="ann", scopes=[])

    with opened(high_level(log), protocol=version, auth=token) as client:
        assert said(client.call_tool("who").get()) == "ann None"
    with opened(high_level(log), protocol=version, auth="bob") as client:
        assert said(client.call_tool("who").get()) == "None bob"
    with opened(high_level(log), protocol=version) as client:
        assert said(client.call_tool("who").get()) == "None None"


@pytest.mark.usefixtures("node")
def test_new_roots_are_told_to_the_server(log: Log) -> None:
    server = low_level(log)
    with opened(server, protocol=LATER, client_capabilities=CHANGING) as client:
        assert client.roots_changed().get(timeout=PATIENCE) is None
        until(log, "roots changed")


@pytest.mark.usefixtures("inner_node")
async def test_new_roots_are_told_to_the_server_of_a_task(log: Log) -> None:
    server = runtime(low_level(log))
    client = await snodo.direct(server, protocol=LATER, client_capabilities=CHANGING)
    assert await client.roots_changed() is None
    assert said(await client.call_tool("echo", {})) == "{}"  # in order, so it is there before
    assert log.lines == ["roots changed", "echo"]
    await client.close()


# ---- streams


@pytest.mark.usefixtures("node")
def test_a_stream_of_events(log: Log) -> None:
    with opened(high_level(log)) as client:
        stream = client.listen({"toolsListChanged": True}).get(timeout=PATIENCE)
        client.call_tool("change").get()

        assert stream.accepted == {"toolsListChanged": True}
        assert stream.next(timeout=PATIENCE).get()[:2] == (
            ("notification", "notifications/tools/list_changed")
        )
        stream.close().get(timeout=PATIENCE)


@pytest.mark.usefixtures("node")
def test_a_stream_ends_with_its_session(log: Log) -> None:
    client = opened(high_level(log))
    stream = client.listen({"toolsListChanged": True}).get(timeout=PATIENCE)
    client.close().get(timeout=PATIENCE)

    kind, error = stream.next(timeout=PATIENCE).get()
    assert (kind, error.code, error.cause) == ("closed", -32000, "closed")


# ---- the end


@pytest.mark.usefixtures("inner_node")
async def test_a_cancelled_call_cancels_the_function(log: Log) -> None:
    async with await snodo.direct(runtime(high_level(log))) as client:
        with anyio.move_on_after(0.05) as scope:
            await client.call_tool("slow")
        assert scope.cancelled_caught
        await anyio.to_thread.run_sync(until, log, "slow cancelled")
        assert (await client.call_tool("add", {"a": 1, "b": 2}))["structuredContent"] == {
            "result": 3
        }


@pytest.mark.usefixtures("node")
def test_nothing_begins_before_the_first_message(log: Log) -> None:
    client = opened(high_level(log), protocol=STATELESS)
    client.close().get(timeout=PATIENCE)

    assert log.lines == []
    with pytest.raises(snodo.TransportError) as failed:
        client.list_tools().get(timeout=PATIENCE)
    error = failed.value
    assert (error.code, error.cause, error.delivery) == (-32000, "closed", "never_sent")


@pytest.mark.usefixtures("node")
def test_a_session_ends_though_nobody_waits_for_it(log: Log) -> None:
    client = opened(high_level(log))
    client.list_tools().get(timeout=PATIENCE)
    client.close()

    until(log, "ended")


async def test_to_close_fails_the_calls_that_wait(log: Log) -> None:
    with Node():
        client = await snodo.direct(runtime(high_level(log)))
        failures: list[Any] = []

        async def call() -> None:
            try:
                await client.call_tool("slow")
            except snodo.Error as error:
                failures.append((error.code, error.cause, error.delivery, error.who))

        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(call)
            await anyio.to_thread.run_sync(until, log, "slow begun")
            await client.close()
            await client.close()
    assert failures == [(-32000, "closed", "unknown", "direct sdk")] * 2
    assert log.lines[-1] == "ended"


def test_a_session_ends_with_its_owner(log: Log, node: Node) -> None:
    clients: list[snodo.Client] = []

    async def own() -> None:
        clients.append(await snodo.direct(runtime(high_level(log))))
        await clients[0].call_tool("add", {"a": 1, "b": 2})

    when_down(spawn(own, node=node)).get(timeout=PATIENCE)
    until(log, "ended")
    with pytest.raises(snodo.TransportError, match="when its owner") as failed:
        clients[0].list_tools().get(timeout=PATIENCE)
    assert failed.value.cause[0] == "owner_ended"


def test_a_session_ends_with_its_node(log: Log, backend: str) -> None:
    with Node(backend=backend):
        client = opened(high_level(log))
        client.call_tool("add", {"a": 1, "b": 2}).get()
    assert log.lines == ["begun", "ended"]
    with pytest.raises(snodo.TransportError):
        client.list_tools().get(timeout=PATIENCE)


@pytest.mark.usefixtures("node")
def test_a_server_that_cannot_begin(log: Log, version: str) -> None:
    with silenced(), pytest.raises(snodo.TransportError, match="no database") as failed:
        opened(high_level(log, breaks="begin"), protocol=version).list_tools().get(timeout=PATIENCE)

    error = failed.value
    assert (error.code, error.kind, str(error.cause)) == (-32000, "transport", "no database")
    assert isinstance(error.__cause__, RuntimeError)


@pytest.mark.usefixtures("node")
def test_a_server_that_cannot_end(log: Log) -> None:
    client = opened(high_level(log, breaks="end"))
    client.list_tools().get(timeout=PATIENCE)

    client.close().get(timeout=PATIENCE)
    assert log.lines == ["begun", "ended"]


def test_what_is_no_server_of_the_sdk() -> None:
    for other in (snodo.Server("ours"), None, "server"):
        with pytest.raises(TypeError, match="no server of the SDK"):
            runtime(other)
    with pytest.raises(ValueError, match="versions must be some of"):
        runtime(Server("s"), versions=["1900-01-01"])


def test_a_runtime_says_what_it_is() -> None:
    made = runtime(Server("s"), versions=[FIRST, STATELESS])

    assert (made.name, made.versions) == ("s", (STATELESS, FIRST))
    assert repr(made) == f"<SDKRuntime of s, {STATELESS}, {FIRST}>"
    gc.collect()


def test_a_thread_that_is_stuck_does_not_hold_up_the_end(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snodo_actors.adapters.sdk_session.GRACE", 0.01)
    monkeypatch.setattr("snodo_actors.adapters.sdk_session.CLOSE_TIMEOUT", 0.05)
    server: MCPServer[Any] = MCPServer("stuck", log_level="CRITICAL")
    begun, freed = threading.Event(), threading.Event()

    @server.tool()
    def stuck() -> None:
        begun.set()
        freed.wait(PATIENCE)

    client = opened(server)

    async def call() -> None:
        with pytest.raises(snodo.TransportError):
            await client.call_tool("stuck")

    calling = spawn(call, node=node)
    assert begun.wait(PATIENCE)
    client.close().get(timeout=PATIENCE)
    when_down(calling).get(timeout=PATIENCE)
    assert not freed.is_set()
    freed.set()
