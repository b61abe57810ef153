"""Results of servers at an HTTP endpoint: shared by URL, the private ones by who asks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from inside import PATIENCE

import snodo_actors as snodo
from supervisors import Node, Supervisor, stop

KEY = "io.modelcontextprotocol/subscriptionId"


class Endpoint(ThreadingHTTPServer):
    """Answers lists with a number that rises, and tells streams of changes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/mcp"
        self.lists = 0
        self.scope = "public"
        self.refused = ""
        self.change = threading.Event()
        self.over = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def log_message(self, *_args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if message["method"] == "subscriptions/listen":
            self._listen(message)
            return
        if self.server.refused and self.server.refused in self.headers.get("authorization", ""):
            self._send(401, b"", "text/plain")
            return
        self.server.lists += 1
        tools = [{"name": str(self.server.lists), "inputSchema": {"type": "object"}}]
        hints = {"ttlMs": 60_000, "cacheScope": self.server.scope}
        result = {"resultType": "complete", "tools": tools, **hints}
        body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        self._send(200, json.dumps(body).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _listen(self, message: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        accepted = message["params"]["notifications"]
        self._event(message, "subscriptions/acknowledged", notifications=accepted)
        if self.server.change.wait(PATIENCE):
            self._event(message, "tools/list_changed")
        self.server.over.wait(PATIENCE)
        self.close_connection = True

    def _event(self, message: Any, name: str, **params: Any) -> None:
        params["_meta"] = {KEY: message["id"]}
        event = {"jsonrpc": "2.0", "method": f"notifications/{name}", "params": params}
        self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.flush()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    thread = threading.Thread(target=endpoint.serve_forever, args=(0.01,))
    thread.start()
    yield endpoint
    endpoint.change.set()
    endpoint.over.set()
    endpoint.shutdown()
    thread.join()
    endpoint.server_close()


def opened(endpoint: Endpoint, node: Node, **options: Any) -> snodo.Client:
    options = {"protocol": "2026-07-28", "cache": True, "timeout": 5.0, "owner": node, **options}
    return snodo.connect(("http", endpoint.url), **options).get(timeout=PATIENCE)


def name(client: snodo.Client) -> str:
    [tool] = client.list_tools().get(timeout=PATIENCE)
    return tool["name"]


class Tokens:
    def __init__(self, token: str, fresh: str = "fresh") -> None:
        self.current, self.fresh, self.asked = token, fresh, 0

    def token(self, _request: Any) -> str:
        self.asked += 1
        return self.current

    def refresh(self, _challenge: Any, _request: Any) -> str:
        self.current = self.fresh
        return self.fresh


def test_what_is_public_is_shared_by_all_clients_of_a_url(endpoint, node: Node) -> None:
    tokens = Tokens("ann")
    clients = [
        opened(endpoint, node),
        opened(endpoint, node, headers=[("authorization", "Bearer bob")]),
        opened(endpoint, node, token_provider=tokens),
    ]
    assert [name(client) for client in clients * 2] == ["1"] * 6
    assert tokens.asked == 0, "nobody had to say who asks"
    other = opened(endpoint, node, headers=[("accept-language", "de")])
    assert (name(other), name(other)) == ("2", "2")
    for client in (*clients, other):
        client.close().get()


def test_what_is_private_is_for_those_with_the_same_credential(endpoint, node: Node) -> None:
    endpoint.scope = "private"
    ann, ann_too, bob = (
        opened(endpoint, node, token_provider=Tokens(token)) for token in ("ann", "ann", "bob")
    )
    names = [name(client) for client in (ann, bob, ann_too, bob, ann)]
    assert names == ["1", "2", "1", "2", "1"]
    by_header = opened(endpoint, node, headers=[("authorization", "Bearer ann")])
    assert (name(by_header), name(by_header)) == ("3", "3")
    for client in (ann, ann_too, bob, by_header):
        client.close().get()


def test_a_private_result_is_for_the_token_that_got_it(endpoint, node: Node) -> None:
    endpoint.scope, endpoint.refused = "private", "stale"
    client = opened(endpoint, node, token_provider=Tokens("stale", "fresh"))
    stale = opened(endpoint, node, token_provider=Tokens("stale", "other"))
    fresh = opened(endpoint, node, token_provider=Tokens("fresh"))
    assert (name(client), name(client), name(fresh)) == ("1", "1", "1")
    assert name(stale) == "2"
    for one in (client, stale, fresh):
        one.close().get()


def test_a_closed_client_answers_nothing_from_what_was_kept(endpoint, node: Node) -> None:
    client, other = opened(endpoint, node), opened(endpoint, node)
    assert name(client) == name(other) == "1"
    client.close().get()
    with pytest.raises(snodo.TransportError) as closed:
        name(client)
    assert closed.value.delivery == "never_sent"
    assert name(other) == "1"
    other.close().get()


@pytest.mark.usefixtures("node")
def test_handles_by_name_share_and_hear_of_changes(endpoint) -> None:
    child = snodo.child_spec("kept", ("http", endpoint.url), protocol="2026-07-28")
    tree = Supervisor.start_link([child]).get(timeout=PATIENCE)
    one, two = (snodo.client("kept", cache=True, timeout=5.0) for _ in range(2))
    stream = one.listen({"toolsListChanged": True}).get(timeout=PATIENCE)
    assert (name(one), name(two)) == ("1", "1")
    endpoint.change.set()
    stream.next(timeout=PATIENCE).get()
    assert (name(one), name(two)) == ("2", "2")
    stream.close().get()
    stop(tree).get(timeout=PATIENCE)


def test_an_event_makes_stale_what_the_clients_of_the_url_have(endpoint, node: Node) -> None:
    client, other = opened(endpoint, node), opened(endpoint, node, cache=False)
    stream = other.listen({"toolsListChanged": True}).get(timeout=PATIENCE)
    assert (name(client), name(client)) == ("1", "1")
    endpoint.change.set()
    assert stream.next(timeout=PATIENCE).get()[1] == "notifications/tools/list_changed"
    assert (name(client), name(client)) == ("2", "2")
    stream.close().get()
    for one in (client, other):
        one.close().get()
