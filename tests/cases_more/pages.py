"""Lists whose cursors lead nowhere. CASE_PAGES says how; every page asked for is a fact."""

from __future__ import annotations

import os
from itertools import count

from kit import begin, error, fact, messages, obey, result, send

MODE = os.environ.get("CASE_PAGES", "same")
ODD = "é=/?& +\u2028\x00😀"
PAGES = count(1)
KEYS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


def page(message):
    number, cursor = next(PAGES), message["params"].get("cursor")
    fact("page", cursor=cursor, given="cursor" in message["params"])
    key = KEYS[message["method"]]
    items = [{"name": f"t{number}", "uri": f"x:{number}", "inputSchema": {"type": "object"}}]
    body = {"resultType": "complete", key: items, "ttlMs": 0, "cacheScope": "private"}
    match MODE:
        case "same":
            body["nextCursor"] = "c1"
        case "cycle":
            body["nextCursor"] = "c2" if cursor == "c1" else "c1"
        case "long cycle":
            body["nextCursor"] = f"c{number % 7}"
        case "endless":
            body["nextCursor"] = f"n{number}"
        case "last" if number < 5:
            body["nextCursor"] = f"p{number + 1}"
        case "null":
            body["nextCursor"] = None
        case "empty":
            body["nextCursor"] = ""
        case "three":
            names = {None: "abc", ODD: "de", "z": "fg"}[cursor]
            body[key] = [{"name": name} for name in names]
            if cursor != "z":
                body["nextCursor"] = ODD if cursor is None else "z"
        case "empty pages":
            body[key] = []
            if number < 4:
                body["nextCursor"] = str(number)
        case "badtype":
            body["nextCursor"] = 5
        case "badlist":
            body["nextCursor"] = ["c1"]
        case "false":
            body["nextCursor"] = False
        case "noitems":
            del body[key]
        case "itemsnull":
            body[key] = None
        case "itemsobject":
            body[key] = {"name": "t"}
        case "itemstring":
            body[key] = "tools"
        case "itemodd":
            body[key] = ["t1", 5, None]
        case "input":
            body["resultType"] = "input_required"
            body["inputRequests"] = {}
        case "failmid" if cursor:
            send(error(message["id"], -32603, "page 2 broke"))
            return
        case "failmid":
            body["nextCursor"] = "p2"
        case "exitmid" if cursor:
            os._exit(3)
        case "exitmid":
            body["nextCursor"] = "p2"
        case "silentmid" if cursor:
            return
        case "silentmid":
            body["nextCursor"] = "p2"
        case "malformedmid" if cursor:
            send({"jsonrpc": "2.0", "id": message["id"]})
            return
        case "malformedmid":
            body["nextCursor"] = "p2"
    send(result(message["id"], body))


begin()
for message in messages():
    (page if message.get("method") in KEYS else obey)(message)
