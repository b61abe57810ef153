"""A server that costs next to nothing, so that its clients are what is measured.

Run it with `python -I -S`. Everything that comes in one read is answered with one write; an echo is
answered without a JSON parser.
"""

from __future__ import annotations

import json
import os

MODERN = b'"io.modelcontextprotocol/protocolVersion":"2026-07-28"'
INFO = {"name": "quick", "version": "1"}
DISCOVERED = {
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "public",
    "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18"],
    "capabilities": {"tools": {}},
    "_meta": {"io.modelcontextprotocol/serverInfo": INFO},
}
INITIALIZED = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}


def echo(line: bytes) -> bytes | None:
    """The answer to a plain call of `echo`; None if the line is not surely one."""
    if line.count(b'"name":"echo"') != 1 or line.count(b'"id":') != 1 or b"\\" in line:
        return None
    start = line.find(b'"id":') + 5
    ends = [end for end in (line.find(b",", start), line.find(b"}", start)) if end >= 0]
    text = line.find(b'"text":"')
    if text < 0 or not ends:
        return None
    said = line[text + 8 : line.find(b'"', text + 8)]
    complete = b',"resultType":"complete"' if MODERN in line else b""
    return b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"%b"}]%b}}\n' % (
        line[start : min(ends)],
        said,
        complete,
    )


def other(line: bytes) -> bytes:
    """The answer to anything else."""
    message = json.loads(line)
    if "id" not in message:
        return b""
    params = message.get("params") or {}
    match message["method"]:
        case "server/discover":
            result = DISCOVERED
        case "initialize":
            result = INITIALIZED
        case "tools/list":
            schema = {"type": "object", "properties": {}}
            tools = [{"name": name, "inputSchema": schema} for name in ("echo", "blob")]
            result = {"tools": tools, **({"resultType": "complete"} if MODERN in line else {})}
            if MODERN in line:
                result |= {"ttlMs": 0, "cacheScope": "private"}
        case "tools/call":
            size = (params.get("arguments") or {}).get("size", 1)
            result = {"content": [{"type": "text", "text": "x" * size}]}
            if MODERN in line:
                result["resultType"] = "complete"
        case _:
            result = {}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n"


def main() -> None:
    rest = b""
    while data := os.read(0, 1 << 20):
        *lines, rest = (rest + data).split(b"\n")
        left = memoryview(b"".join([echo(line) or other(line) for line in lines if line]))
        while left:
            left = left[os.write(1, left) :]


main()
