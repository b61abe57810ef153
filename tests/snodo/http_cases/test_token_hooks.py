"""What a token provider may do beyond tokens: authorize each message, and hear of each answer."""

from __future__ import annotations

import logging

import pytest
from case_servers import LEGACY, MODERN, across, echoes, everywhere, lost, text_of, took
from http_outcomes import unauthorized
from http_server import note, result, text

import snodo_actors as snodo

CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
INVALID = [("WWW-Authenticate", 'DPoP error="invalid_token"')]
FORM = {"mode": "form", "message": "?", "requestedSchema": {"type": "object"}}


def wants_nonce(nonce):
    """Refuse a request for want of a nonce, and give one."""
    fields = [
        ("WWW-Authenticate", 'Bearer error="invalid_token"'),
        ("WWW-Authenticate", 'DPoP error="use_dpop_nonce"'),
        ("DPoP-Nonce", nonce),
    ]
    return lambda exchange: exchange.respond(401, b"", fields)


def refuses(exchange):
    exchange.respond(401, b"", INVALID)


class Prover:
    """Proves each message anew, with the nonce that came last."""

    scheme = "DPoP"

    def __init__(self):
        self.number = 0
        self.refreshed = []
        self.authorized = []
        self.told = []
        self.nonce = "none"

    def token(self, request):
        return f"t{self.number}"

    def refresh(self, challenge, request):
        self.refreshed.append(challenge)
        self.number += 1
        return f"t{self.number}"

    def authorize(self, token, request):
        self.authorized.append(request)
        proof = f"{len(self.authorized)} {request['method']} {self.nonce}"
        return [("Authorization", f"DPoP {token}"), ("DPoP", proof)]

    def answered(self, request, status, headers):
        self.told.append((request, status))
        self.nonce = headers.get("dpop-nonce", self.nonce)


def shown(requests):
    """The token and the nonce each request was sent with."""
    return [(one.first("authorization"), one.first("dpop").rpartition(" ")[2]) for one in requests]


def check_proofs(server, prover):
    """Each request was proved anew, as what it is."""
    proofs = [request.all("dpop") for request in server.requests]
    assert all(len(one) == 1 for one in proofs)
    assert len({one for (one,) in proofs}) == len(server.requests) == len(prover.authorized)
    for request, (proof,) in zip(server.requests, proofs, strict=True):
        assert request.all("authorization")[0].startswith("DPoP t")
        assert len(request.all("authorization")) == 1
        assert proof.split()[1] == request.method
    assert {request["url"] for request in prover.authorized} == {server.url}


def asks(exchange):
    """Ask for a form while a tool is called, and go on once there is an answer."""
    exchange.stream()
    exchange.event({**note("elicitation/create", **FORM), "id": "q"})
    exchange.wait("answered")
    exchange.event(result(exchange.request["id"], text("own")))
    exchange.end()


def takes(server, *refusals):
    """Take the answer to that, once the *refusals* are through."""
    left = list(refusals)

    def taken(exchange):
        if not exchange.request.is_reply:
            server.answer(exchange)
        elif left:
            left.pop(0)(exchange)
        else:
            exchange.respond(202, kind="")
            server.open("answered")

    server.on("reply", taken)


def declines(_params):
    return {"action": "decline"}


# ---- what goes out


@everywhere
async def test_every_message_of_a_session_is_authorized_anew(at, serve):
    server, prover = serve(sessions=True, get_stream=True), Prover()
    server.on("tool bug", asks)
    takes(server)
    client = await at.get(
        server.connect(token_provider=prover, server_stream=True, input_handlers={"form": declines})
    )
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await echoes(at, client)
    await at.get(client.close())
    kinds = {request.rpc or request.is_reply or request.method for request in server.requests}
    assert kinds == {
        *("initialize", "notifications/initialized", "GET", "tools/call", True, "DELETE")
    }
    check_proofs(server, prover)
    assert sorted(status for _, status in prover.told) == [200] * 4 + [202] * 2 + [204]
    assert all(request["url"] == server.url for request, _ in prover.told)


@across
async def test_a_subscription_is_authorized(at, server):
    prover = Prover()
    client = await at.get(server.connect(token_provider=prover, protocol=MODERN))
    stream = await at.get(client.listen({"toolsListChanged": True}))
    await at.get(stream.close())
    await at.get(client.close())
    assert [request.rpc for request in server.requests] == ["subscriptions/listen"]
    check_proofs(server, prover)


@across
async def test_what_a_server_is_told_of_its_own_is_authorized_too(at, server):
    prover = Prover()
    server.on("tool bug", lambda e: e.wait("never"))
    client = await at.get(server.connect(token_provider=prover))
    call = client.call_tool("bug")
    await at.until(lambda: server.waiting("never"))
    await at.give_up(call)
    await at.until(lambda: server.received("notifications/cancelled"))
    server.open("never")
    await at.get(client.close())
    check_proofs(server, prover)


@across
async def test_the_rest_of_an_answer_is_authorized_anew(at, serve):
    server, prover = serve(sessions=True), Prover()
    server.breaks_off(retry=10)
    client = await at.get(server.connect(token_provider=prover))
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    await at.get(client.close())
    assert len(server.received("GET")) == 1
    check_proofs(server, prover)


@across
async def test_a_standing_stream_is_opened_again_with_a_token_that_is_good_now(at, serve):
    server, prover = serve(sessions=True, get_stream=True), Prover()

    def once(exchange):
        exchange.stream()
        exchange.chunk(b"retry: 10\n\n")
        exchange.end()

    server.once("GET", once, once)
    client = await at.get(server.connect(token_provider=prover, server_stream=True))
    await at.until(lambda: len(server.received("GET")) == 2)
    prover.number = 7
    await at.until(lambda: server.streams)
    await at.get(client.close())
    first, *_, last = server.received("GET")
    assert (first.first("authorization"), last.first("authorization")) == ("DPoP t0", "DPoP t7")
    check_proofs(server, prover)


@across
async def test_without_a_token_there_is_nothing_to_prove(at, server):
    class Without(Prover):
        def token(self, request):
            return None

    prover = Without()
    client = await at.get(server.connect(token_provider=prover, protocol=MODERN))
    await echoes(at, client)
    server.once("tool bug", wants_nonce("n1"))
    assert await at.get(client.call_tool("bug"))
    assert prover.authorized[0]["method"] == "POST"
    assert len(prover.authorized) == len(prover.refreshed) == 1  # for the token it has now
    assert [request.first("dpop") for request in server.requests] == [None, None, "1 POST n1"]
    await at.get(client.close())


@across
async def test_who_only_hears_of_answers_sends_bearer_tokens(at, server):
    class Hearing:
        def __init__(self):
            self.told = []

        def token(self, request):
            return "t"

        def refresh(self, challenge, request):
            return "u"

        def answered(self, request, status, headers):
            self.told.append((request, status, headers["x-own"], headers["www-authenticate"]))

    hearing = Hearing()
    fields = [("X-Own", "a"), ("X-Own", "b"), *INVALID]
    server.once("tool bug", lambda e: e.respond(401, b"", fields))
    client = await at.get(
        server.connect(token_provider=hearing, protocol=MODERN, headers={"x-more": "1"})
    )
    server.on("tool bug", lambda e: e.json(result(e.request["id"], text("own")), 200, fields))
    assert text_of(await at.get(client.call_tool("bug"))) == "own"
    request = {"url": server.url, "method": "POST"}
    assert hearing.told == [
        (request, 401, "a, b", 'DPoP error="invalid_token"'),
        (request, 200, "a, b", 'DPoP error="invalid_token"'),
    ]
    assert [one.first("authorization") for one in server.requests] == ["Bearer t", "Bearer u"]
    await at.get(client.close())


# ---- nonces


@pytest.mark.parametrize(
    "what", ["initialize", "notifications/initialized", "GET", "tool bug", "reply", "DELETE"]
)
@across
async def test_a_nonce_that_a_server_wants_is_given(at, serve, what):
    server, prover = serve(sessions=True, get_stream=True), Prover()
    server.on("tool bug", lambda e: e.json(result(e.request["id"], text("own"))))
    if what == "reply":
        server.on("tool bug", asks)
        takes(server, wants_nonce("n1"))
    else:
        server.once(what, wants_nonce("n1"))
    with took(below=4):
        client = await at.get(
            server.connect(
                token_provider=prover, server_stream=True, input_handlers={"form": declines}
            )
        )
        assert text_of(await at.get(client.call_tool("bug"))) == "own"
        await at.until(lambda: server.streams)
        await at.get(client.close())
    name = what if what != "reply" else None
    wanted = [r for r in server.received(name) if name is not None or r.is_reply]
    assert shown(wanted) == [("DPoP t0", "none"), ("DPoP t0", "n1")]
    assert prover.refreshed == []
    assert server.sessions == set()
    check_proofs(server, prover)


@across
async def test_a_subscription_whose_server_wants_a_nonce(at, server):
    prover = Prover()
    server.once("subscriptions/listen", wants_nonce("n1"), refuses, wants_nonce("n2"))
    client = await at.get(server.connect(token_provider=prover, protocol=MODERN))
    stream = await at.get(client.listen({"toolsListChanged": True}))
    assert stream.accepted == {"toolsListChanged": True}
    await at.get(stream.close())
    await at.get(client.close())
    assert shown(server.requests) == [
        ("DPoP t0", "none"),
        ("DPoP t0", "n1"),
        ("DPoP t1", "n1"),
        ("DPoP t1", "n2"),
    ]
    assert len(prover.refreshed) == 1


@everywhere
async def test_a_nonce_and_a_refresh_in_one_call(at, server):
    prover = Prover()
    server.once("tool bug", wants_nonce("n1"), refuses)
    client = await at.get(server.connect(token_provider=prover, protocol=MODERN))
    assert await at.get(client.call_tool("bug", {"n": 1}))
    assert shown(server.requests) == [
        ("DPoP t0", "none"),
        ("DPoP t0", "n1"),
        ("DPoP t1", "n1"),
    ]
    (challenge,) = prover.refreshed
    assert (challenge.scheme, challenge.error) == ("dpop", "invalid_token")
    check_proofs(server, prover)
    await at.get(client.close())


@across
async def test_a_server_that_is_never_content_with_a_nonce(at, server):
    prover, nonces = Prover(), iter("abcdefgh")

    def bug(exchange):
        wants_nonce(next(nonces))(exchange)

    server.on("tool bug", bug)
    client = await at.get(server.connect(token_provider=prover, protocol=MODERN, pool_size=1))
    with took(below=2):
        challenge = unauthorized(await at.error(client.call_tool("bug")), 401)
    assert challenge.error == "use_dpop_nonce"
    assert shown(server.requests) == [
        ("DPoP t0", "none"),
        ("DPoP t0", "a"),
        ("DPoP t1", "b"),
        ("DPoP t1", "c"),
    ]
    assert len(prover.refreshed) == 1
    await at.sleep(0.2)
    assert len(server.requests) == 4
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_without_both_hooks_a_nonce_is_a_refresh(at, server):
    class Deaf(Prover):
        answered = None

    prover = Deaf()
    server.once("tool bug", wants_nonce("n1"))
    client = await at.get(server.connect(token_provider=prover, protocol=MODERN))
    assert await at.get(client.call_tool("bug", {"n": 1}))
    assert [challenge.error for challenge in prover.refreshed] == ["use_dpop_nonce"]
    await at.get(client.close())


# ---- hooks that fail


class Failing(Prover):
    """Fails from when it is told to."""

    def __init__(self, failure):
        super().__init__()
        self.failure = failure
        self.fails = False

    def token(self, request):
        return "s3cret"

    def authorize(self, token, request):
        return self.failure(token) if self.fails else super().authorize(token, request)


def raises(error):
    def failure(token):
        raise error(token)

    return failure


FAILURES = {
    "raises": (raises(lambda token: LookupError(f"cannot sign for {token}")), "LookupError"),
    "shows it in its repr": (raises(lambda token: KeyError(str(token))), "KeyError"),
    "None": (lambda token: None, "authorize"),
    "a text": (lambda token: token, "authorize"),
    "a line break": (lambda token: [("authorization", f"{token}\r\nx-evil: 1")], "authorize"),
    "a header of ours": (lambda token: [("content-length", token)], "authorize"),
    "bytes": (lambda token: [(b"authorization", token.encode())], "authorize"),
}


@pytest.mark.parametrize("name", FAILURES)
@across
async def test_an_authorize_that_fails(at, server, caplog, name):
    caplog.set_level(logging.DEBUG)
    failure, cause = FAILURES[name]
    prover = Failing(failure)
    client = await at.get(server.connect(token_provider=prover, protocol=MODERN, pool_size=1))
    prover.fails = True
    with took(below=2):
        for failed in await at.all(*(client.call_tool("echo") for _ in range(3))):
            lost(failed, ("token_provider", cause))
            assert failed.delivery == "never_sent"
            shown = f"{failed} {failed!r} {failed.__cause__!r} {failed.__context__!r}"
            assert "s3cret" not in shown
        failed = await at.error(client.listen({"toolsListChanged": True}))
        lost(failed, ("token_provider", cause))
        assert failed.delivery == "never_sent"
    assert server.requests == []
    prover.fails = False
    await echoes(at, client)
    await at.get(client.close())
    assert "s3cret" not in caplog.text


@across
async def test_an_authorize_that_fails_at_every_other_message(at, serve):
    """The end of a session, its standing stream, and the rest of an answer."""
    server = serve(sessions=True, get_stream=True)
    prover = Failing(raises(LookupError))

    def bug(exchange):
        exchange.stream()
        exchange.event(note(level="info", data="x"), id="e-7")
        prover.fails = True
        exchange.chunk(b"retry: 10\n\n")
        exchange.end()

    server.on("tool bug", bug)
    client = await at.get(server.connect(token_provider=prover, server_stream=True))
    stream = await at.until(lambda: server.streams)
    failed = await at.error(client.call_tool("bug"))
    lost(failed)
    assert failed.delivery == "unknown"  # its beginning was answered
    stream[0].chunk(b"retry: 10\n\n")
    stream[0].end()
    with took(below=2):
        await at.get(client.close())
    assert server.received("DELETE") == []
    assert len(server.received("GET")) == 1
    server.faults.clear()


@across
async def test_an_error_of_authorize_is_each_call_s_own(at, server):
    class Vault(snodo.TransportError):
        def __init__(self, vault):
            super().__init__(-32000, f"the vault {vault} is closed", cause="vault")
            self.vault = vault

    own = Vault("north")

    class Closed(Prover):
        def authorize(self, token, request):
            raise own

    client = await at.get(server.connect(token_provider=Closed(), protocol=MODERN))
    errors = await at.all(*(client.call_tool("echo") for _ in range(3)))
    for failed in errors:
        assert isinstance(failed, Vault)
        assert (failed.vault, failed.cause, failed.delivery) == ("north", "vault", "never_sent")
        assert "the vault north is closed" in str(failed)
    assert len({id(failed) for failed in [own, *errors]}) == 4
    assert own.who is None
    assert server.requests == []
    await at.get(client.close())


@across
async def test_an_answered_that_raises_harms_nobody(at, server, caplog):
    class Raising(Prover):
        def token(self, request):
            return "s3cret"

        def answered(self, request, status, headers):
            super().answered(request, status, headers)
            raise LookupError("s3cret")

    prover = Raising()
    client = await at.get(server.connect(token_provider=prover, protocol=MODERN))
    await echoes(at, client)
    stream = await at.get(client.listen({"toolsListChanged": True}))
    await at.get(stream.close())
    await at.get(client.close())
    logged = [one.getMessage() for one in caplog.records if one.name == "snodo_actors.http"]
    assert len(logged) == len(prover.told) == 2
    for line in logged:
        assert "answered() of the token provider raised LookupError" in line
        assert "test_token_hooks.py" in line  # where it was raised
        assert "s3cret" not in line


# ---- errors of token() and refresh()


@pytest.mark.parametrize("method", ["token", "refresh"])
@across
async def test_an_error_of_the_provider_is_each_call_s_own(at, server, method):
    class SignInError(snodo.TransportError):
        def __init__(self, step, message):
            super().__init__(-32000, message, kind="authorization", delivery="never_sent")
            self.step = step

    own = SignInError("user", "nobody came")

    def fails(self, *_args):
        raise own

    provider = type("Closed", (Prover,), {method: fails})()
    server.on("tool bug", refuses)
    client = await at.get(server.connect(token_provider=provider, protocol=MODERN, pool_size=8))
    errors = await at.all(*(client.call_tool("bug") for _ in range(8)))
    for failed in errors:
        assert isinstance(failed, SignInError)
        assert (failed.step, failed.kind, failed.code) == ("user", "authorization", -32000)
        assert "nobody came" in str(failed)
        assert "kind='authorization'" in repr(failed)
    assert len({id(failed) for failed in [own, *errors]}) == 9
    await at.get(client.close())


# ---- what is declared


@pytest.mark.parametrize("protocol", [MODERN, LEGACY, None])
@across
async def test_extensions_of_the_provider_are_declared(at, server, protocol):
    class Declaring(Prover):
        extensions = {"a.test/own": {"b": 1}, "a.test/theirs": {}}  # noqa: RUF012  # as users write

    options = {"client_capabilities": {"extensions": {"a.test/theirs": {"c": 2}}}}
    client = await at.get(server.connect(token_provider=Declaring(), protocol=protocol, **options))
    await echoes(at, client)
    await at.get(client.close())
    own = {"a.test/theirs": {"c": 2}}
    said = [
        request.params["capabilities"]["extensions"]
        if request.rpc == "initialize"
        else request.meta[CLIENT_CAPABILITIES]["extensions"]
        for request in server.requests
        if request.rpc in ("initialize", "server/discover")
        or (protocol != LEGACY and request.rpc == "tools/call")
    ]
    assert said == [own] if protocol == LEGACY else [{"a.test/own": {"b": 1}, **own}] * len(said)
    assert len(said) == (2 if protocol is None else 1)
