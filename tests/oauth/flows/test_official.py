"""The official SDK's own authorization server, which judges what we send by its own rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from case_servers import text_of
from oauth.flows.ways import code, on_both
from oauth.servers.kit import Program, User

import snodo_actors as snodo


@pytest.fixture(scope="module")
def official() -> Iterator[Program]:
    program = Program("official.py")
    yield program
    program.stop()


@on_both
async def test_the_official_authorization_server_gives_and_renews_tokens(at, official):
    user = User()
    options = {"token_provider": code(user), "proxy": None, "timeout": 15.0}
    client = await at.get(
        snodo.connect(("http", f"http://127.0.0.1:{official.port}/mcp"), **options)
    )
    before = [int(word) for word in text_of(await at.get(client.call_tool("counts"))).split()]
    await at.sleep(1.1)
    after = [int(word) for word in text_of(await at.get(client.call_tool("counts"))).split()]
    await at.get(client.close())
    assert len(user.visits) == 1
    assert after[0] == before[0]
    assert after[1] > before[1]
    assert user.asked()["scope"] == "user"
