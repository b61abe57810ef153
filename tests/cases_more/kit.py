"""What our misbehaving servers have in common: an ordinary server over stdio, to be bent.

Like the servers of `cases`, they use the standard library only and end by themselves after a
minute. A tool that is not in the table of a server behaves: it answers its arguments as JSON text.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LIFE = 60.0
VERSIONS = ["2026-07-28", "2025-11-25", "2025-06-18"]
MODE = os.environ.get("CASE_MODE", "")
LOG = os.environ.get("CASE_LOG")

_lock = threading.Lock()


def fact(kind: str, **fields: Any) -> None:
    """Write down what was seen."""
    if LOG:
        line = json.dumps({"wall": time.time(), "pid": os.getpid(), "fact": kind, **fields}) + "\n"
        with Path(LOG).open("a", encoding="utf-8") as file:
            file.write(line)


def raw(data: bytes) -> None:
    """Write bytes to stdout, all of them."""
    with _lock:
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]


def encode(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def send(message: Any) -> None:
    raw(encode(message) + b"\n")


def text(said: str) -> dict[str, Any]:
    return {
        "resultType": "complete",
        "content": [{"type": "text", "text": said}],
        "isError": False,
    }


def result(id: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(id: Any, code: int, message: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}


def note(method: str = "notifications/message", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """The ordinary answer; None for what wants none."""
    id, params = message.get("id"), message.get("params") or {}
    match message.get("method"):
        case None:
            return None
        case _ if id is None:
            return None
        case "initialize":
            wanted = params.get("protocolVersion")
            return result(id, initialized(wanted if wanted in VERSIONS[1:] else VERSIONS[1]))
        case "server/discover":
            return result(id, discovered(VERSIONS))
        case "ping":
            return result(id, {})
        case "tools/call":
            said = json.dumps(params.get("arguments") or {}, sort_keys=True)
            return result(id, text(said))
        case _:
            return error(id, -32601, "Method not found")


def initialized(version: Any) -> dict[str, Any]:
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "ours", "version": "0"},
    }


def discovered(versions: Any) -> dict[str, Any]:
    return {
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
    }


def obey(message: dict[str, Any]) -> None:
    """Answer as an ordinary server does."""
    said = answer(message)
    if said is not None:
        send(said)


def messages() -> Iterator[dict[str, Any]]:
    """What comes, and a fact for each."""
    for line in iter(sys.stdin.buffer.readline, b""):
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            fact("bad_input", head=line[:80].decode("latin-1"))
            continue
        params = message.get("params") or {}
        fact(
            "recv",
            method=message.get("method"),
            id=message.get("id"),
            tool=params.get("name"),
            params=params,
            **{name: message[name] for name in ("result", "error") if name in message},
        )
        yield message
    fact("stdin_eof")


def arguments(message: dict[str, Any]) -> dict[str, Any]:
    return (message.get("params") or {}).get("arguments") or {}


def token(message: dict[str, Any]) -> Any:
    return ((message.get("params") or {}).get("_meta") or {}).get("progressToken")


Tool = Callable[[dict[str, Any]], object]
TOOLS: dict[str, Tool] = {}


def tool(function: Tool) -> Tool:
    """Let calls of the tool of that name be answered by *function*."""
    TOOLS[function.__name__] = function
    return function


def serve(other: Tool = obey) -> None:
    """Answer what comes: calls of our tools in their own way, the rest by *other*."""
    begin()
    for message in messages():
        if message.get("method") == "tools/call":
            TOOLS.get(message["params"].get("name"), other)(message)
        else:
            other(message)


def begin() -> None:
    """Write down the start, and end in a minute whatever happens."""
    fact("start")

    def expire() -> None:
        time.sleep(LIFE)
        os._exit(97)

    threading.Thread(target=expire, daemon=True).start()


def later(seconds: float, function: Callable[..., object], *args: Any) -> None:
    """Call *function* in a while, beside whatever else goes on."""

    def run() -> None:
        time.sleep(seconds)
        function(*args)

    threading.Thread(target=run, daemon=True).start()
