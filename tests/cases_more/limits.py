"""Lines that are longer than they may be."""

from __future__ import annotations

import os
import time

from kit import arguments, encode, fact, note, raw, result, serve, text, tool


def line_of(length, id, **more):
    """An answer of *length* bytes, not counting the newline."""
    message = {**result(id, text("")), **more}
    message["result"]["content"][0]["text"] = "y" * (length - len(encode(message)))
    return encode(message)


@tool
def exact(message):
    """A line of `n` bytes, in pieces of `piece`."""
    wanted = arguments(message)
    line = line_of(wanted["n"], message["id"]) + wanted.get("end", "\n").encode()
    size = wanted.get("piece") or len(line)
    for at in range(0, len(line), size):
        raw(line[at : at + size])


@tool
def id_at_the_end(message):
    long = line_of(arguments(message)["n"], message["id"])
    moved = b'{"jsonrpc":"2.0",' + long[long.index(b'"result"') : -1]
    raw(moved + b',"id":%d}\n' % message["id"])


@tool
def id_inside_the_result(message):
    """The head shows an id, of another call, that is not the answer's."""
    pad = "y" * arguments(message)["n"]
    other = arguments(message)["other"]
    raw(encode({"jsonrpc": "2.0", "result": {"id": other, "content": [pad]}, "id": 0}) + b"\n")


@tool
def notification(message):
    raw(encode(note(data="y" * arguments(message)["n"])) + b"\n")
    raw(encode(result(message["id"], text("after"))) + b"\n")


@tool
def notification_with_an_id_inside(message):
    pad = "y" * arguments(message)["n"]
    raw(encode(note(id=message["id"], result={}, data=pad)) + b"\n")
    raw(encode(result(message["id"], text("after"))) + b"\n")


@tool
def request_with_the_same_id(message):
    """A request of the server's, far too long, whose id is that of the call."""
    pad = "y" * arguments(message)["n"]
    asked = {"jsonrpc": "2.0", "id": message["id"], "method": "roots/list", "params": {"pad": pad}}
    raw(encode(asked) + b"\n")
    raw(encode(result(message["id"], text("after"))) + b"\n")


@tool
def between_others(message):
    """In one write: the answer to `first`, the line too long, and the answer to `last`."""
    wanted = arguments(message)
    before = encode(result(wanted["first"], text("first")))
    long = line_of(wanted["n"], message["id"])
    behind = encode(result(wanted["last"], text("last")))
    raw(before + b"\n" + long + b"\n" + behind + b"\n")


@tool
def endless(message):
    """No newline ever: `total` bytes of `with`, after `head`."""
    wanted = arguments(message)
    head = wanted.get("head", "")
    raw(head.replace("ID", str(message["id"])).encode())
    piece = (wanted.get("with", "1") * 65536).encode()[:65536]
    sent = 0
    try:
        while sent < wanted["total"]:
            raw(piece)
            sent += len(piece)
            time.sleep(wanted.get("pause", 0))
    except OSError as failed:
        fact("write_failed", sent=sent, error=type(failed).__name__)
        os._exit(3)
    fact("wrote_all", sent=sent)


@tool
def hold(message):
    """No answer."""


serve()
