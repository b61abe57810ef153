"""A refused token is refreshed once, the message sent once more, and no secret is shown."""

from __future__ import annotations

import threading

import anyio
import anyio.lowlevel
import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, said, text_of, took
from http_exchange import encode
from http_outcomes import refused, unauthorized
from http_server import error, note, result, text

import snodo_actors as snodo

INVALID = [("WWW-Authenticate", 'Bearer error="invalid_token"')]
SCOPE = [("WWW-Authenticate", 'Bearer error="insufficient_scope", scope="files:read files:write"')]


class Tokens:
    """Gives t0, and after each refresh the next."""

    def __init__(self):
        self.number = 0
        self.asked = 0
        self.refreshed = []
        self._lock = threading.Lock()

    def token(self, request):
        self.asked += 1
        return f"t{self.number}"

    def refresh(self, challenge, request):
        with self._lock:
            self.number += 1
            self.refreshed.append(challenge)
            return f"t{self.number}"


def token_of(request):
    return request.first("authorization")


@everywhere
async def test_tokens_that_are_never_good_enough(at, case):
    server, tokens = case("B-057"), Tokens()
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens))
    for n in range(1, 4):
        with took(below=1):
            failed = await at.error(client.call_tool("echo"))
        challenge = unauthorized(failed, 401)
        assert challenge.scheme == "bearer"
        assert challenge.params == {
            "realm": "mcp",
            "error": "invalid_token",
            "error_description": 'expired "now"',
        }
        assert len(server.facts("auth")) == 2 * n
        assert len(tokens.refreshed) == n
    await at.sleep(0.3)
    assert len(server.facts("auth")) == 6
    await at.get(client.close())


@everywhere
async def test_a_token_that_has_run_out(at, case):
    server, tokens = case("B-057", CASE_OK_AFTER="1"), Tokens()
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens))
    await echoes(at, client)
    seen = [fact["token"] for fact in server.facts("auth")]
    assert seen == ["Bearer t0", "Bearer t1"]
    await echoes(at, client)
    assert server.facts("auth")[-1]["token"] == "Bearer t1"
    await at.get(client.close())


@across
async def test_without_a_provider_a_refusal_is_an_answer_like_any_other(at, case):
    server = case("B-057")
    client = await at.get(server.connect(protocol=MODERN, headers=[("authorization", "Bearer x")]))
    refused(await at.error(client.call_tool("echo")), 401, b'{"error":"invalid_token"}')
    assert len(server.facts("auth")) == 1
    await at.get(client.close())


# ---- providers of all kinds


@across
async def test_a_provider_that_raises(at, server):
    class Raising(Tokens):
        def token(self, request):
            if self.asked == 0:
                self.asked = 1
                raise LookupError("s3cret")
            return "t"

    client = await at.get(server.connect(protocol=MODERN, token_provider=Raising()))
    with took(below=1):
        lost(await at.error(client.call_tool("echo")))
    assert server.requests == []
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_provider_whose_refresh_raises(at, server):
    class Raising(Tokens):
        def refresh(self, challenge, request):
            super().refresh(challenge, request)
            raise LookupError("s3cret")

    server.once("tool bug", lambda e: e.respond(401, b"", INVALID))
    tokens = Raising()
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens, pool_size=1))
    with took(below=1):
        lost(await at.error(client.call_tool("bug")))
    assert len(server.received("tool bug")) == 1
    assert len(tokens.refreshed) == 1
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_an_error_of_the_provider_is_the_calls(at, server):
    own = snodo.TransportError(-32000, "the vault is closed", cause="vault")

    class Failing(Tokens):
        def token(self, request):
            raise own

    client = await at.get(server.connect(protocol=MODERN, token_provider=Failing()))
    failed = await at.error(client.call_tool("echo"))
    assert (failed.code, failed.cause) == (-32000, "vault")
    assert "the vault is closed" in str(failed)
    assert server.requests == []
    await at.get(client.close())


@pytest.mark.parametrize(
    "token",
    ["s3cret\r\nX-Evil: 1", "s3cret\n", "s3 cret", "s3\tcret", "\0s3cret", "", 5, b"s3cret"],
)
@across
async def test_what_is_no_token_is_not_sent_and_not_shown(at, server, token):
    class Odd(Tokens):
        def token(self, request):
            return token

    client = await at.get(server.connect(protocol=MODERN, token_provider=Odd()))
    failed = await at.error(client.call_tool("echo"))
    lost(failed)
    assert failed.delivery == "never_sent"
    assert server.requests == []
    for shown in (str(failed), repr(failed)):
        assert "cret" not in shown
    await at.get(client.close())


@across
async def test_no_token_at_all(at, server):
    class Without(Tokens):
        def token(self, request):
            return None

    client = await at.get(server.connect(protocol=MODERN, token_provider=Without()))
    await echoes(at, client)
    assert token_of(server.requests[0]) is None
    await at.get(client.close())


@across
async def test_an_async_provider(at, server):
    class Async(Tokens):
        async def token(self, request):
            await anyio.lowlevel.checkpoint()
            return super().token(request)

        async def refresh(self, challenge, request):
            await anyio.lowlevel.checkpoint()
            return super().refresh(challenge, request)

    server.once("tool bug", lambda e: e.respond(401, b"", INVALID))
    client = await at.get(server.connect(protocol=MODERN, token_provider=Async()))
    assert text_of(await at.get(client.call_tool("bug", {"n": 1}))) == said(n=1)
    assert [token_of(one) for one in server.requests] == ["Bearer t0", "Bearer t1"]
    await at.get(client.close())


@across
async def test_a_provider_with_a_state(at, server):
    class Stateful:
        @staticmethod
        def token(state, request):
            return state["token"]

        @staticmethod
        def refresh(state, challenge, request):
            state["token"] = "new"
            return "new"

    server.once("tool bug", lambda e: e.respond(401, b"", INVALID))
    state = {"token": "old"}
    client = await at.get(server.connect(protocol=MODERN, token_provider=(Stateful, state)))
    assert text_of(await at.get(client.call_tool("bug", {"n": 1}))) == said(n=1)
    assert [token_of(one) for one in server.requests] == ["Bearer old", "Bearer new"]
    await at.get(client.close())


@across
async def test_the_time_of_a_provider_is_not_that_of_the_call(at, server):
    class Slow(Tokens):
        async def token(self, request):
            await anyio.sleep(0.4)
            return super().token(request)

        async def refresh(self, challenge, request):
            await anyio.sleep(0.4)
            return super().refresh(challenge, request)

    server.once("tool bug", lambda e: e.respond(401, b"", INVALID))
    client = await at.get(server.connect(protocol=MODERN, token_provider=Slow(), timeout=0.3))
    with took(below=2, least=0.8):
        assert text_of(await at.get(client.call_tool("bug", {"n": 1}))) == said(n=1)
    await at.get(client.close())


# ---- which refusals are refreshed


@across
async def test_a_scope_that_does_not_suffice(at, server):
    tokens = Tokens()
    server.once("tool bug", lambda e: e.respond(403, b"", SCOPE))
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens))
    assert text_of(await at.get(client.call_tool("bug", {"n": 1}))) == said(n=1)
    (challenge,) = tokens.refreshed
    assert challenge.scope == ["files:read", "files:write"]
    assert challenge.error == "insufficient_scope"
    await at.get(client.close())


@pytest.mark.parametrize("fields", [[], INVALID, [("WWW-Authenticate", "Bearer")]])
@across
async def test_a_403_for_another_reason(at, server, fields):
    tokens = Tokens()
    server.on("tool bug", lambda e: e.respond(403, b"no", fields, kind="text/plain"))
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens))
    refused(await at.error(client.call_tool("bug")), 403, b"no")
    assert len(server.received("tool bug")) == 1
    assert tokens.refreshed == []
    await at.get(client.close())


@pytest.mark.parametrize(
    ("first", "second"),
    [((401, INVALID), (403, [])), ((403, SCOPE), (401, INVALID)), ((401, []), (401, []))],
)
@across
async def test_a_second_refusal_is_the_last(at, server, first, second):
    tokens = Tokens()
    server.once(
        "tool bug", *(lambda e, how=how: e.respond(how[0], b"", how[1]) for how in (first, second))
    )
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens, pool_size=1))
    with took(below=1):
        unauthorized(await at.error(client.call_tool("bug")), second[0])
    assert len(server.received("tool bug")) == 2
    assert len(tokens.refreshed) == 1
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_refusal_wins_over_what_its_body_says(at, server):
    """An error of JSON-RPC under a 401 is a refusal where there is a provider."""
    server.once("tool bug", lambda e: e.json(error(e.request["id"], -32001, "no"), 401, INVALID))
    client = await at.get(server.connect(protocol=MODERN, token_provider=Tokens()))
    assert text_of(await at.get(client.call_tool("bug", {"n": 1}))) == said(n=1)
    await at.get(client.close())


@across
async def test_the_same_message_is_sent_again(at, server):
    server.once("tool bug", lambda e: e.respond(401, b"", INVALID))
    client = await at.get(server.connect(protocol=MODERN, token_provider=Tokens()))
    await at.get(client.call_tool("bug", {"n": 1}))
    first, second = server.received("tool bug")
    assert first.body == second.body
    await at.get(client.close())


CHALLENGES = {
    "none": ([], None),
    "a scheme": (["Bearer"], ("bearer", {})),
    "the first bearer": (
        ['Basic realm="a"', 'Bearer realm="b"', 'Bearer realm="c"'],
        ("bearer", {"realm": "b"}),
    ),
    "several in one": (['Basic realm="a, Bearer x", Bearer realm="b"'], ("bearer", {"realm": "b"})),
    "no bearer": (['Digest realm="a", nonce="b"'], ("digest", {"realm": "a", "nonce": "b"})),
    "token68": (["Negotiate YWJj==, Bearer realm=x"], ("bearer", {"realm": "x"})),
    "any case": (['BEARER Realm="A"'], ("bearer", {"realm": "A"})),
    "quotes": ([r'Bearer realm="a\"b\\c"'], ("bearer", {"realm": r'a"b\c'})),
    "twice": (["Bearer a=1, A=2"], ("bearer", {"a": "1"})),
    "blanks": (["  Bearer   a = 1 ,,  b=2  "], ("bearer", {"a": "1", "b": "2"})),
    "a URL": (
        ['Bearer resource_metadata="https://a.example/.well-known/x"'],
        ("bearer", {"resource_metadata": "https://a.example/.well-known/x"}),
    ),
    "an open quote": (['Bearer realm="a'], None),
    "an unquoted URL": (["Bearer resource_metadata=https://a.example"], None),
    "garbage": (["????", "====", ","], None),
    "too long": (["Bearer a=" + "x" * 9000], None),
    "Latin-1": (['Bearer realm="é"', 'Bearer realm="b"'], ("bearer", {"realm": "b"})),
}


@pytest.mark.parametrize("name", [*CHALLENGES])
@across
async def test_what_the_server_asks_for(at, server, name):
    values, wanted = CHALLENGES[name]
    fields = [("WWW-Authenticate", value) for value in values]
    server.once("tool bug", *[lambda e: e.respond(401, b"", fields)] * 2)
    tokens = Tokens()
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens, pool_size=1))
    with took(below=1):
        challenge = unauthorized(await at.error(client.call_tool("bug")), 401)
    for one in (challenge, tokens.refreshed[0]):
        if name == "Latin-1" and one is not None and one.params.get("realm") != "b":
            continue  # read as it was sent, or passed over
        assert (one and (one.scheme, one.params)) == wanted
    await echoes(at, client)
    await at.get(client.close())


# ---- on every path


@pytest.mark.parametrize("refusals", [1, 2])
@pytest.mark.parametrize("what", ["initialize", "notifications/initialized"])
@across
async def test_the_beginning_of_a_session(at, serve, what, refusals):
    server, tokens = serve(sessions=True), Tokens()
    server.once(what, *[lambda e: e.respond(401, b"", INVALID)] * refusals)
    outcome = await at.outcome(server.connect(token_provider=tokens))
    if refusals == 2:
        unauthorized(outcome, 401)
    else:
        await echoes(at, outcome)
        await at.get(outcome.close())
    assert len(server.received(what)) == 2
    assert len(tokens.refreshed) == 1
    await at.until(lambda: not server.sessions, within=1.0)


@across
async def test_the_end_of_a_session(at, serve):
    server, tokens = serve(sessions=True), Tokens()
    client = await at.get(server.connect(token_provider=tokens))
    server.once("DELETE", lambda e: e.respond(401, b"", INVALID))
    with took(below=1):
        await at.get(client.close())
    assert [token_of(one) for one in server.received("DELETE")] == ["Bearer t0", "Bearer t1"]
    assert server.sessions == set()


@pytest.mark.parametrize("refusals", [1, 2])
@across
async def test_a_subscription(at, server, refusals):
    tokens = Tokens()
    server.once("subscriptions/listen", *[lambda e: e.respond(401, b"", INVALID)] * refusals)
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens))
    outcome = await at.outcome(client.listen({"toolsListChanged": True}))
    if refusals == 2:
        unauthorized(outcome, 401)
    else:
        assert outcome.accepted == {"toolsListChanged": True}
        await at.get(outcome.close())
    assert len(server.received("subscriptions/listen")) == 2
    await at.get(client.close())


@across
async def test_an_answer_of_ours(at, server):
    """What the server asked is answered again with the fresh token; the handler runs once."""
    ran, tokens = [], Tokens()

    def bug(exchange):
        exchange.stream()
        form = {"mode": "form", "message": "?", "requestedSchema": {"type": "object"}}
        exchange.event({**note("elicitation/create", **form), "id": "q"})
        exchange.wait("answered")
        exchange.event(result(exchange.request["id"], text("own")))

    def taken(exchange):
        exchange.respond(202, kind="")
        server.open("answered")

    def form(params):
        ran.append(params)
        return {"action": "decline"}

    server.on("tool bug", bug)
    server.on("reply", taken)
    server.once("reply", lambda e: e.respond(401, b"", INVALID))
    client = await at.get(server.connect(token_provider=tokens, input_handlers={"form": form}))
    with took(below=2):
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
    replies = [request for request in server.requests if request.is_reply]
    assert [token_of(one) for one in replies] == ["Bearer t0", "Bearer t1"]
    assert len(ran) == 1
    await at.get(client.close())


@across
async def test_every_message_asks_for_the_token(at, serve):
    server, tokens = serve(sessions=True), Tokens()
    client = await at.get(server.connect(token_provider=tokens))
    await echoes(at, client)
    tokens.number = 7
    await echoes(at, client)
    await at.get(client.close())
    seen = [token_of(request) for request in server.requests]
    assert seen == ["Bearer t0"] * 3 + ["Bearer t7"] * 2
    assert tokens.refreshed == []


# ---- many at a time


@everywhere
async def test_many_refused_calls_refresh_once(at, server):
    tokens = Tokens()

    def bug(exchange):
        if token_of(exchange.request) == "Bearer t0":
            server.gate("all").waiting += 1
            exchange.respond(401, b"", INVALID)
        else:
            exchange.respond(200, encode(result(exchange.request["id"], text("own"))))

    class Slow(Tokens):
        async def refresh(self, challenge, request):
            await anyio.sleep(0.1)
            return super().refresh(challenge, request)

    tokens = Slow()
    server.on("tool bug", bug)
    client = await at.get(server.connect(protocol=MODERN, token_provider=tokens, pool_size=20))
    with took(below=2):
        calls = [client.call_tool("bug") for _ in range(20)]
        for answer in await at.all(*calls):
            assert text_of(answer) == "own"
    assert len(tokens.refreshed) == 1
    assert len(server.received("tool bug")) <= 40
    await at.get(client.close())


@pytest.mark.parametrize("protocol", [MODERN, LEGACY])
@across
async def test_a_storm_of_refusals_ends(at, server, protocol):
    """Two requests for a call, whatever comes; none in the background."""
    server.on("tool bug", lambda e: e.respond(401, b"", INVALID))
    tokens = Tokens()
    client = await at.get(server.connect(protocol=protocol, token_provider=tokens, pool_size=4))
    with took(below=3):
        for failed in await at.all(*(client.call_tool("bug") for _ in range(40))):
            unauthorized(failed, 401)
    assert len(server.received("tool bug")) <= 80
    count = len(server.requests)
    await at.sleep(0.2)
    assert len(server.requests) == count
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_who_gives_up_during_a_refresh_leaves_the_pool_whole(at, server):
    class Stuck(Tokens):
        async def refresh(self, challenge, request):
            server.gate("refreshing").waiting += 1
            await anyio.sleep(0.3)
            return super().refresh(challenge, request)

    server.once("tool bug", lambda e: e.respond(401, b"", INVALID))
    client = await at.get(server.connect(protocol=MODERN, token_provider=Stuck(), pool_size=1))
    call = client.call_tool("bug")
    await at.until(lambda: server.waiting("refreshing") or server.received("tool bug"))
    await at.give_up(call)
    with took(below=1):
        await echoes(at, client)
    await at.get(client.close())
