"""Event streams over stdio: acknowledged, then an event each 50 ms. CASE_STREAM bends them."""

from __future__ import annotations

import os
import threading

from kit import arguments, encode, error, fact, note, obey, raw, result, send, serve, tool

MODE = os.environ.get("CASE_STREAM", "")
KEY = "io.modelcontextprotocol/subscriptionId"
OPEN: dict[object, threading.Event] = {}


def event(id, number):
    return note("notifications/tools/list_changed", n=number, _meta={KEY: id})


def acknowledge(id, notifications):
    send(
        note(
            "notifications/subscriptions/acknowledged",
            notifications=notifications,
            _meta={KEY: id},
        )
    )


def run(message):
    id = message["id"]
    stop = OPEN[id] = threading.Event()
    fact("listen", of=id)
    match MODE:
        case "refused":
            send(error(id, -32602, "no such notifications"))
            return
        case "silent":
            return
        case "early":
            send(event(id, -1))
        case "ended":
            send(result(id, {}))
            return
    acknowledge(id, message["params"]["notifications"])
    if MODE == "twice":
        acknowledge(id, {})
    number = 0
    while not stop.is_set():
        if MODE != "quiet":
            send(event(id, number))
            number += 1
        if MODE == "three" and number == 3:
            send(result(id, {}))
            send(event(id, 99))
            return
        if MODE == "exit" and number == 3:
            os._exit(3)
        stop.wait(0.05)
    fact("listen_closed", of=id)


@tool
def flood(message):
    """`n` events of the stream `id`, as fast as they go, then the answer."""
    wanted = arguments(message)
    lines = [encode(event(wanted["id"], number)) for number in range(wanted["n"])]
    raw(b"".join(line + b"\n" for line in lines))
    obey(message)


def other(message):
    if message.get("method") == "subscriptions/listen":
        threading.Thread(target=run, args=(message,), daemon=True).start()
    elif message.get("method") == "notifications/cancelled":
        stop = OPEN.get(message["params"].get("requestId"))
        if stop is not None:
            stop.set()
    else:
        obey(message)


serve(other)
