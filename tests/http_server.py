"""A server over HTTP for tests, ordinary unless a script bends it.

It runs in threads of the test's own process and ends with its `with` block. It answers as a server
of MCP does, in the versions 2026-07-28, 2025-11-25 and 2025-06-18, writes down every request, and
keeps a list of what a client did wrong (`faults`). A script takes a request out of its hands:

    with HttpServer() as server:
        @server.tool
        def bug(exchange):                      # every call of the tool `bug`
            exchange.respond(503, b"later")

        server.once("tools/list", broken)       # the next request of a method
        server.on("DELETE", broken)             # every request of a method, of HTTP or JSON-RPC

`exchange.wait("name")` waits until the test says `server.open("name")`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from http_exchange import JSON, STREAM, Connection, Ended, Exchange, Gate, Request

import snodo_actors as snodo
from supervisors import Future

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
OLDER = "2025-06-18"
VERSIONS = (MODERN, LEGACY, OLDER)
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

Script = Callable[[Exchange], object]


def text(said: str) -> dict[str, Any]:
    """The result of a tool that says something."""
    return {"resultType": "complete", "content": [{"type": "text", "text": said}], "isError": False}


def result(id: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(id: Any, code: int, message: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}


def note(method: str = "notifications/message", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def event_for(id: Any, method: str, **params: Any) -> dict[str, Any]:
    """An event of the subscription that the request *id* opened."""
    return note(method, **params, _meta={SUBSCRIPTION_KEY: id})


class HttpServer:
    """Listens on a port of its own from the beginning of its `with` block to the end."""

    def __init__(
        self,
        *,
        versions: Iterable[str] = VERSIONS,
        sessions: bool = False,
        streams: bool = False,
        get_stream: bool = False,
        tls: Any = None,
        host: str = "127.0.0.1",
        backlog: int = 256,
    ) -> None:
        self.versions = tuple(versions)
        self.has_sessions = sessions
        self.answers_in_streams = streams
        self.has_get_stream = get_stream
        self.tools: list[dict[str, Any]] = [{"name": "echo", "inputSchema": {"type": "object"}}]
        self.requests: list[Request] = []
        """Every request so far, in the order they came."""
        self.connections: list[Connection] = []
        """Every connection so far."""
        self.sessions: set[str] = set()
        """The sessions that are open now."""
        self.streams: list[Exchange] = []
        """The subscriptions and the streams of GET that are open now."""
        self.faults: list[str] = []
        """What a client must not do, and did."""
        self.errors: list[str] = []
        """What broke in scripts."""
        self._tls = tls
        self._host = host
        self._backlog = backlog
        self._gates: defaultdict[str, Gate] = defaultdict(Gate)
        self._scripts: dict[str, Script] = {}
        self._once: defaultdict[str, list[Script]] = defaultdict(list)
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._session_count = 0
        self._ids: set[Any] = set()
        self.port = 0

    # ---- life

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, port: int = 0) -> None:
        """Listen; on the same *port* as before, it is a server that was started again."""
        self._stopping = threading.Event()
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self._host, port))
        listener.listen(self._backlog)
        self._listener = listener
        self.port = listener.getsockname()[1]
        self._spawn(self._accept, listener, name="accept")

    def stop(self) -> None:
        """Close every connection and end every thread."""
        self._stopping.set()
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        for connection in list(self.connections):
            if not connection.ended:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)
        for gate in list(self._gates.values()):
            gate.open()
        for thread in list(self._threads):
            thread.join(10.0)
            if thread.is_alive():
                self.errors.append(f"{thread.name} does not end")
        self._threads.clear()
        self._gates.clear()

    def restart(self) -> None:
        """Stop, forget the sessions, and start again on the same port."""
        port = self.port
        self.stop()
        self.sessions.clear()
        self.start(port)

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http{'s' if self._tls else ''}://{host}:{self.port}/mcp"

    def connect(self, **options: Any) -> Future[snodo.Client]:
        """Connect as the cases do: to one version, each call with 5 s."""
        options = {"protocol": LEGACY, "timeout": 5.0, **options}
        if options["protocol"] is None:
            del options["protocol"]
        return snodo.connect(("http", self.url), **options)

    # ---- scripts

    def breaks_off(self, retry: int) -> None:
        """Let calls of the tool "bug" be answered by half a stream, and the rest on a GET.

        *retry* is the milliseconds a client is told to wait.
        """

        def half(exchange: Exchange) -> None:
            exchange.stream()
            exchange.chunk(b"retry: %d\n\n" % retry)
            exchange.event(note(level="info", data="x"), id="e-7")
            exchange.end()

        def rest(exchange: Exchange) -> None:
            exchange.stream()
            exchange.event(result(self.received("tool bug")[0]["id"], text("own")))
            exchange.end()

        self.on("tool bug", half)
        self.on("GET", rest)

    def tool(self, script: Script) -> Script:
        """Let calls of the tool of that name be answered by *script*."""
        name = script.__name__.rstrip("_")
        self.tools.append({"name": name, "inputSchema": {"type": "object"}})
        self._scripts[f"tool {name}"] = script
        return script

    def on(self, what: str, script: Script | None = None) -> Any:
        """Let a method of JSON-RPC or HTTP, or a `tool name`, be answered by *script*."""
        if script is None:
            return lambda script: self.on(what, script)
        self._scripts[what] = script
        return script

    def once(self, what: str, *scripts: Script) -> None:
        """Let the next request of a method, one for each script, be answered by them."""
        self._once[what] += scripts

    def gate(self, name: str) -> Gate:
        with self._lock:
            return self._gates[name]

    def open(self, name: str) -> None:
        """Open a gate, for good: let the scripts that wait there go on."""
        self.gate(name).open()

    def shut(self, name: str) -> None:
        """Close a gate again, for the scripts that come from now on."""
        with self._lock:
            self._gates.pop(name, None)

    def waiting(self, name: str) -> int:
        """How many scripts have come to a gate."""
        return self.gate(name).waiting

    def push(self, method: str, **params: Any) -> int:
        """Send an event to every stream that is open; tells to how many."""
        streams = list(self.streams)
        for exchange in streams:
            id = exchange.request["id"]
            message = note(method, **params) if id is None else event_for(id, method, **params)
            with contextlib.suppress(Ended):
                exchange.event(message)
        return len(streams)

    # ---- what was seen

    def received(self, what: str | None = None) -> list[Request]:
        """The requests of a method of JSON-RPC or HTTP, or a `tool name`."""
        return [
            request
            for request in list(self.requests)
            if what in (None, request.rpc, request.method, f"tool {request.tool}")
        ]

    def open_connections(self) -> list[Connection]:
        """Those the peer has not closed, as far as is known."""
        return [one for one in list(self.connections) if one.closed is None and not one.ended]

    # ---- threads

    def _spawn(self, function: Callable[..., object], *args: Any, name: str) -> None:
        thread = threading.Thread(target=function, args=args, name=f"http server {name}")
        thread.daemon = True
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while not self._stopping.is_set():
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            self._spawn(self._talk, sock, self._stopping, name=f"connection {sock.fileno()}")

    def _talk(self, sock: socket.socket, stopping: threading.Event) -> None:
        connection = Connection(0, sock, stopping)
        with self._lock:
            connection.number = len(self.connections) + 1
            self.connections.append(connection)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if stopping.is_set():
                return
            if self._tls is not None:
                connection.sock = self._tls.wrap_socket(sock, server_side=True)
            opening = self._take_once("connection") or self._scripts.get("connection")
            if opening is not None:
                opening(connection)
            while not stopping.is_set() and self._exchange(connection):
                pass
        except (Ended, OSError):
            pass
        except Exception:
            self.errors.append(traceback.format_exc())
        finally:
            connection.ended = True
            connection.sock.close()

    def _exchange(self, connection: Connection) -> bool:
        request = connection.read_request(0)
        with self._lock:
            request.number = len(self.requests) + 1
            self.requests.append(request)
            self.faults += request.faults
        exchange = Exchange(request, connection, self.gate)
        script = next(
            (
                found
                for key in (f"tool {request.tool}", request.rpc or "reply", request.method)
                if (found := self._take_once(key) or self._scripts.get(key)) is not None
            ),
            self.answer,
        )
        script(exchange)
        return exchange.keeps

    def _take_once(self, key: str) -> Script | None:
        with self._lock:
            scripts = self._once.get(key)
            return scripts.pop(0) if scripts else None

    # ---- the ordinary server

    def fault(self, exchange: Exchange, code: int, said: str, status: int = 400) -> None:
        """Refuse what a client must not send, and write that down."""
        self.faults.append(f"{said} ({exchange.request.head.decode('latin-1')!r})")
        exchange.json(error(exchange.request["id"], code, said), status)

    def answer(self, exchange: Exchange) -> None:
        """Do what an ordinary server does."""
        request = exchange.request
        if request.method == "GET":
            self._get(exchange)
        elif request.method == "DELETE":
            self._delete(exchange)
        elif request.method != "POST":
            self.fault(exchange, -32600, f"no such method: {request.method}", 405)
        elif not isinstance(request.message, dict) or request["jsonrpc"] != "2.0":
            self.fault(exchange, -32700, "not a message")
        elif request.first("content-type") != JSON:
            self.fault(exchange, -32600, "not application/json", 415)
        elif {part.strip() for part in (request.first("accept") or "").split(",")} != {
            JSON,
            STREAM,
        }:
            self.fault(exchange, -32600, "accept has to name both forms of an answer", 406)
        else:
            version = request.meta.get(VERSION_KEY)
            era = self._legacy if version is None else self._modern
            era(exchange)

    def _modern(self, exchange: Exchange) -> None:
        request = exchange.request
        version = request.meta[VERSION_KEY]
        name = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
        expected = {"mcp-protocol-version": version, "mcp-method": request.rpc}
        if request.rpc in name:
            expected["mcp-name"] = request.params.get(name[request.rpc])
        if MODERN not in self.versions:
            # an older server knows neither the method nor the header
            exchange.json(error(request["id"], -32600, "Bad Request: no session"), 400)
            return
        for field, value in expected.items():
            if [decoded(one) for one in request.all(field)] != [value]:
                self.fault(exchange, -32020, f"{field} is not {value!r}")
                return
        if request.first("mcp-session-id") is not None:
            self.faults.append("a session id in a version without sessions")
        if version not in self.versions:
            data = {"supported": list(self.versions), "requested": version}
            exchange.json(error(request["id"], -32022, "Unsupported", data=data), 400)
            return
        self._dispatch(exchange)

    def _legacy(self, exchange: Exchange) -> None:
        request = exchange.request
        legacy = [version for version in self.versions if version != MODERN]
        if not legacy:
            exchange.json(error(request["id"], -32602, "no _meta"), 400)
            return
        if request.rpc == "initialize":
            for field in ("mcp-session-id", "mcp-protocol-version"):
                if request.first(field) is not None:
                    self.faults.append(f"{field} in initialize")
        elif request.first("mcp-protocol-version") not in legacy:
            self.fault(exchange, -32600, "mcp-protocol-version is missing or wrong")
            return
        elif not self._in_session(exchange):
            return
        self._dispatch(exchange)

    def _in_session(self, exchange: Exchange) -> bool:
        """Whether the request is of a session that is open, if it has to be."""
        if not self.has_sessions:
            if exchange.request.first("mcp-session-id") is not None:
                self.faults.append("a session id that was never given")
            return True
        session = exchange.request.first("mcp-session-id")
        if session is None:
            self.fault(exchange, -32600, "mcp-session-id is missing")
        elif session not in self.sessions:
            exchange.json(error(None, -32001, "Session not found"), 404)
        return session in self.sessions

    def _dispatch(self, exchange: Exchange) -> None:
        request = exchange.request
        if request["id"] is None or request.rpc is None:
            exchange.respond(202, kind="")
            return
        with self._lock:
            if request["id"] in self._ids and request.first("authorization") is None:
                self.faults.append(f"the id {request['id']} came twice")
            self._ids.add(request["id"])
        if request.rpc == "subscriptions/listen":
            self.listen(exchange)
            return
        message = self.message(request)
        fields = []
        if request.rpc == "initialize" and self.has_sessions:
            with self._lock:
                self._session_count += 1
                session = f"session-{self._session_count}"
                self.sessions.add(session)
            fields.append(("Mcp-Session-Id", session))
        if self.answers_in_streams:
            exchange.stream(fields)
            exchange.event(message)
            exchange.end()
        else:
            unknown = message.get("error", {}).get("code") == -32601
            status = 404 if unknown and VERSION_KEY in request.meta else 200
            exchange.json(message, status, fields)

    def message(self, request: Request) -> dict[str, Any]:
        """The ordinary answer to a request."""
        id, params = request["id"], request.params
        modern = VERSION_KEY in request.meta
        hints = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if modern else {}
        match request.rpc:
            case "initialize":
                wanted = params.get("protocolVersion")
                legacy = [version for version in self.versions if version != MODERN]
                return result(id, initialized(wanted if wanted in legacy else legacy[0]))
            case "server/discover" if modern:
                return result(id, {**hints, **discovered(self.versions)})
            case "ping" if not modern:
                return result(id, {})
            case "tools/list":
                return result(id, {**hints, "tools": self.tools})
            case "tools/call":
                return result(id, text(json.dumps(request.arguments, sort_keys=True)))
            case method:
                return error(id, -32601, f"Method not found: {method}")

    def listen(self, exchange: Exchange) -> None:
        """Acknowledge all that is asked for, then send the events of `push` until the end."""
        request = exchange.request
        asked = request.params.get("notifications")
        exchange.stream()
        exchange.event(
            event_for(
                request["id"], "notifications/subscriptions/acknowledged", notifications=asked
            )
        )
        with self._streaming(exchange):
            exchange.wait("end of streams")
        exchange.event(result(request["id"], {"resultType": "complete"}))
        exchange.end()

    @contextlib.contextmanager
    def _streaming(self, exchange: Exchange) -> Iterator[None]:
        self.streams.append(exchange)
        try:
            yield
        finally:
            self.streams.remove(exchange)

    def _get(self, exchange: Exchange) -> None:
        if not self.has_get_stream:
            exchange.respond(405, fields=[("Allow", "POST, DELETE")], kind="")
        elif exchange.request.first("accept") != STREAM:
            self.fault(exchange, -32600, "a GET accepts event streams", 406)
        elif self._in_session(exchange):
            exchange.stream()
            with self._streaming(exchange):
                exchange.wait("end of streams")
            exchange.end()

    def _delete(self, exchange: Exchange) -> None:
        session = exchange.request.first("mcp-session-id")
        if session not in self.sessions:
            self.faults.append(f"a DELETE of {session!r}, which is not open")
            exchange.respond(404, kind="")
        else:
            self.sessions.discard(session)
            exchange.respond(204, kind="")


def initialized(version: Any) -> dict[str, Any]:
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "ours", "version": "0"},
    }


def discovered(versions: Iterable[str]) -> dict[str, Any]:
    return {
        "supportedVersions": list(versions),
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "ours", "version": "0"},
    }


def decoded(value: str) -> str:
    """A mirrored header as it was meant."""
    if value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2]).decode(errors="surrogatepass")
    return value
