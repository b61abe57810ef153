"""A server in this process that offers something of everything, and what asks it."""

from __future__ import annotations

import enum
import inspect
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import anyio
import anyio.lowlevel

from snodo_actors.server import (
    Call,
    Completion,
    InputNeeded,
    JSONRPCError,
    Server,
    ToolResult,
    ask_form,
    ask_roots,
    ask_sampling,
    ask_url,
    audio,
    contents,
    embedded,
    image,
    message,
    resource_link,
    text,
)

STATELESS, LATER, FIRST = "2026-07-28", "2025-11-25", "2025-06-18"
VERSIONS = (STATELESS, LATER, FIRST)
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ICON = {"src": "data:image/png;base64,AAAA", "mimeType": "image/png"}


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    """A point."""

    x: int
    y: float = 0.5


class Note(TypedDict):
    title: str
    tags: NotRequired[list[str]]


def make() -> Server:
    server = Server(
        "everything",
        "1.2",
        about={"title": "Everything", "description": "All there is", "icons": [ICON]},
        instructions="Try it all.",
        ttl=1.5,
        cache_scope="public",
        extensions={"example/things": {}},
    )
    _tools(server)
    _asking_tools(server)
    _resources(server)
    _prompts(server)
    return server


def _tools(server: Server) -> None:
    @server.tool(title="Adds", annotations={"readOnlyHint": True}, icons=[ICON], meta={"a/b": 1})
    def add(a: int, b: Annotated[int, "the second"] = 2) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    async def later(point: Point, colour: Colour = Colour.RED) -> Point:
        await anyio.lowlevel.checkpoint()
        return Point(point.x + 1, 1.0 if colour is Colour.RED else 2.0)

    @server.tool()
    def notes(kind: Literal["all", "none"] = "all") -> list[Note]:
        return [{"title": "one", "tags": ["a"]}] if kind == "all" else []

    @server.tool("schema-given", input_schema={"type": "object"}, output_schema={"type": "array"})
    def given(arguments: dict[str, Any]) -> Any:
        return sorted(arguments)

    @server.tool()
    def blocks() -> Any:
        return (
            text("hello", annotations={"priority": 0.5}),
            image(b"\x01", "image/png"),
            audio(b"\x02", "audio/wav"),
            resource_link("notes://1", "one"),
            embedded(contents("notes://2", b"\x03", "application/x-thing")),
        )

    @server.tool()
    def whole() -> ToolResult:
        return ToolResult([text("no")], structured={"why": "no"}, is_error=True, meta={"m": 1})

    @server.tool()
    def nothing() -> None:
        return None

    @server.tool()
    def fails(how: str) -> str:
        if how == "json-rpc":
            raise JSONRPCError(-32050, "not like that", {"how": how})
        if how == "wordless":
            raise LookupError
        raise ValueError("it broke")

    @server.tool()
    def unsendable() -> Any:
        return object()

    @server.tool()
    def who(call: Call) -> dict[str, Any]:
        """Tell what the call says."""
        return {
            "auth": call.auth,
            "version": call.version,
            "method": call.method,
            "client": call.client_info.get("name"),
            "capabilities": call.client_capabilities,
        }

    @server.tool()
    def steps(count: int, call: Call) -> int:
        for step in range(count):
            call.progress(step + 1, count, f"step {step + 1}")
        call.progress(count)  # it has to rise
        return count

    @server.tool()
    async def async_steps(count: int, call: Call) -> int:
        for step in range(count):
            await call.progress(step + 1)
            await anyio.lowlevel.checkpoint()
        return count

    @server.tool()
    def needs_sampling(call: Call) -> str:
        call.require({"sampling": {"tools": {}}})
        return "it can"

    @server.method("example/do")
    def do(params: dict[str, Any]) -> dict[str, Any]:
        return {"did": params["what"]}


def _asking_tools(server: Server) -> None:
    @server.tool()
    def greet(call: Call) -> str | InputNeeded:
        answers = call.input_responses
        if "name" not in answers:
            return InputNeeded({"name": ask_form("Your name?", FORM)}, state="asked")
        return f"Hello {answers['name']['content']['name']}, {call.request_state}"

    @server.tool()
    async def ask_all(call: Call) -> list[str]:
        if not call.input_responses:
            raise InputNeeded(
                {
                    "b-url": ask_url("Go there", "https://example.test/"),
                    "c-model": ask_sampling([message("user", "Say it")], 10, temperature=0.5),
                    "a-form": ask_form("Your name?", FORM),
                    "d-roots": ask_roots(),
                }
            )
        return sorted(call.input_responses)

    @server.tool()
    def wait(call: Call) -> str:
        """Ask for nothing but to be asked again."""
        count = int(call.request_state or "0")
        if count < 2:
            raise InputNeeded(state=str(count + 1))
        return f"after {count}"

    @server.tool()
    def forever(call: Call) -> str:
        raise InputNeeded({"name": ask_form("Again?", FORM)})


def _resources(server: Server) -> None:
    @server.resource("notes://today", mime_type="text/plain", size=5, title="Today", icons=[ICON])
    def today() -> str:
        """What is today."""
        return "today"

    @server.resource("notes://raw", ttl=9.0, cache_scope="private")
    async def raw() -> bytes:
        return b"\x00\x01"

    @server.resource("notes://data")
    def data() -> dict[str, int]:
        return {"a": 1}

    @server.resource("notes://many")
    def many() -> list[Any]:
        return [contents("notes://many/1", "one"), contents("notes://many/2", "two")]

    @server.resource("notes://gone")
    def gone() -> None:
        return None

    @server.resource("notes://broken")
    def broken() -> str:
        raise RuntimeError("no disk")

    @server.resource("notes://asks")
    def asks(call: Call) -> str:
        if not call.input_responses:
            raise InputNeeded({"name": ask_form("Your name?", FORM)})
        return "told"

    @server.resource_template("notes://by/{author}/{number}", mime_type="text/plain")
    def note(author: str, number: str) -> str | None:
        return None if author == "nobody" else f"{author} wrote {number}"

    @server.resource_template("files://{+path}")
    def file(path: str, call: Call) -> str:
        return f"{path} in {call.version}"

    @server.completion("author", template="notes://by/{author}/{number}")
    def authors(value: str, settled: dict[str, str]) -> list[str]:
        return [name for name in ("ann", "anton", settled.get("number", "")) if name[:1] == value]


def _prompts(server: Server) -> None:
    @server.prompt(arguments={"code": "what to look at"}, title="Review")
    def review(code: str, style: str = "short") -> str:
        """Review some code."""
        return f"Review ({style}): {code}"

    @server.prompt()
    async def talk(call: Call) -> list[Any]:
        await anyio.lowlevel.checkpoint()
        return ["hello", message("assistant", "hi"), text(str(call.auth))]

    @server.prompt()
    def odd() -> Any:
        return 7

    @server.prompt()
    def asking(call: Call) -> str:
        if not call.input_responses:
            raise InputNeeded({"name": ask_form("Your name?", FORM)})
        return "told"

    @server.completion("code", prompt="review")
    def codes(value: str) -> list[str]:
        return [f"{value}{number}" for number in range(150)]

    @server.completion("style", prompt="review")
    def styles() -> Completion:
        return Completion(["short", "long"], total=7, has_more=True)


def meta(capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
    prefix = "io.modelcontextprotocol/"
    return {
        f"{prefix}protocolVersion": STATELESS,
        f"{prefix}clientCapabilities": capabilities or {},
        f"{prefix}clientInfo": {"name": "asker", "version": "0"},
    }


class Asker:
    """Asks a server in one version, message by message."""

    def __init__(
        self,
        server: Server,
        version: str,
        capabilities: dict[str, Any] | None = None,
        *,
        auth: Any = None,
    ) -> None:
        self.version = version
        self.capabilities = capabilities or {}
        self.peer = server.runtime(version).connect(auth=auth)
        self.id = 0
        if version != STATELESS:
            self.hello = self.ask(
                "initialize",
                protocolVersion=version,
                capabilities=self.capabilities,
                clientInfo={"name": "asker", "version": "0"},
            )
            assert (
                self.peer.notify({"jsonrpc": "2.0", "method": "notifications/initialized"}) is None
            )

    def send(self, method: str, options: dict[str, Any], **params: Any) -> Any:
        self.id += 1
        if self.version == STATELESS:
            params["_meta"] = {**meta(self.capabilities), **params.get("_meta", {})}
        request = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        return self.peer.request(request, **options)

    def ask(self, method: str, options: dict[str, Any] | None = None, **params: Any) -> Any:
        """Return the response; functions that are async run in a loop of their own."""
        response = self.send(method, options or {}, **params)

        async def wait() -> Any:
            return await response

        response = anyio.run(wait) if inspect.isawaitable(response) else response
        assert (response["jsonrpc"], response["id"]) == ("2.0", self.id)
        assert ("result" in response) != ("error" in response)
        return response.get("result", response.get("error"))
