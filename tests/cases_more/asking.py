"""Servers that ask the client something while it waits for them."""

from __future__ import annotations

import threading
import time
from typing import Any

from kit import arguments, encode, fact, later, note, obey, raw, result, send, serve, text, tool

ANSWERED: dict[str, threading.Event] = {}
FORM = {
    "mode": "form",
    "message": "Name?",
    "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}},
}


def ask(id: Any, method: str = "elicitation/create", params: Any = FORM) -> threading.Event:
    came = ANSWERED[repr(id)] = threading.Event()
    request = {"jsonrpc": "2.0", "id": id, "method": method}
    send(request if params is None else {**request, "params": params})
    return came


@tool
def form(message):
    """Asks as `id`, waits up to `wait` s, and says whether it was answered."""
    wanted = arguments(message)
    came = ask(wanted.get("id", "srv-1"), params=wanted.get("params", FORM))

    def wait():
        got = came.wait(wanted.get("wait", 3))
        send(result(message["id"], text(f"answered {str(got).lower()}")))

    later(0, wait)


@tool
def ping(message):
    came = ask(arguments(message).get("id", "srv-1"), "ping", None)
    later(0, lambda: send(result(message["id"], text(f"answered {str(came.wait(3)).lower()}"))))


@tool
def asks(message):
    """Any request; the call is answered at once."""
    wanted = arguments(message)
    ask(wanted["id"], wanted["method"], wanted.get("params"))
    obey(message)


@tool
def many(message):
    """`n` forms at a time; the call is answered when all are."""
    wanted = arguments(message)
    all_came = [ask(f"m{number}") for number in range(wanted["n"])]

    def wait():
        got = sum(came.wait(5) for came in all_came)
        send(result(message["id"], text(f"answered {got}")))

    later(0, wait)


@tool
def same_id_twice(message):
    came = ask("twice")
    send({"jsonrpc": "2.0", "id": "twice", "method": "elicitation/create", "params": FORM})
    later(0, lambda: send(result(message["id"], text(f"answered {came.wait(3)}"))))


@tool
def takes_it_back(message):
    """Asks, and cancels its own request."""
    ask("back")
    params = {"requestId": "back", "reason": "never mind"}
    later(0.3, send, note("notifications/cancelled", **params))
    later(0.6, obey, message)


@tool
def asks_and_exits(message):
    import os

    ask("last")
    later(0.2, os._exit, 3)


@tool
def asks_and_forgets(message):
    """Asks and never answers the call."""
    ask(arguments(message).get("id", "srv-1"))


@tool
def pings_and_does_not_read(message):
    """`n` pings with ids of `size` bytes, all to be answered; nobody reads the answers."""
    wanted = arguments(message)
    for number in range(wanted["n"]):
        line = {"jsonrpc": "2.0", "id": f"{number}{'x' * wanted['size']}", "method": "ping"}
        raw(encode(line) + b"\n")
    fact("pinged")
    obey(message)
    time.sleep(wanted.get("sleep", 40))


def other(message):
    if "method" not in message and repr(message.get("id")) in ANSWERED:
        fact("answer", id=message["id"], result=message.get("result"), error=message.get("error"))
        ANSWERED[repr(message["id"])].set()
    else:
        obey(message)


serve(other)
