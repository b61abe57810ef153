"""Who an answer is from (RFC 9207): compared with the issuer that was recorded, as it is."""

from __future__ import annotations

import re

import pytest
from oauth.flows.ways import code, denied, on_both, on_one, works
from oauth.servers.kit import User

OTHER = "https://other.example"


@pytest.mark.parametrize(
    ("iss", "supported"),
    [("right", True), ("right", None), ("right", False), ("missing", None), ("missing", False)],
)
@on_one
async def test_answers_that_are_taken(at, protect, iss, supported):
    authority, resource = protect({"iss": iss, "iss_supported": supported})
    await works(at, resource, code(User()))
    assert len(authority.facts("token")) == 1


@pytest.mark.parametrize(
    ("iss", "supported"),
    [
        ("missing", True),
        (OTHER, True),
        (OTHER, None),
        (OTHER, False),
        ("", True),
        ("", None),
        ("{issuer}/", True),
        ("{issuer}/", None),
        ("{issuer}%2F", True),
        ("{issuer}#", True),
        (" {issuer}", True),
    ],
)
@on_one
async def test_answers_that_are_refused(at, protect, iss, supported):
    authority, resource = protect({"iss": iss, "iss_supported": supported})
    user = User()
    error = await denied(at, resource, code(user), "authorization")
    assert "iss" in str(error)
    assert len(authority.facts("metadata")) >= 1
    assert (len(user.visits), authority.facts("token")) == (1, [])


@pytest.mark.parametrize(
    ("said", "written", "is_taken"),
    [
        ("iss=http%3A", "iss=HTTP%3A", False),  # another case of the scheme
        ("%2Ftenant1", "%2FTenant1", False),  # ... of the path
        ("%2Ftenant1", "%2F%74enant1", True),  # the same once it is decoded
        ("%2Ftenant1", "%2F%2574enant1", False),  # the same only if it is decoded twice
        ("%2Ftenant1", "%2F.%2Ftenant1", False),
    ],
)
@on_one
async def test_an_issuer_is_decoded_once_and_not_normalized(at, protect, said, written, is_taken):
    authority, resource = protect({"issuer_path": "/tenant1"})

    def bend(back):
        assert back.count(said) == 1
        return back.replace(said, written)

    provider = code(User(bend=bend))
    if is_taken:
        await works(at, resource, provider)
    else:
        await denied(at, resource, provider, "authorization")
    assert len(authority.facts("token")) == is_taken


@on_both
async def test_nothing_of_an_error_by_somebody_else_is_shown(at, protect):
    authority, resource = protect({"consent": False, "denial": "evil_marker", "iss": OTHER})

    def bend(back):
        assert "error=evil_marker" in back
        return re.sub("error_description=[^&]*", "error_description=evil_words", back)

    error = await denied(at, resource, code(User(bend=bend)), "authorization")
    assert "iss" in str(error)
    assert (error.error, error.error_description) == (None, None)
    assert "evil" not in f"{error!s} {error!r} {error.cause!r} {error.data!r}"
    assert authority.facts("token") == []


@on_one
async def test_an_error_of_the_server_itself_is_shown(at, protect):
    _, resource = protect({"consent": False, "denial": "temporarily_unavailable"})
    error = await denied(at, resource, code(User()), "authorization")
    assert error.error == "temporarily_unavailable"
    assert "temporarily_unavailable" in str(error)


@on_one
async def test_the_issuer_that_counts_is_the_one_before_the_redirect(at, protect):
    authority, resource = protect()

    def meanwhile(back):
        resource.turn(authorities=[OTHER])
        authority.turn(issuer=OTHER)
        return back.partition("&iss=")[0] + "&iss=https%3A%2F%2Fother.example"

    await denied(at, resource, code(User(bend=meanwhile)), "authorization")
    assert authority.facts("token") == []
