"""Calls of an in-process server: in which task or thread they run, and what comes of them."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pykka
import pytest
from everything import FIRST, LATER, STATELESS, VERSIONS, make
from inside import inside, silenced

import snodo_actors as snodo
from snodo_actors.server import Call, Server
from supervisors import Node, WouldBlock, receive, self_

SERVER = make()


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> Any:
    return request.param


def opened(server: Server = SERVER, **options: Any) -> snodo.Client:
    return snodo.direct(server.runtime(), **options).get(timeout=5)


def texts(result: Any) -> list[str]:
    return [block["text"] for block in result["content"]]


# ---- everything a client can ask, in a thread and in a task


def test_each_call_in_a_thread(version: str) -> None:
    client = opened(protocol=version, auth={"user": "ann"})

    assert client.call_tool("add", {"a": 1}).get()["structuredContent"] == {"result": 3}
    assert (
        client.call_tool({"name": "later"}, {"point": {"x": 1}}).get()["structuredContent"]["x"]
        == 2
    )
    assert client.call_tool("who").get()["structuredContent"]["auth"] == {"user": "ann"}
    assert client.read_resource("notes://raw").get()["contents"][0]["blob"] == "AAE="
    assert client.get_prompt("review", {"code": "x"}).get()["messages"][0]["role"] == "user"
    ref = {
        "ref": {"type": "ref/prompt", "name": "review"},
        "argument": {"name": "style", "value": ""},
    }
    assert client.request("completion/complete", ref).get()["completion"]["total"] == 7
    assert client.list_tools().get()[0]["name"] == "add"
    assert client.list_prompts().get()[0]["name"] == "review"
    assert len(client.list_resources().get()) == 7
    assert len(client.list_resource_templates().get()) == 2
    if version == STATELESS:
        assert client.discover().get()["supportedVersions"] == list(VERSIONS)
        assert client.request("example/do", {"what": 1}).get()["did"] == 1
    else:
        assert client.ping().get() == {}


async def test_each_call_in_a_task() -> None:
    for version in VERSIONS:
        client = await snodo.direct(SERVER.runtime(), protocol=version)
        assert (await client.call_tool("add", {"a": 1}))["structuredContent"] == {"result": 3}
        assert (await client.call_tool("later", {"point": {"x": 1}}))["structuredContent"]["x"] == 2
        assert (await client.read_resource("notes://today"))["contents"][0]["text"] == "today"
        assert (await client.get_prompt("talk"))["messages"][1]["role"] == "assistant"
        assert len(await client.list_tools()) > 5


async def test_calls_of_a_node_in_the_caller_s_own_loop(inner_node: Node) -> None:
    client = await snodo.direct(SERVER.runtime())

    assert (await client.call_tool("later", {"point": {"x": 1}}))["structuredContent"]["x"] == 2
    assert client.call_tool("add", {"a": 1}).get()["structuredContent"] == {"result": 3}


def test_calls_in_a_process_of_a_node(node: Node) -> None:
    async def run() -> Any:
        client = await snodo.direct(SERVER.runtime())
        return await client.call_tool("later", {"point": {"x": 1}})

    assert inside(node, run)["structuredContent"]["x"] == 2


def test_many_results_at_once() -> None:
    client = opened()
    calls = [client.call_tool("add", {"a": number}) for number in range(5)]

    results = pykka.get_all(calls)
    assert [result["structuredContent"]["result"] for result in results] == [2, 3, 4, 5, 6]


async def test_many_tasks_at_once() -> None:
    client = await snodo.direct(SERVER.runtime())
    results: dict[int, Any] = {}

    async def call(number: int) -> None:
        results[number] = await client.call_tool("async_steps", {"count": number})

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(call, number)
    assert all(results[n]["structuredContent"] == {"result": n} for n in range(20))


# ---- where


def places() -> tuple[Server, list[Any]]:
    server, seen = Server("places"), []

    @server.tool()
    def plain() -> None:
        seen.append((threading.get_ident(), None))

    @server.tool()
    async def wait() -> None:
        seen.append((threading.get_ident(), anyio.get_current_task().id))

    return server, seen


def test_functions_run_in_the_thread_that_waits() -> None:
    server, seen = places()
    client = opened(server)
    call = client.call_tool("plain")
    assert seen == []
    call.get()
    client.call_tool("wait").get()

    assert [thread for thread, _ in seen] == [threading.get_ident()] * 2


async def test_functions_run_in_the_task_that_waits() -> None:
    server, seen = places()
    client = await snodo.direct(server.runtime())
    await client.call_tool("plain")
    await client.call_tool("wait")

    here = threading.get_ident(), anyio.get_current_task().id
    assert seen == [(here[0], None), here]


def test_a_plain_function_needs_no_event_loop() -> None:
    server = Server("plain")

    @server.tool()
    def loops() -> str:
        with pytest.raises(Exception, match=r"(?i)not.*running.*event loop"):
            anyio.get_current_task()
        return "none"

    assert texts(opened(server).call_tool("loops").get()) == ["none"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_to_block_in_async_code_works_only_without_waiting(backend: str) -> None:
    async def run() -> None:
        client = await snodo.direct(SERVER.runtime())
        assert client.call_tool("add", {"a": 1}).get()["structuredContent"] == {"result": 3}
        with pytest.raises(WouldBlock, match=r"await client.call_tool"):
            client.call_tool("async_steps", {"count": 1}).get()

    anyio.run(run, backend=backend)


async def test_a_cancelled_call_cancels_the_function() -> None:
    server, seen = Server("slow"), []

    @server.tool()
    async def slow() -> None:
        seen.append("begun")
        try:
            await anyio.sleep_forever()
        except BaseException:
            seen.append("cancelled")
            raise

    client = await snodo.direct(server.runtime())
    call = client.call_tool("slow")
    with anyio.move_on_after(0.01) as scope:
        await call
    assert scope.cancelled_caught
    assert seen == ["begun", "cancelled"]
    assert isinstance(call.exception(), snodo.RequestTimeout)


async def test_there_is_no_timeout() -> None:
    server = Server("slow")

    @server.tool()
    async def slow() -> str:
        await anyio.sleep(0.05)
        return "done"

    client = await snodo.direct(server.runtime(), timeout=0.01)
    assert texts(await client.call_tool("slow", timeout=0.001)) == ["done"]


# ---- what is whose


def test_nothing_is_shared_with_the_server() -> None:
    server, kept = Server("keeps"), []

    @server.tool(input_schema={"type": "object"})
    def keep(arguments: dict[str, Any]) -> dict[str, Any]:
        kept.append(arguments)
        return arguments

    client, arguments = opened(server), {"list": [1]}
    client.call_tool("keep", arguments).get()
    arguments["list"].append(2)
    tools = client.list_tools().get()
    tools[0]["inputSchema"].clear()

    assert kept == [{"list": [1]}]
    assert client.list_tools().get()[0]["inputSchema"] == {"type": "object"}


@pytest.mark.parametrize(
    ("arguments", "error"), [({"a": object()}, TypeError), ({"a": float("nan")}, ValueError)]
)
def test_arguments_without_a_form_in_json(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        opened().call_tool("add", arguments).get()


# ---- failures


def failure(call: Any) -> tuple[Any, ...]:
    with pytest.raises(snodo.Error) as failed:
        call.get(timeout=5)
    error = failed.value
    assert error.who == "direct everything"
    return type(error).__name__, error.code, error.kind, error.data, error.cause, error.delivery


def test_the_server_s_errors(version: str) -> None:
    client = opened(protocol=version)
    code = -32602 if version == STATELESS else -32002
    uri = {"uri": "notes://none"}

    assert failure(client.call_tool("none")) == (
        ("ServerError", -32602, "protocol", None, None, "answered")
    )
    assert failure(client.read_resource("notes://none")) == (
        ("ServerError", code, "protocol", uri, None, "answered")
    )
    with silenced():
        assert failure(client.read_resource("notes://broken")) == (
            ("ServerError", -32603, "execution", None, None, "answered")
        )


def test_a_result_that_is_an_error_is_a_result() -> None:
    assert opened().call_tool("fails", {"how": "x"}).get()["isError"] is True


@pytest.mark.parametrize(
    ("version", "method"),
    [
        (STATELESS, "sampling/createMessage"),
        (STATELESS, "notifications/progress"),
        (LATER, "server/discover"),
        (LATER, "example/do"),
        (FIRST, "tasks/get"),
    ],
)
def test_a_method_the_version_lacks_is_refused_here(version: str, method: str) -> None:
    data = {"method": method, "protocolVersion": version}

    assert failure(opened(protocol=version).request(method)) == (
        ("ProtocolError", -32601, "protocol", data, None, "never_sent")
    )


def test_a_method_nobody_lists_is_sent() -> None:
    assert failure(opened().request("example/none")) == (
        ("ServerError", -32601, "protocol", None, None, "answered")
    )
    assert failure(opened().ping()) == (("ServerError", -32601, "protocol", None, None, "answered"))


def test_lists_follow_the_pages_within_a_limit() -> None:
    server = Server("pages", page_size=2)
    for name in "abcde":
        server.tool(name)(lambda: "1")
    client = opened(server, max_pages=3)

    assert [tool["name"] for tool in client.list_tools().get()] == list("abcde")
    first = client.list_page("tools").get()
    assert [tool["name"] for tool in first.items] == ["a", "b"]
    assert client.list_page("tools", first.next_cursor).get().items[0]["name"] == "c"
    with pytest.raises(snodo.TransportError) as failed:
        opened(server, max_pages=2).list_tools().get()
    assert failed.value.cause == ("tools", 2)
    with pytest.raises(snodo.ServerError, match="Invalid cursor"):
        client.list_page("tools", "none").get()


def test_no_prompts_to_list() -> None:
    with pytest.raises(snodo.ServerError, match="Prompts not supported") as failed:
        opened(Server("empty")).list_prompts().get()
    assert failed.value.code == -32601


# ---- progress


def test_progress_comes_while_the_function_runs_in_a_thread(version: str) -> None:
    server, seen = Server("s"), []

    @server.tool()
    def work(call: Call) -> None:
        for step in (1, 2):
            seen.append(step)
            call.progress(step)

    def progress(params: Any) -> None:
        seen.append((params["progress"], threading.get_ident()))

    opened(server, protocol=version).call_tool("work", progress=progress).get()
    here = threading.get_ident()
    assert seen == [1, (1, here), 2, (2, here)]


@pytest.mark.parametrize("tool", ["steps", "async_steps"])
async def test_progress_functions_may_be_async(tool: str) -> None:
    client, seen = await snodo.direct(SERVER.runtime()), []

    async def progress(params: Any) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append((params["progress"], anyio.get_current_task().id))

    await client.call_tool(tool, {"count": 3}, progress=progress)
    here = anyio.get_current_task().id
    assert seen == [(1, here), (2, here), (3, here)]


def test_an_async_progress_function_in_a_thread() -> None:
    seen = []

    async def progress(params: Any) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(params["progress"])

    client = opened()
    client.call_tool("steps", {"count": 2}, progress=progress).get()
    client.call_tool("async_steps", {"count": 2}, progress=progress).get()
    assert seen == [1, 2, 1, 2]


def test_a_process_can_be_told_of_progress() -> None:
    opened().call_tool("steps", {"count": 2}, progress=self_()).get()

    told = [receive(tuple, timeout=5).get() for _ in range(2)]
    assert [(name, params["progress"]) for name, params in told] == [
        ("snodo_progress", 1),
        ("snodo_progress", 2),
    ]


class Enough(Exception):
    pass


def enough(_params: Any) -> None:
    raise Enough


async def enough_later(_params: Any) -> None:
    await anyio.lowlevel.checkpoint()
    raise Enough


@pytest.mark.parametrize("progress", [enough, enough_later])
@pytest.mark.parametrize("tool", ["steps", "async_steps"])
async def test_what_a_progress_function_raises_is_the_caller_s(tool: str, progress: Any) -> None:
    client = await snodo.direct(SERVER.runtime())

    with pytest.raises(Enough):
        await client.call_tool(tool, {"count": 3}, progress=progress)
    assert (await client.call_tool(tool, {"count": 3}))["structuredContent"] == {"result": 3}


def test_what_a_progress_function_raises_in_a_thread() -> None:
    with pytest.raises(Enough):
        opened().call_tool("steps", {"count": 3}, progress=enough).get()


async def test_progress_from_another_thread_comes_where_the_call_is_awaited() -> None:
    server, seen = Server("threads"), []

    @server.tool()
    async def work(call: Call) -> None:
        def far() -> None:
            call.progress(1)
            seen.append("far")

        await anyio.to_thread.run_sync(far)

    def progress(params: Any) -> None:
        seen.append(threading.get_ident())

    client = await snodo.direct(server.runtime())
    await client.call_tool("work", progress=progress)
    assert seen == ["far", threading.get_ident()]


def test_there_is_no_progress_after_the_end() -> None:
    server, calls = Server("late"), []
    server.tool("work")(lambda: None)

    @server.tool()
    def remember(call: Call) -> None:
        calls.append(call)

    seen: list[Any] = []
    opened(server).call_tool("remember", progress=seen.append).get()
    calls[0].progress(1)
    assert seen == []
