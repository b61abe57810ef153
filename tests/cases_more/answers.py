"""Answers of every shape but the right one."""

from __future__ import annotations

import json

from kit import arguments, raw, send, serve, tool


@tool
def shape(message):
    """An answer with these members, and the call's id."""
    send({"jsonrpc": "2.0", "id": message["id"], **arguments(message)["members"]})


@tool
def literally(message):
    raw(arguments(message)["line"].replace("ID", json.dumps(message["id"])).encode() + b"\n")


serve()
