"""Every way to spoil the probe and the handshake. CASE_PROBE and CASE_INIT say how."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from kit import (
    begin,
    discovered,
    encode,
    error,
    fact,
    initialized,
    later,
    messages,
    note,
    obey,
    raw,
    result,
    send,
)

PROBE = os.environ.get("CASE_PROBE", "-32601")
INIT = os.environ.get("CASE_INIT", "")


def leave(status):
    sys.stderr.write("fatal: not this message\n")
    sys.stderr.flush()
    os._exit(status)


def probed(message):
    id = message["id"]
    kind, _, rest = PROBE.partition(" ")
    match kind:
        case "exit":
            leave(int(rest))
        case "signal":
            os.kill(os.getpid(), signal.Signals[rest])
        case "error":
            send(error(id, int(rest), "not known here"))
        case "unsupported":  # the refusal a modern server gives a version it lacks
            data = {"requested": "2026-07-28", "supported": json.loads(rest)}
            send(error(id, -32022, "unsupported protocol version", data=data))
        case "versions":
            send(result(id, discovered(json.loads(rest))))
        case "result":
            send(result(id, json.loads(rest)))
        case "raw":
            raw(rest.replace("ID", str(id)).encode() + b"\n")
        case "id":
            wrong = {"string": str(id), "float": id + 0.5, "other": id + 1, "null": None}[rest]
            send(result(wrong, discovered(["2026-07-28"])))
        case "late":
            later(float(rest), send, result(id, discovered(["2026-07-28"])))
        case "silent":
            pass
        case "close":
            os.close(1)
        case "deaf":  # closes its stdout and lives on
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.close(1)
            time.sleep(30)
        case "garbage-exit":
            raw(b"Usage: server [OPTIONS]\n{}\n\xff\xfe\n")
            leave(2)
        case "twice":
            send(error(id, -32601, "no"))
            send(result(id, discovered(["2026-07-28"])))
        case "input":
            send(result(id, {"resultType": "input_required", "inputRequests": {}}))
        case "note-first":
            send(note())
            send({"jsonrpc": "2.0", "id": id, "method": "ping"})
            send(result(id, discovered(["2026-07-28", "2025-11-25"])))
        case _:
            raise AssertionError(PROBE)


def asked(message):
    id, wanted = message["id"], message["params"].get("protocolVersion")
    kind, _, rest = INIT.partition(" ")
    match kind:
        case "":
            obey(message)
        case "version":
            send(result(id, initialized(json.loads(rest))))
        case "result":
            send(result(id, json.loads(rest)))
        case "raw":
            raw(rest.replace("ID", str(id)).encode() + b"\n")
        case "exit":
            leave(int(rest))
        case "signal":
            os.kill(os.getpid(), signal.Signals[rest])
        case "error":
            send(error(id, int(rest), "no session for you", data={"why": "closed"}))
        case "silent":
            pass
        case "close":
            os.close(1)
        case "late":
            later(float(rest), obey, message)
        case "wrong-ids":
            for wrong in (str(id), float(id) + 0.5, id + 1, None, True, [id]):
                send(result(wrong, initialized("2024-11-05")))
            obey(message)
        case "twice":
            send(result(id, initialized(wanted)))
            send(result(id, initialized("2024-11-05")))
            send(error(id, -32603, "changed my mind"))
        case "ask-first":
            send({"jsonrpc": "2.0", "id": "early", "method": "ping"})
            send(note())
            obey(message)
        case "answers-the-notification":
            obey(message)
        case _:
            raise AssertionError(INIT)


begin()
first = True
for message in messages():
    if first:
        fact("first", method=message.get("method"))
        first = False
    match message.get("method"):
        case "server/discover":
            probed(message)
        case "initialize":
            asked(message)
        case "notifications/initialized" if INIT == "answers-the-notification":
            send(result(None, {}))
            raw(encode(error(None, -32600, "Invalid Request")) + b"\n")
        case _:
            obey(message)
