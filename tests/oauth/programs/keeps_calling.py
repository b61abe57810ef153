"""Calls a protected server for a while, with tokens out of a file that others use as well.

    keeps_calling.py URL FILE SECONDS

Prints how many calls were answered, and every error.
"""

from __future__ import annotations

import json
import sys
import time

import anyio

import snodo_actors as snodo
from snodo_actors import oauth
from supervisors import Node

CALLBACK = "http://127.0.0.1:49152/callback"


def nobody(url: str) -> str:
    raise RuntimeError("the user was asked again")


async def main(url: str, path: str, seconds: float) -> None:
    provider = oauth.AuthorizationCode(
        user_agent=oauth.FixedRedirect(CALLBACK, nobody), store=oauth.FileStore(path), timeout=30.0
    )
    calls, errors = 0, []
    async with Node():
        client = await snodo.connect(("http", url), token_provider=provider, proxy=None, timeout=30)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                await client.call_tool("add", {"a": 1, "b": 2})
                calls += 1
            except snodo.Error as error:
                errors.append(repr(error))
            await anyio.sleep(0.1)
        await client.close()
    print(json.dumps({"calls": calls, "errors": errors}))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], float(sys.argv[3]))
