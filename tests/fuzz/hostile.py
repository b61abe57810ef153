"""A server that means harm: for each message it gets, a burst of whatever may break a client.

Run by `stdio.py` as `python hostile.py SEED MESSAGES`; it ends after so many messages, in one of
many ways. Messages are made by templates, then bent: cut, doubled, flipped, stuffed, mixed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import time

SEED, MESSAGES = int(sys.argv[1]), int(sys.argv[2])
CHANCE = random.Random(SEED)
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
VERSIONS = ["2026-07-28", "2025-11-25", "2025-06-18"]

seen: list[object] = [1]
"""Ids of requests that came, so that some of what is sent is meant for somebody."""


def an_id():
    known = CHANCE.choice(seen)
    others = [str(known), -1, 0, 1.0, 2**63, 10**63, 10**80, None, True, [], {}, "é", 1e308]
    return CHANCE.choice([*[known] * 12, *others])


def a_value(depth=0):
    kind = CHANCE.randrange(12 if depth < 4 else 9)
    match kind:
        case 0:
            return None
        case 1:
            return CHANCE.choice([True, False])
        case 2:
            return CHANCE.randint(-(10**20), 10**20)
        case 3:
            return CHANCE.choice([0.1, -1e308, 1e-320, 10**70])
        case 4:
            return "x" * CHANCE.choice([0, 1, 10, 1000, 70_000 if CHANCE.random() < 0.05 else 5])
        case 5:
            return CHANCE.choice(
                ["\x00", "\u2028", "😀", "\\u003a", "Ω" * 20, '"', "input_required"]
            )
        case 6 | 7 | 8:
            return an_id()
        case 9:
            return [a_value(depth + 1) for _ in range(CHANCE.randrange(5))]
        case _:
            return {a_key(): a_value(depth + 1) for _ in range(CHANCE.randrange(6))}


KEYS = [
    "id",
    "method",
    "params",
    "result",
    "error",
    "jsonrpc",
    "_meta",
    "code",
    "message",
    "data",
    "progressToken",
    "requestId",
    "resultType",
    "inputRequests",
    "requestState",
    "content",
    "nextCursor",
    "tools",
    "notifications",
    "uri",
    "mode",
    "é",
]


def a_key():
    return CHANCE.choice([*KEYS, SUBSCRIPTION, ""])


def text_result():
    return {"resultType": "complete", "content": [{"type": "text", "text": "ok"}]}


def input_required():
    asked = {
        "method": CHANCE.choice(["elicitation/create", "roots/list", "sampling/createMessage", 5]),
        "params": CHANCE.choice([{"message": "?", "requestedSchema": {}}, {}, None, a_value()]),
    }
    return {
        "resultType": "input_required",
        "inputRequests": CHANCE.choice([{"a": asked}, {"b": asked, "a": asked}, {}, a_value()]),
        "requestState": a_value(),
    }


def a_message():
    kind = CHANCE.randrange(14)
    message: dict[str, object] = {"jsonrpc": "2.0"}
    if kind < 3:
        message |= {"id": an_id(), "result": CHANCE.choice([text_result(), a_value()])}
    elif kind < 4:
        message |= {"id": an_id(), "result": input_required()}
    elif kind < 6:
        code = CHANCE.choice([-32600, -32601, -32602, -32603, -32022, 0, "1", None, 1.5])
        message |= {"id": an_id(), "error": {"code": code, "message": a_value(), "data": a_value()}}
    elif kind < 8:
        params = {"progressToken": an_id(), "progress": a_value(), "total": a_value()}
        message |= {"method": "notifications/progress", "params": params}
    elif kind < 10:
        acknowledged = "notifications/subscriptions/acknowledged"
        method = CHANCE.choice([acknowledged, "notifications/resources/updated", "notifications/x"])
        params = {"_meta": {SUBSCRIPTION: an_id()}, "notifications": {}, "uri": "a://b"}
        message |= {"method": method, "params": params}
    elif kind < 11:
        message |= {"method": "notifications/cancelled", "params": {"requestId": an_id()}}
    elif kind < 13:
        method = CHANCE.choice(
            ["ping", "elicitation/create", "roots/list", "sampling/createMessage", "no/such", ""]
        )
        params = CHANCE.choice(
            [{}, {"message": "?", "requestedSchema": {}}, {"mode": "url", "url": "a"}, a_value()]
        )
        message |= {"id": an_id(), "method": method, "params": params}
    else:
        return a_value()
    if CHANCE.random() < 0.1:
        message[a_key()] = a_value()
    return message


def bent(data: bytes) -> bytes:
    """The line, damaged in one of many ways."""
    at = CHANCE.randrange(len(data) + 1)
    match CHANCE.randrange(16):
        case 0:
            return data[:at]
        case 1:
            return data[at:]
        case 2:
            return data[:at] + bytes([CHANCE.randrange(256)]) + data[at + 1 :]
        case 3:
            return data[:at] + b"\n" + data[at:]
        case 4:
            return data + data
        case 5:
            return b"\xef\xbb\xbf" * CHANCE.randrange(3) + data + b"\r" * CHANCE.randrange(3)
        case 6:
            return b"[" * CHANCE.choice([10, 2000, 100_000]) + data
        case 7:
            return b'{"id":1,"id":2,' + data[1:]
        case 8:
            return data[:at] + b"9" * CHANCE.choice([10, 64, 65, 5000]) + data[at:]
        case 9:
            return (
                data[:at]
                + CHANCE.choice([b"NaN", b"1e999", b"\xed\xa0\x80", b"\\ud800"])
                + data[at:]
            )
        case 10:
            return CHANCE.randbytes(CHANCE.randrange(200))
        case 11:
            return b" \t\r" * CHANCE.randrange(50)
        case 12 if CHANCE.random() < 0.05:
            return data[:-1] + b" " * CHANCE.choice([100_000, 300_000]) + data[-1:]
        case _:
            return data


def send(data: bytes) -> None:
    """Write it, in pieces of any size."""
    view = memoryview(data)
    while view:
        size = CHANCE.choice([1, 7, 4096, 1 << 16, 1 << 20])
        view = view[os.write(1, view[:size]) :]


def the_end() -> None:
    """One of many ways to go."""
    match CHANCE.randrange(9):
        case 0:
            os._exit(CHANCE.randrange(256))
        case 1:
            os.kill(os.getpid(), CHANCE.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM]))
        case 2:
            os.close(1)
            time.sleep(20)
        case 3:
            os.close(0)
            time.sleep(20)
        case 4:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(20)
        case 5:
            send(b"x" * 2_000_000)
        case 6:
            send(b'{"jsonrpc":"2.0","id":%d,"result":{' % CHANCE.randrange(10**6))
        case 7:
            os.write(2, CHANCE.randbytes(300_000))
        case _:
            for _ in sys.stdin.buffer:
                pass


def settled(message) -> bool:
    """Answer what settles the version as it should be: without it nothing begins."""
    id, method = message.get("id"), message.get("method")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "h"}}
    elif method == "server/discover":
        result = {"resultType": "complete", "supportedVersions": VERSIONS, "capabilities": {}}
    else:
        return False
    send(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n")
    return True


def main() -> None:
    left = MESSAGES
    for line in iter(sys.stdin.buffer.readline, b""):
        message = json.loads(line)
        if settled(message):
            continue
        if "id" in message and "method" in message:
            seen.append(message["id"])
            del seen[:-50]
        burst = min(left, CHANCE.choice([0, 1, 5, 50, 500]))
        lines = [bent(json.dumps(a_message(), ensure_ascii=False).encode()) for _ in range(burst)]
        if CHANCE.random() < 0.3:
            answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": text_result()}
            lines.insert(CHANCE.randrange(len(lines) + 1), json.dumps(answer).encode())
        send(b"".join(line + b"\n" for line in lines))
        if CHANCE.random() < 0.01:
            os.write(2, CHANCE.randbytes(1000) + b"\n")
        left -= burst
        if left <= 0:
            the_end()
            return


with contextlib.suppress(BrokenPipeError):
    main()
