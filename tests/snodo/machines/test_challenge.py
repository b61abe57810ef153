from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snodo_actors.machines.challenge import parse_challenges, select_challenge
from snodo_actors.words.types import Challenge

# a header value, its challenges
HEADERS = [
    ("", []),
    (" , ,", []),
    ("Bearer", [("bearer", {})]),
    ('Bearer realm="x"', [("bearer", {"realm": "x"})]),
    (
        '\tBEARER  Realm = "x" ,\tError=invalid_token ',
        [("bearer", {"realm": "x", "error": "invalid_token"})],
    ),
    ('Bearer realm="a" scope="b"', [("bearer", {"realm": "a", "scope": "b"})]),
    ('Bearer scope="a", scope="b"', [("bearer", {"scope": "a"})]),
    ('Bearer scope=""', [("bearer", {"scope": ""})]),
    (r'Bearer realm="a \"b\" \\c"', [("bearer", {"realm": r'a "b" \c'})]),
    ('Bearer realm="a\tb, c=d"', [("bearer", {"realm": "a\tb, c=d"})]),
    ('Bearer realm="é"', [("bearer", {"realm": "é"})]),
    # several
    ("Negotiate, Basic", [("negotiate", {}), ("basic", {})]),
    ('Basic realm="a", Bearer error="b"', [("basic", {"realm": "a"}), ("bearer", {"error": "b"})]),
    ('Basic realm="a" Bearer error="b"', [("basic", {"realm": "a"}), ("bearer", {"error": "b"})]),
    # token68
    ("Negotiate abc/+.-_~", [("negotiate", {})]),
    ("Negotiate YWJj==", [("negotiate", {})]),
    ('Negotiate YWJj=, Bearer scope="a"', [("negotiate", {}), ("bearer", {"scope": "a"})]),
    ('Negotiate YWJj, Bearer scope="a"', [("negotiate", {}), ("bearer", {"scope": "a"})]),
    # only when it ends the challenge
    (
        'Negotiate abc Bearer scope="a"',
        [("negotiate", {}), ("abc", {}), ("bearer", {"scope": "a"})],
    ),
    # a breach of the grammar keeps what was read before it
    ('Bearer realm="a", scope=', [("bearer", {"realm": "a"})]),
    ('Bearer realm="a", scope=, error="b"', [("bearer", {"realm": "a"})]),
    ('Bearer realm="a" = error="b"', [("bearer", {"realm": "a"})]),
    ('Bearer realm="a" "b" error="c"', [("bearer", {"realm": "a"})]),
    ("Bearer scope=", [("bearer", {})]),
    ('Bearer "a", Basic', [("bearer", {})]),
    ("Bearer a==b, Basic", [("bearer", {})]),
    ('realm="a", Bearer', []),
    ("=", []),
    ('"Bearer"', []),
    # what cannot be lexed is nothing at all
    ("Bearer realm=http://example.test", []),
    ('Bearer realm="a', []),
    ('Bearer realm="a\\', []),
    ('Bearer realm="a\x07"', []),
    ('Bearer realm="a\\\n"', []),
    ("Bearer é", []),
    ("Bearer\nrealm=a", []),
    ("Bearer realm=a;", []),
    # not even a header value
    (None, []),
    (b"Bearer", []),
    # the limit
    ("Bearer " + "a" * 8185, [("bearer", {})]),
    ("Bearer " + "a" * 8186, []),
    ('Bearer realm="' + "é" * 4096 + '"', []),
    ('Bearer realm="\udc80"', [("bearer", {"realm": "\udc80"})]),
]


@pytest.mark.parametrize(
    ("header", "expected"), HEADERS, ids=[ascii(row[0])[:40] for row in HEADERS]
)
def test_parse(header, expected):
    assert [Challenge(*row) for row in expected] == parse_challenges(header)


@pytest.mark.parametrize(
    ("headers", "scheme", "params"),
    [
        (["Basic, Bearer a=1", "Bearer a=2"], "bearer", {"a": "1"}),
        (["Basic", "Bearer a=2"], "bearer", {"a": "2"}),
        (["?", "Basic a=1", "Digest"], "basic", {"a": "1"}),
    ],
)
def test_the_first_bearer_counts_else_the_first(headers, scheme, params):
    assert Challenge(scheme, params) == select_challenge(headers)


@pytest.mark.parametrize(
    ("expected", "headers"),
    [
        ("dpop", ["Basic, Bearer", "DPoP algs=ES256"]),
        ("bearer", ["Basic, Bearer"]),
        ("basic", ["Basic, Digest"]),
    ],
)
def test_another_scheme_may_count_more(expected, headers):
    challenge = select_challenge(headers, "dpop")
    assert challenge is not None
    assert challenge.scheme == expected


@pytest.mark.parametrize("headers", [[], [None], ["?", ""]])
def test_no_challenge(headers):
    assert select_challenge(headers) is None


def test_what_a_challenge_says():
    header = 'Bearer error="insufficient_scope", scope="a  b ", error_description="more"'
    challenge = select_challenge([header + ', resource_metadata="https://example.test/meta"'])
    assert challenge is not None
    assert (
        challenge.error,
        challenge.scope,
        challenge.resource_metadata,
        challenge.error_description,
    ) == ("insufficient_scope", ["a", "b"], "https://example.test/meta", "more")


LEXEMES = st.sampled_from(
    ["Bearer", "Basic", "realm", "a", "=", "==", ",", " ", '"q"', '"', "\\", "é", "\x00", "/"]
)


@settings(max_examples=200, deadline=None)
@given(header=st.lists(LEXEMES, max_size=12).map("".join) | st.text(max_size=60))
def test_nothing_raises_and_names_are_lower_case(header):
    for challenge in parse_challenges(header):
        assert challenge.scheme == challenge.scheme.lower()
        assert all(name == name.lower() for name in challenge.params)
