"""Over HTTP: the standing stream of a session, on which a peer speaks outside of any call."""

from __future__ import annotations

import pytest
from case_servers import PATIENCE
from peers.http_kinds import PYTHON_ONE, PYTHON_ONE_JSON, PYTHON_TWO, PYTHON_TWO_JSON
from peers.http_kit import both, closes
from peers.kinds import LATER, named
from peers.kit import answers, said
from peers.test_input import FOLDER, User

from supervisors import receive, self_

NOTE = "notes://today"


def is_notification(message):
    return isinstance(message, tuple) and message[0] == "snodo_notification"


@pytest.mark.parametrize(
    "web",
    [(kind, LATER) for kind in (PYTHON_TWO, PYTHON_TWO_JSON, PYTHON_ONE, PYTHON_ONE_JSON)],
    ids=named,
    indirect=True,
)
@both
async def test_what_a_server_tells_of_its_own_accord(at, web):
    client = await at.get(web.connect(server_stream=self_()))
    await at.until(lambda: web.answered("GET"))
    await at.get(client.call_tool("change", {"uri": NOTE}))
    told = [await at.get(receive(is_notification, PATIENCE)) for _ in range(2)]
    assert [method for _, method, _ in told] == [
        "notifications/tools/list_changed",
        "notifications/resources/updated",
    ]
    assert told[1][2]["uri"] == NOTE
    [stream] = web.answered("GET")
    assert stream["headers"]["mcp-session-id"] == client.session.id
    await answers(at, web, client)
    await closes(at, web, client)


@pytest.mark.parametrize(
    "web", [(PYTHON_ONE, LATER), (PYTHON_ONE_JSON, LATER)], ids=named, indirect=True
)
@both
async def test_what_a_server_asks_on_its_own(at, web):
    """Also where an answer is no stream."""
    user = User()
    client = await at.get(web.connect(server_stream=True, input_handlers=user.handlers))
    for tool, text in (("ask_model", "anything"), ("ask_roots", FOLDER)):
        assert text in said(await at.get(client.call_tool(tool)))
    assert len(user.asked) == 2
    await closes(at, web, client)
