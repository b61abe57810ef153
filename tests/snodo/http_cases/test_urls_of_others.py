"""URLs in what a server says go to whoever reads them; nothing is fetched by itself."""

from __future__ import annotations

import pytest
from case_servers import LEGACY, MODERN, across, text_of
from http_server import note, result, text


def schema(url):
    """A schema that leads elsewhere, in every way there is."""
    return {
        "$schema": f"{url}/schema",
        "$id": f"{url}/id",
        "type": "object",
        "properties": {"a": {"$ref": f"{url}/ref"}, "b": {"$dynamicRef": f"{url}/dynamic"}},
        "$ref": f"{url}/all",
    }


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@across
async def test_references_in_schemas_are_not_followed(at, serve, protocol):
    server, other = serve(), serve()
    elsewhere = schema(other.url)
    tool = {"name": "own", "inputSchema": elsewhere, "outputSchema": elsewhere}
    server.tools.append(tool)
    own = {**text("own"), "structuredContent": {"a": 1}}
    server.on("tool own", lambda e: e.json(result(e.request["id"], own)))
    client = await at.get(server.connect(protocol=protocol))
    listed = next(one for one in await at.get(client.list_tools()) if one["name"] == "own")
    assert listed == tool, "as it came"
    for called in ("own", listed):
        answer = await at.get(client.call_tool(called, {"a": {"anything": True}}))
        assert answer["structuredContent"] == {"a": 1}
    assert other.connections == []
    await at.get(client.close())


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
@across
async def test_a_page_for_the_user_is_not_fetched(at, serve, protocol):
    server, other, asked = serve(), serve(), []
    params = {"mode": "url", "message": "?", "url": f"{other.url}/page", "elicitationId": "e"}

    def bug(exchange):
        id = exchange.request["id"]
        if protocol == MODERN and "inputResponses" not in exchange.request.params:
            requests = {"a": {"method": "elicitation/create", "params": params}}
            exchange.json(result(id, {"resultType": "input_required", "inputRequests": requests}))
            return
        exchange.stream()
        if protocol == LEGACY:
            exchange.event({**note("elicitation/create", **params), "id": "q"})
            exchange.wait("answered")
        exchange.event(result(id, text("own")))
        exchange.end()

    def taken(exchange):
        exchange.respond(202, kind="")
        server.open("answered")

    def url(question):
        asked.append(question["url"])
        return {"action": "accept"}

    server.on("tool bug", bug)
    server.on("reply", taken)
    client = await at.get(server.connect(protocol=protocol, input_handlers={"url": url}))
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    assert asked == [f"{other.url}/page"]
    assert other.connections == []
    await at.get(client.close())
