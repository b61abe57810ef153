"""The code flow: what goes to the user, what to the token endpoint, what with every request."""

from __future__ import annotations

import base64
import hashlib
import re

import anyio
import pytest
from case_servers import LEGACY, MODERN
from oauth.flows.ways import adds, code, connect, denied, failure, on_both, on_one, untouched, works
from oauth.servers.kit import User

# ---- PKCE


@on_both
async def test_every_flow_proves_that_one_party_began_and_ended_it(at, authority, resource_of):
    user = User()
    for _ in range(2):
        await works(at, resource_of(authority), code(user))
    verifiers = [fact.form("code_verifier") for fact in authority.facts("token")]
    challenges = []
    for asked in authority.facts("authorize"):
        assert asked.query("code_challenge_method") == "S256"
        challenges.append(asked.query("code_challenge"))
    for verifier, challenge in zip(verifiers, challenges, strict=True):
        assert re.fullmatch(r"[A-Za-z0-9._~-]{43,128}", verifier)
        digest = hashlib.sha256(verifier.encode()).digest()
        assert challenge == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert len(set(verifiers)) == 2


@pytest.mark.parametrize("methods", [None, [], ["plain"], "S256", {"S256": True}], ids=str)
@on_one
async def test_a_server_that_does_not_say_it_has_s256_is_refused(at, protect, methods):
    authority, resource = protect({"challenge_methods": methods})
    user = User()
    error = await denied(at, resource, code(user), "discovery", "authorization")
    assert "S256" in str(error) or "PKCE" in str(error) or "code_challenge" in str(error)
    untouched(authority, user)


@on_both
async def test_s256_is_used_though_plain_is_there(at, protect):
    authority, resource = protect({"challenge_methods": ["plain", "S256"]})
    await works(at, resource, code(User()))
    [asked] = authority.facts("authorize")
    assert asked.query("code_challenge_method") == "S256"


# ---- the resource


@on_both
async def test_the_resource_is_named_in_every_request_for_a_token(at, protect):
    authority, resource = protect()
    client = await at.get(connect(resource, code(User())))
    await adds(at, client)
    authority.revoke()
    await adds(at, client)
    await at.get(client.close())
    [asked] = authority.facts("authorize")
    got, refreshed = authority.facts("token")
    assert asked.query("resource") == resource.url
    assert (got.form("resource"), refreshed.form("resource")) == (resource.url, resource.url)
    assert refreshed.form("grant_type") == "refresh_token"


@on_both
async def test_the_resource_is_canonical(at, protect):
    authority, resource = protect()
    await works(at, resource, code(User()), url=f"HTTP://127.0.0.1:{resource.port}/mcp")
    [asked] = authority.facts("authorize")
    assert asked.query("resource") == resource.url


# ---- the token on every request


@pytest.mark.parametrize("protocol", [LEGACY, MODERN, None])
@on_both
async def test_the_token_is_in_the_header_of_every_request(at, protect, protocol):
    authority, resource = protect()
    options = {} if protocol is None else {"protocol": protocol}
    standing = {"server_stream": True} if protocol == LEGACY else {}
    client = await at.get(connect(resource, code(User()), **options, **standing))
    for _ in range(3):
        await adds(at, client)
    if standing:
        await at.until(lambda: resource.facts(method="GET", status=200))
    await at.get(client.close())
    [token] = [given["access_token"] for given in authority.tokens()]
    refused, *others = resource.facts()
    assert refused.header("authorization") is None
    assert {fact.header("authorization") for fact in others} == {f"Bearer {token}"}
    assert {fact["query"] for fact in resource.facts()} == {""}
    if protocol == LEGACY:
        assert {"GET", "DELETE", "POST"} == {fact["method"] for fact in others}


# ---- state


@on_both
async def test_each_flow_has_a_state_that_cannot_be_guessed(at, authority, resource_of):
    user = User()
    for _ in range(2):
        await works(at, resource_of(authority), code(user))
    first, second = (user.asked(visit)["state"] for visit in (0, 1))
    assert first != second
    assert min(len(first), len(second)) >= 22  # 128 bits in base64


@pytest.mark.parametrize("state", ["missing", "another", ""])
@on_one
async def test_an_answer_to_another_question_is_refused(at, protect, state):
    authority, resource = protect({"state": state})
    user = User()
    error = await denied(at, resource, code(user), "authorization", "user")
    assert "state" in str(error)
    assert (len(user.visits), authority.facts("token")) == (1, [])


@on_both
async def test_answers_of_two_flows_that_change_places_are_refused(at, authority_of, resource_of):
    one, two = authority_of(), authority_of()
    users, answers, both = [User(), User()], {}, anyio.Event()

    def swapping(which):
        ordinary = users[which].visit

        async def visit(url):
            answers[which] = await ordinary(url)
            if len(answers) == 2:
                both.set()
            with anyio.fail_after(10):
                await both.wait()
            return answers[1 - which]

        users[which].visit = visit

    swapping(0)
    swapping(1)

    async def attempt(which, authority):
        provider = code(users[which])
        return await denied(at, resource_of(authority), provider, "authorization", "user")

    await at.together(lambda: attempt(0, one), lambda: attempt(1, two))
    assert (one.facts("token"), two.facts("token")) == ([], [])


# ---- what the user may answer


@on_both
async def test_a_user_who_says_no_is_not_asked_again(at, protect):
    authority, resource = protect({"consent": False})
    user = User()
    error = await denied(at, resource, code(user), "authorization")
    assert error.error == "access_denied"
    assert (len(user.visits), authority.facts("token")) == (1, [])


@pytest.mark.parametrize(
    "bend",
    [
        lambda back: re.sub(r"code=[^&]*&?", "", back),
        lambda back: re.sub(r"code=[^&]*", "code=", back),
        lambda back: back + "&code=another",
        lambda back: back + "&state=another",
        lambda back: back + "&iss=https%3A%2F%2Fother.example",
        lambda back: back.replace("?", "#"),
        lambda back: back.replace("/callback", "/other"),
        lambda back: back.replace("127.0.0.1", "other.example"),
        lambda back: "",
    ],
)
@on_one
async def test_a_redirect_that_is_none_of_ours_is_refused(at, protect, bend):
    authority, resource = protect()
    user = User(bend=bend)
    await denied(at, resource, code(user), "authorization", "user")
    assert (len(user.visits), authority.facts("token")) == (1, [])


@on_both
async def test_a_user_agent_that_raises_is_told(at, protect):
    authority, resource = protect()

    def closed(back):
        raise RuntimeError("the window was closed")

    error = await failure(at, resource, code(User(bend=closed)))
    assert (error.step, str(error.__cause__)) == ("user", "the window was closed")
    assert "RuntimeError" in str(error)
    assert "the window was closed" not in str(error)  # an address with a code might be in it
    assert error.delivery == "never_sent"
    assert authority.facts("token") == []


@on_both
async def test_a_user_who_never_comes_back_is_waited_for_only_so_long(at, protect):
    authority, resource = protect()
    user = User()
    user.visit = lambda url: anyio.sleep_forever()
    error = await denied(at, resource, code(user, user_timeout=0.3), "user", "authorization")
    assert "0.3" in str(error)
    assert authority.facts("token") == []
