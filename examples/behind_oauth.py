"""A server behind OAuth: who it belongs to, a user's consent, and tokens that renew themselves."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import httpx

import snodo_actors as snodo
from snodo_actors import oauth

SERVER = Path(__file__).parent / "servers" / "protected.py"


@asynccontextmanager
async def server() -> AsyncGenerator[str]:
    """Start the server, and say where it is; it ends when its stdin does."""
    async with await anyio.open_process([sys.executable, SERVER], stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(await process.stdout.receive())
        yield f"http://127.0.0.1:{port}/mcp"
        await process.stdin.aclose()


async def agree(url: str) -> str:
    """Do what a user does in a browser: go there, and be sent back."""
    async with httpx.AsyncClient() as browser:
        answer = await browser.get(url)
    return answer.headers["location"]


async def main() -> None:
    """Call a tool before and after the token's end, and once more as another program would."""
    async with server() as url:
        with TemporaryDirectory() as folder:
            provider = oauth.AuthorizationCode(
                client_name="example",
                # A program for people leaves this out: then a browser opens, and comes back here.
                user_agent=oauth.FixedRedirect("http://127.0.0.1:8765/callback", agree),
                store=oauth.FileStore(Path(folder, "tokens.json")),
            )
            async with await snodo.connect(("http", url), token_provider=provider) as client:
                print(await client.call_tool("note", {"text": "first"}))
                await anyio.sleep(6)  # longer than the token lives: it is renewed, nobody is asked
                print(await client.call_tool("note", {"text": "second"}))

            again = oauth.AuthorizationCode(
                client_name="example", store=oauth.FileStore(Path(folder, "tokens.json"))
            )
            async with await snodo.connect(("http", url), token_provider=again) as client:
                print(await client.call_tool("note", {"text": "third, without a consent"}))


if __name__ == "__main__":
    anyio.run(main)
