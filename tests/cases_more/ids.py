"""Answers with ids that are not the ones asked with, and answers that come when nobody waits."""

from __future__ import annotations

from kit import arguments, encode, error, fact, later, obey, raw, result, send, serve, text, tool

WAITING = []


def written(id):
    """How an id may come, as JSON text."""
    return {
        "zero": "0",
        "minus zero": "-0",
        "negative": str(-id),
        "other": str(id + 1000),
        "string": f'"{id}"',
        "string with a dot": f'"{id}.0"',
        "padded string": f'" {id} "',
        "zeros string": f'"00{id}"',
        "empty string": '""',
        "true": "true",
        "null": "null",
        "half": f"{id}.5",
        "float": f"{id}.0",
        "exponent": f"{id}e0",
        "list": f"[{id}]",
        "object": f'{{"id":{id}}}',
        "huge": str(id + 2**64),
        "wrapped": str(id - 2**32),
        "long": "1" * 64,
        "too long": "1" * 70,
        "leading zero": f"0{id}",
        "hexadecimal": hex(id),
        "nothing": "",
    }


@tool
def written_as(message):
    """The answer, with its id written as `how`."""
    id = written(message["id"])[arguments(message)["how"]]
    body = encode(text("not yours")).decode()
    raw(f'{{"jsonrpc":"2.0","id":{id},"result":{body}}}\n'.encode())


@tool
def without_id(message):
    raw(encode({"jsonrpc": "2.0", "result": text("whose?")}) + b"\n")


@tool
def with_a_method_too(message):
    """Neither an answer nor a request: who has a method asks."""
    send({**result(message["id"], text("both")), "method": "roots/list"})


@tool
def asks_with_the_same_id(message):
    """The server's own request has the number of the client's."""
    send({"jsonrpc": "2.0", "id": message["id"], "method": "ping"})
    later(0.1, send, result(message["id"], text("mine")))


@tool
def asks_with_the_same_id_and_the_answer_first(message):
    send(result(message["id"], text("mine")))
    send({"jsonrpc": "2.0", "id": message["id"], "method": "ping"})


@tool
def cancels(message):
    """The server cancels a request of the client's, which it cannot."""
    for id in (message["id"], str(message["id"]), None, 10**30):
        params = {"requestId": id, "reason": "no"}
        send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    obey(message)


@tool
def several(message):
    """The answer again and again, in one write; the first one counts."""
    id = message["id"]
    answers = [result(id, text(f"answer {number}")) for number in range(5)]
    answers.insert(1, error(id, -32603, "changed my mind"))
    raw(b"\n".join(map(encode, answers)) + b"\n")


@tool
def error_then_result(message):
    send(error(message["id"], -32603, "first"))
    send(result(message["id"], text("second")))


@tool
def late(message):
    """Answers long after: twice, then with an error."""
    id, wait = message["id"], arguments(message).get("after", 0.6)

    def run():
        send(result(id, text("late one")))
        send(result(id, text("late two")))
        send(error(id, 0, "Request cancelled"))
        fact("late_sent", of=id)

    later(wait, run)


@tool
def in_reverse(message):
    """Waits for `of` calls and answers them in reverse, each with its own number."""
    WAITING.append(message)
    if len(WAITING) == arguments(message)["of"]:
        for one in reversed(WAITING):
            send(result(one["id"], text(str(arguments(one)["n"]))))
        WAITING.clear()


@tool
def earlier_ids(message):
    """Answers every id that was ever used before it answers this one."""
    for id in range(message["id"] + 50):
        if id != message["id"]:
            send(result(id, text("for somebody else")))
    obey(message)


@tool
def hold(message):
    """No answer."""


serve()
