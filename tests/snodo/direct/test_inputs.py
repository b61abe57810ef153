"""Rounds of input, end to end: an in-process server asks, a client's handlers answer."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from everything import FIRST, FORM, LATER, STATELESS, VERSIONS, make

import snodo_actors as snodo
from snodo_actors.server import Call, InputNeeded, Server, ask_form

SERVER = make()
NAME = {"action": "accept", "content": {"name": "Bo"}}
MODEL = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "it"}}
ROOTS = {"roots": [{"uri": "file:///a"}]}


def opened(version: str = STATELESS, **options: Any) -> snodo.Client:
    return snodo.direct(SERVER.runtime(), protocol=version, **options).get(timeout=5)


def said(result: Any) -> str:
    text: str = result["content"][0]["text"]
    return text


class Handlers:
    """Handlers of every kind that note what they are asked, in which thread."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def options(self) -> dict[str, Any]:
        answers = {"form": NAME, "url": {"action": "accept"}, "sampling": MODEL, "roots": ROOTS}
        return {
            "input_handlers": {
                kind: self._handler(kind, answer) for kind, answer in answers.items()
            }
        }

    def _handler(self, kind: str, answer: Any) -> Any:
        def handle(params: Any) -> Any:
            self.asked.append((kind, params, threading.get_ident()))
            return answer

        return handle


@pytest.mark.parametrize("version", VERSIONS)
def test_a_form_is_answered_where_the_call_waits(version: str) -> None:
    handlers = Handlers()
    client = opened(version, **handlers.options())

    assert said(client.call_tool("greet").get()) == "Hello Bo, asked"
    ((kind, params, thread),) = handlers.asked
    expected = {"message": "Your name?", "requestedSchema": FORM}
    if version != FIRST:
        expected["mode"] = "form"
    assert (kind, params, thread) == ("form", expected, threading.get_ident())


@pytest.mark.parametrize("version", [STATELESS, LATER])
def test_every_kind_is_answered_in_the_order_of_the_names(version: str) -> None:
    handlers = Handlers()
    client = opened(version, **handlers.options())

    result = client.call_tool("ask_all").get()
    names = ["a-form", "b-url", "c-model", "d-roots"]
    assert result["structuredContent"] == {"result": names}
    assert [kind for kind, _, _ in handlers.asked] == ["form", "url", "sampling", "roots"]
    assert handlers.asked[2][1]["temperature"] == 0.5
    assert handlers.asked[3][1] == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_prompts_and_resources_ask_as_well(version: str) -> None:
    client = opened(version, **Handlers().options())

    assert client.get_prompt("asking").get()["messages"][0]["content"]["text"] == "told"
    assert client.read_resource("notes://asks").get()["contents"][0]["text"] == "told"


async def test_handlers_may_be_async() -> None:
    tasks: list[int] = []

    async def form(_params: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        tasks.append(anyio.get_current_task().id)
        return "ok", NAME

    for version in VERSIONS:
        options: Any = {"protocol": version, "input_handlers": {"form": form}}
        client = await snodo.direct(SERVER.runtime(), **options)
        assert said(await client.call_tool("greet")) == "Hello Bo, asked"
    assert tasks == [anyio.get_current_task().id] * 3


@pytest.mark.parametrize("version", VERSIONS)
def test_async_handlers_in_a_thread(version: str) -> None:
    async def form(_params: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return NAME

    client = opened(version, input_handlers={"form": form})
    assert said(client.call_tool("greet").get()) == "Hello Bo, asked"


def test_without_handlers_the_caller_goes_on_by_hand() -> None:
    client = opened(client_capabilities={"elicitation": {}})

    asked = client.call_tool("greet").get()
    assert isinstance(asked, snodo.InputRequired)
    assert (list(asked.input_requests), asked.request_state) == (["name"], "asked")
    answered = client.call_tool(
        "greet", input_responses={"name": NAME}, request_state=asked.request_state
    )
    assert said(answered.get()) == "Hello Bo, asked"


def test_handlers_can_be_left_out_of_one_call() -> None:
    handlers = Handlers()
    client = opened(**handlers.options())

    assert isinstance(client.call_tool("greet", answer_input=False).get(), snodo.InputRequired)
    assert handlers.asked == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_state_alone_is_sent_back(version: str) -> None:
    assert said(opened(version, **Handlers().options()).call_tool("wait").get()) == "after 2"


def failure(client: snodo.Client, tool: str, **options: Any) -> snodo.Error:
    with pytest.raises(snodo.Error) as failed:
        client.call_tool(tool, **options).get(timeout=5)
    assert failed.value.who == "direct everything"
    return failed.value


def test_a_kind_without_a_handler() -> None:
    client = opened(
        input_handlers={"form": lambda _params: NAME},
        client_capabilities={"elicitation": {"url": {}}, "sampling": {}, "roots": {}},
    )

    error = failure(client, "ask_all")
    assert isinstance(error, snodo.InputError)
    assert (error.code, error.kind, error.data) == (-32602, "protocol", {"inputRequest": "b-url"})
    assert (error.cause[:2], error.delivery) == (("no_input_handler", "url"), "answered")
    assert error.cause[2]["resultType"] == "input_required"


def test_a_client_that_declared_nothing() -> None:
    error = failure(opened(), "greet")

    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.kind, error.delivery) == (-32021, "protocol", "answered")
    assert error.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


RETURNS = [
    (("error", "no"), "no"),
    (7, ("invalid_return", 7)),
    ({"action": "perhaps"}, ("invalid_response", {"action": "perhaps"})),
]


@pytest.mark.parametrize(("returned", "reason"), RETURNS)
def test_a_handler_that_gives_no_answer(returned: Any, reason: Any) -> None:
    error = failure(opened(input_handlers={"form": lambda _params: returned}), "greet")

    assert (error.code, error.kind, error.data) == (-32603, "execution", None)
    assert error.cause[:3] == ("input_handler", "name", reason)


def test_a_handler_that_gives_no_answer_in_the_initialize_era() -> None:
    client = opened(LATER, input_handlers={"form": lambda _params: ("error", "no")})

    error = failure(client, "greet")
    assert (error.code, error.message) == (-32603, "the client did not answer elicitation/create")


class Away(Exception):
    pass


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_handler_raises_is_the_caller_s(version: str) -> None:
    def form(_params: Any) -> Any:
        raise Away

    client = opened(version, input_handlers={"form": form})
    with pytest.raises(Away):
        client.call_tool("greet").get()
    assert client.call_tool("add", {"a": 1}).get()["structuredContent"] == {"result": 3}


def test_a_server_that_never_has_enough() -> None:
    client = opened(**Handlers().options(), max_input_rounds=3)

    error = failure(client, "forever")
    assert (error.code, error.kind, error.data) == (-32000, "transport", {"maxInputRounds": 3})
    assert error.cause[0] == "max_input_rounds"
    assert failure(client, "forever", max_input_rounds=1).data == {"maxInputRounds": 1}


def test_progress_is_told_in_every_round() -> None:
    server, tokens = Server("s"), []

    @server.tool()
    def work(call: Call) -> str:
        call.progress(1)
        if not call.input_responses:
            raise InputNeeded({"name": ask_form("?", FORM)})
        return "done"

    client = snodo.direct(server.runtime(), **Handlers().options()).get()
    result = client.call_tool("work", progress=lambda p: tokens.append(p["progressToken"])).get()
    assert said(result) == "done"
    assert len(set(tokens)) == 2
