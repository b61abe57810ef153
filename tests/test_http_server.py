"""The server that tests of HTTP talk to is one: the SDK's client gets along with it."""

from __future__ import annotations

import http.client
import json
import socket
import time

import mcp
import pytest
from http_exchange import encode
from http_server import LEGACY, MODERN, HttpServer, text

ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture
def anyio_backend():
    return "asyncio"  # the client is a stand-in; one loop is enough


def post(connection, message, **fields):
    connection.request("POST", "/mcp", encode(message), {**ACCEPT, **fields})
    response = connection.getresponse()
    return response.status, response.read()


def call(id, tool, **arguments):
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("legacy", {"sessions": True}),
        ("legacy", {"versions": [LEGACY]}),
        ("auto", {"versions": [MODERN]}),
        ("auto", {"versions": [LEGACY], "sessions": True}),
        (MODERN, {}),
    ],
)
async def test_the_sdks_client_gets_along_with_it(mode, options, streams):
    with HttpServer(streams=streams, **options) as server:

        @server.tool
        def greet(exchange):
            exchange.json({**server.message(exchange.request), "result": text("hello")})

        async with mcp.Client(server.url, mode=mode) as client:
            tools = await client.list_tools()
            assert [tool.name for tool in tools.tools] == ["echo", "greet"]
            said = await client.call_tool("echo", {"a": 1})
            assert json.loads(said.content[0].text) == {"a": 1}
            said = await client.call_tool("greet", {})
            assert said.content[0].text == "hello"
    assert server.faults == []
    assert server.errors == []
    assert not server.sessions, "the client ended its session"


def test_gates_hold_a_script_until_the_test_opens_them():
    with HttpServer() as server:

        @server.tool
        def bug(exchange):
            exchange.wait("go")
            exchange.json(server.message(exchange.request))

        sock = socket.create_connection(("127.0.0.1", server.port))
        body = encode(call(1, "bug"))
        sock.sendall(
            b"POST /mcp HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % len(body) + body
        )
        sock.settimeout(0.1)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        server.open("go")
        sock.settimeout(10)
        assert sock.recv(1000).startswith(b"HTTP/1.1 200")
        sock.close()
    assert [request.tool for request in server.requests] == ["bug"]


def test_it_sees_what_a_client_must_not_do():
    with HttpServer(versions=[LEGACY], sessions=True) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        status, _ = post(connection, call(1, "echo"))
        assert (status, len(server.faults)) == (400, 1)
        fields = {"MCP-Protocol-Version": LEGACY}
        assert post(connection, call(1, "echo"), **fields)[0] == 400
        assert post(connection, call(1, "echo"), **fields, **{"Mcp-Session-Id": "?"})[0] == 404
        assert len(server.faults) == 2, "an unknown session is no fault, a missing one is"
        connection.close()
        while server.open_connections():
            time.sleep(0.001)
    assert server.connections[0].closed is not None
    assert server.errors == []


def test_an_error_in_a_script_is_kept_for_the_test():
    with HttpServer() as server:
        server.on("ping", lambda exchange: 1 / 0)
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        with pytest.raises(http.client.RemoteDisconnected):
            post(connection, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
        connection.close()
    assert "ZeroDivisionError" in server.errors[0]


def test_it_starts_again_on_the_same_port():
    with HttpServer(versions=[LEGACY]) as server:
        port = server.port
        connection = http.client.HTTPConnection("127.0.0.1", port)
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert post(connection, ping, **{"MCP-Protocol-Version": LEGACY})[0] == 200
        server.restart()
        connection.close()
        connection = http.client.HTTPConnection("127.0.0.1", port)
        ping["id"] = 2
        assert post(connection, ping, **{"MCP-Protocol-Version": LEGACY})[0] == 200
        connection.close()
    assert server.faults == []
    assert len(server.connections) == 2
