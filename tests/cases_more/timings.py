"""Answers that take their time, with or without signs of life."""

from __future__ import annotations

import threading
import time

from kit import (
    arguments,
    encode,
    fact,
    later,
    note,
    obey,
    raw,
    result,
    send,
    serve,
    text,
    token,
    tool,
)

STOP = {}


def progress(token, number, **more):
    return note("notifications/progress", progressToken=token, progress=number, **more)


@tool
def steps(message):
    """Progress each `every` ms, and the answer after `after` ms; stops when cancelled."""
    wanted, sign = arguments(message), token(message)
    stop = STOP[message["id"]] = threading.Event()

    def run():
        start, number = time.monotonic(), 0
        while time.monotonic() - start < 20 and not stop.is_set():
            if wanted.get("after") and (time.monotonic() - start) * 1000 >= wanted["after"]:
                send(result(message["id"], text("done")))
                return
            stop.wait((wanted.get("every") or 50) / 1000)
            number += 1
            if wanted.get("every") and sign is not None and not stop.is_set():
                send(progress(sign, number))
        fact("stopped", of=message["id"])

    threading.Thread(target=run, daemon=True).start()


@tool
def burst(message):
    """`n` signs of progress and the answer, in one write."""
    sign = token(message)
    lines = [encode(progress(sign, n, total=9)) for n in range(arguments(message)["n"])]
    raw(b"\n".join([*lines, encode(result(message["id"], text("done")))]) + b"\n")


@tool
def odd_signs(message):
    """Progress for everybody else, and of every shape; one of all is this call's."""
    sign = token(message)
    for other in (sign + 1, str(sign), float(sign) + 0.5, None, True, [sign], {"t": sign}, -sign):
        send(progress(other, 0))
    for params in (None, [], "x", 5, {}, {"progress": 1}):
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    send({"jsonrpc": "2.0", "method": "notifications/progress"})
    mine = {"progressToken": sign, "progress": "much", "message": "é", "_meta": {"x": 1}}
    send({"jsonrpc": "2.0", "method": "notifications/progress", "params": mine})
    obey(message)


@tool
def signs_after_the_answer(message):
    obey(message)
    for number in range(5):
        send(progress(token(message), number))


@tool
def drips(message):
    """The answer a byte at a time, `pause` s apart: it never comes to an end in time."""
    line = encode(result(message["id"], text("x" * 200))) + b"\n"

    def run():
        for at in range(len(line)):
            raw(line[at : at + 1])
            time.sleep(arguments(message)["pause"])

    threading.Thread(target=run, daemon=True).start()


@tool
def chatters(message):
    """Whatever a living server may say, but the answer, for `seconds`."""

    def run():
        end = time.monotonic() + arguments(message)["seconds"]
        while time.monotonic() < end:
            send(note(data="still here"))
            raw(b"\n: ping\n")
            send({"jsonrpc": "2.0", "id": f"p{time.monotonic()}", "method": "ping"})
            time.sleep(0.05)

    threading.Thread(target=run, daemon=True).start()


@tool
def flood(message):
    """`n` notifications of every kind in one write, then the answer."""
    sign, lines = token(message), []
    for number in range(arguments(message)["n"]):
        kind = number % 5
        if kind == 0:
            lines.append(note(level="debug", data=f"line {number}"))
        elif kind == 1:
            lines.append({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        elif kind == 2:
            lines.append(note("notifications/unheard_of", i=number))
        elif kind == 3:
            lines.append(progress("none" if sign is None else sign, number))
        else:
            meta = {"io.modelcontextprotocol/subscriptionId": number}
            lines.append(note("notifications/resources/updated", uri="x", _meta=meta))
    raw(b"\n".join(map(encode, lines)) + b"\n")
    obey(message)


@tool
def answer_after(message):
    later(arguments(message)["seconds"], send, result(message["id"], text("done")))


@tool
def hold(message):
    """No answer."""


def other(message):
    if message.get("method") == "notifications/cancelled":
        stop = STOP.get(message["params"].get("requestId"))
        if stop is not None:
            stop.set()
    else:
        obey(message)


serve(other)
