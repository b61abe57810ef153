"""How the servers in Python are served over HTTP, the same for both SDKs.

On a free port of loopback, or the one that PORT names; it is printed. They end with their stdin.
With TLS_CERT, the file of a key and its certificates, through TLS.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import uvicorn


def serve(app: Any, note: Callable[..., None]) -> None:
    """Serve an application until the end of stdin."""
    listener = socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    cert = os.environ.get("TLS_CERT")
    http = uvicorn.Server(
        uvicorn.Config(
            _noted(app, note), log_level="critical", ssl_certfile=cert, timeout_graceful_shutdown=0
        )
    )

    async def stop_at_the_end_of_stdin() -> None:
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        http.should_exit = True

    async def run() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(stop_at_the_end_of_stdin)
            print("PORT", listener.getsockname()[1], flush=True)
            await http.serve(sockets=[listener])
            group.cancel_scope.cancel()

    anyio.run(run)


def _noted(app: Any, note: Callable[..., None]) -> Any:
    """The same, and each request is written down when it is answered."""

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                kinds = [value for name, value in message["headers"] if name == b"content-type"]
                note(
                    "answer",
                    method=scope["method"],
                    headers=headers,
                    status=message["status"],
                    kind=kinds[0].decode() if kinds else "",
                )
            await send(message)

        await app(scope, receive, answer)

    return noted
