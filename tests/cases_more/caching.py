"""Lists and resources that may be kept, and tools that change them. CASE_SCOPE says by whom.

What is listed has a name that changes with each change, and with each process.
"""

from __future__ import annotations

import os

from kit import encode, error, note, obey, raw, result, send, serve, text, tool

SCOPE = os.environ.get("CASE_SCOPE", "public")
RACE = "CASE_RACE" in os.environ
KEY = "io.modelcontextprotocol/subscriptionId"
STATE = {"changes": 0, "lists": 0}
STREAMS: list[object] = []


def events(method, **params):
    return [note(method, **params, _meta={KEY: id}) for id in STREAMS]


def together(*messages):
    """Write them at once: nobody can have read the first before the last was there."""
    raw(b"".join(encode(message) + b"\n" for message in messages))


@tool
def change(message):
    """Change the tools, tell of it, and only then answer."""
    STATE["changes"] += 1
    told = events("notifications/tools/list_changed")
    together(*told, result(message["id"], text("changed")))


@tool
def leave(_message):
    os._exit(3)


def listed(message):
    STATE["lists"] += 1
    name = f"{os.getpid()}-{STATE['changes']}"
    body = {"tools": [{"name": name, "inputSchema": {"type": "object"}}]}
    answer = result(message["id"], kept(body))
    told = events("notifications/prompts/list_changed") if RACE and STATE["lists"] == 1 else []
    together(*told, answer)


def kept(body):
    return {"resultType": "complete", "ttlMs": 60_000, "cacheScope": SCOPE, **body}


def other(message):
    match message.get("method"):
        case "tools/list":
            listed(message)
        case "resources/read" if message["params"]["uri"] == "x:":
            send(result(message["id"], kept({"contents": []})))
        case "resources/read":
            send(error(message["id"], -32602, "no such resource"))
        case "subscriptions/listen":
            STREAMS.append(message["id"])
            accepted = message["params"]["notifications"]
            method = "notifications/subscriptions/acknowledged"
            send(note(method, notifications=accepted, _meta={KEY: message["id"]}))
        case _:
            obey(message)


serve(other)
