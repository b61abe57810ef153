from __future__ import annotations

import pytest
from http_answers import RESULT, hear, http, short, stream, told

from snodo_actors.machines.authorization import Guard, Tried
from snodo_actors.words.types import Challenge

BEARER = 'www-authenticate: Bearer error="invalid_token"'
SCOPE = 'www-authenticate: Bearer error="insufficient_scope"'
BASIC = "www-authenticate: Basic"
NONCE = 'www-authenticate: DPoP error="use_dpop_nonce"'
GUARDED = {"guard": Guard()}
REFRESHED = {"guard": Guard(), "tried": Tried(refreshed=True)}
PROVES = Guard("dpop", nonces=True, tells=True)
HEARD = ("response", {"jsonrpc": "2.0", "id": 1, "result": {}})


def unauthorized(status, error=None):
    challenge = None if error is None else Challenge("bearer", {"error": error})
    return ("failed", ("unauthorized", status, challenge))


# outcome of a JSON-RPC body, status, headers
FIRST = [
    (("unauthenticated", 401, None), 401, []),
    (("unauthenticated", 401, "bearer"), 401, [BEARER]),
    (("unauthenticated", 401, "basic"), 401, [BASIC]),
    (("unauthenticated", 401, "bearer"), 401, [BASIC, BEARER]),
    (("unauthenticated", 401, None), 401, ['www-authenticate: Bearer error="open']),
    (("unauthenticated", 401, "bearer"), 401, [BEARER, "content-encoding: gzip"]),
    (("unauthenticated", 403, "bearer"), 403, [SCOPE]),
    (HEARD, 403, []),
    (HEARD, 403, [BEARER]),
    (HEARD, 403, [BASIC]),
    (HEARD, 400, [SCOPE]),
    (HEARD, 404, [BEARER]),
    (HEARD, 200, [BEARER]),
    (HEARD, 407, [BEARER]),
]
SECOND = [
    (unauthorized(401), 401, []),
    (unauthorized(401, "invalid_token"), 401, [BEARER]),
    (unauthorized(403), 403, []),
    (unauthorized(403, "invalid_token"), 403, [BEARER]),
    (unauthorized(403, "insufficient_scope"), 403, [SCOPE]),
    (HEARD, 400, [SCOPE]),
    (HEARD, 404, [BEARER]),
    (HEARD, 200, [SCOPE]),
]


@pytest.mark.parametrize("in_session", [False, True])
@pytest.mark.parametrize(
    ("refreshed", "outcome", "status", "fields"),
    [*((False, *row) for row in FIRST), *((True, *row) for row in SECOND)],
)
def test_a_provider_s_token_is_refused_before_the_body_is_read(
    refreshed, outcome, status, fields, in_session
):
    if in_session and status == 404:
        outcome = "SessionGone"
    options = REFRESHED if refreshed else GUARDED
    options = {**options, "in_session": in_session}

    assert ["over, reusable", outcome] == told(hear(http(status, RESULT, *fields), **options))


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("field", [BEARER, SCOPE])
def test_without_a_provider_a_refusal_is_an_answer(status, field):
    assert told(hear(http(status, RESULT, field))) == ["over, reusable", HEARD]
    assert ["over, reusable", ("failed", ("http_status", status, b"no"))] == told(
        hear(http(status, b"no", field))
    )


# what wants no response is refused as what wants one
@pytest.mark.parametrize(
    ("outcome", "status", "options"),
    [
        (("unauthenticated", 401, "bearer"), 401, GUARDED),
        (("unauthenticated", 403, "bearer"), 403, GUARDED),
        (unauthorized(403, "insufficient_scope"), 403, REFRESHED),
        ("SessionGone", 404, {"in_session": True}),
        ("SessionGone", 404, {"in_session": True, **GUARDED}),
    ],
)
@pytest.mark.parametrize("id", [1, None])
def test_a_refusal_needs_no_body(outcome, status, options, id):
    whole = http(status, b"whatever", SCOPE)
    assert ["over, reusable", outcome] == told(hear(whole, id=id, **options))
    assert ["over", outcome] == told(hear(whole[:-1], id=id, closed=True, **options))
    # a stream may never end
    endless = stream(b": hi\n", framing="close", status=status)
    *_, said = hear(
        endless.replace(b"\r\n", b"\r\n" + SCOPE.encode() + b"\r\n", 1), id=id, **options
    )
    assert outcome == short(said)


@pytest.mark.parametrize(("status", "in_session"), [(404, False), (400, True), (410, True)])
def test_only_a_404_in_a_session_tells_of_the_session(status, in_session):
    sent = http(status, b"gone")

    assert ["over, reusable", ("failed", ("http_status", status, b"gone"))] == told(
        hear(sent, in_session=in_session)
    )


def test_a_404_in_a_session_is_that_whatever_the_body():
    for sent in (http(404, RESULT), http(404, b"", "content-encoding: br"), http(404)):
        assert told(hear(sent, in_session=True)) == ["over, reusable", "SessionGone"]


@pytest.mark.parametrize(
    ("outcome", "tried"),
    [
        (("same token", 401, "dpop"), Tried()),
        (("unauthenticated", 401, "dpop"), Tried(nonced=True)),
        (("same token", 401, "dpop"), Tried(refreshed=True)),
    ],
)
def test_a_nonce_is_worth_another_attempt(outcome, tried):
    said = hear(http(401, RESULT, BEARER, NONCE), guard=PROVES, tried=tried)

    assert told(said) == [("began", 401), "over, reusable", outcome]


def test_who_wants_to_hear_of_heads_hears_of_each_first():
    assert told(hear(http(200, RESULT), guard=PROVES)) == [
        ("began", 200),
        "over, reusable",
        HEARD,
    ]
    assert told(hear(stream(b": hi\n"), guard=PROVES))[:2] == [("began", 200), "Streaming"]
