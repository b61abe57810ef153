"""What holds for every answer, whatever the server sends."""

from __future__ import annotations

from itertools import chain, pairwise

from http_answers import RESULT, data, told
from hypothesis import given, settings
from hypothesis import strategies as st

from snodo_actors.machines import answer as says
from snodo_actors.machines.authorization import Guard, Tried
from snodo_actors.wire.http1 import End, Head, Malformed, ResponseReader, TooLarge, Truncated

LIMIT = 300
OUTCOMES = (says.Response, says.Accepted, says.Unauthenticated, says.SessionGone, says.Failed)

# JSON-RPC, or nearly so, as a body or as the data of events
MESSAGES = st.sampled_from(
    [
        RESULT,
        b'{"jsonrpc":"2.0","id":2,"result":{}}',
        b'{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":""}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}',
        b'{"jsonrpc":"2.0","id":1,"id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":7,"method":"ping"}',
        b'{"method":5}',
        b"[]",
        b"",
        b"\xef\xbb\xbf" + RESULT,
    ]
)
EVENTS = st.lists(
    st.just(data(RESULT))
    | MESSAGES.map(data)
    | MESSAGES.map(lambda text: b"event: x\rid: 5\r\ndata:" + text + b"\n")
    | st.sampled_from([b"\n", b"\r", b"retry: 7\n", b": hi\n\n", b"data: " + b"x" * 290])
    | st.binary(max_size=6),
    max_size=6,
).map(b"".join)
BODIES = EVENTS | MESSAGES | st.binary(max_size=400)
STREAM = b"content-type: text/event-stream"
FIELDS = st.just([STREAM]) | st.lists(
    st.sampled_from(
        [
            STREAM,
            b"content-type: application/json",
            b"content-encoding: gzip",
            b"content-encoding: identity",
            b"www-authenticate: Bearer error=insufficient_scope",
            b"www-authenticate: DPoP error=use_dpop_nonce",
            b"www-authenticate: \xff",
        ]
    ),
    max_size=3,
)
STATUSES = st.sampled_from([200, 200, 202, 204, 302, 400, 401, 403, 404, 500])
OPTIONS = st.fixed_dictionaries(
    {
        "id": st.sampled_from([1, 1, None]),
        "guard": st.sampled_from([None, Guard(), Guard("dpop", nonces=True, tells=True)]),
        "tried": st.builds(Tried, refreshed=st.booleans(), nonced=st.booleans()),
        **{name: st.booleans() for name in ("in_session", "by_event")},
    }
)


@st.composite
def responses(draw):
    """Write a response, whole or not, in one of the three framings."""
    status = draw(STATUSES)
    body = b"" if status == 204 else draw(BODIES)
    framing = draw(
        st.sampled_from([[], [b"content-length: %d" % len(body)], [b"transfer-encoding: chunked"]])
    )
    if framing and framing[0].startswith(b"transfer") and status != 204:
        body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
    sent = b"\r\n".join([b"HTTP/1.1 %d Because" % status, *draw(FIELDS), *framing, b"", body])
    return sent[: draw(st.integers(0, len(sent)))] if draw(st.booleans()) else sent


def pieces(draw, sent):
    cuts = draw(st.lists(st.integers(0, len(sent)), max_size=8))
    return [sent[a:b] for a, b in pairwise([0, *sorted(cuts), len(sent)])]


def hear(chunks, options):
    """Give what is said to each of *chunks*, and to the end."""
    reader, answer = ResponseReader(LIMIT), says.Answer(max_bytes=LIMIT, **options)
    said = [answer.take(reader.feed(chunk)) for chunk in chunks]
    return answer, [*said, answer.take(reader.finish())]


def check(answer, takes):
    said = [deed for deeds in takes for deed in deeds]
    kinds = [type(deed) for deed in said]
    assert says.Began not in kinds[1:]
    kinds = [kind for kind in kinds if kind is not says.Began]
    assert kinds.count(says.Over) + kinds.count(says.Interrupted) == 1
    assert sum(kind in OUTCOMES for kind in kinds) == (says.Interrupted not in kinds)
    if kinds[-1] is says.Over:
        assert says.Response in kinds  # of a stream; its end came later
    else:
        assert kinds[-1] is says.Interrupted or kinds[-2] is says.Over
    assert set(kinds[1:-2]) <= {says.Message, says.Response}
    assert answer.over
    # nothing after the end, whatever comes
    late = [Head(200, 1, ()), RESULT, data(RESULT), TooLarge(), Malformed(""), Truncated(True)]
    for item in [*late, End(reusable=True, framed=True)]:
        assert answer.take([item]) == []


@settings(max_examples=300)
@given(st.data(), OPTIONS, responses() | st.binary(max_size=60))
def test_one_outcome_whatever_bytes_come(draw, options, sent):
    check(*hear(pieces(draw.draw, sent), options))


@given(st.data(), OPTIONS, responses())
def test_how_the_bytes_are_cut_makes_no_difference(draw, options, sent):
    (_, once), (_, cut) = hear([sent], options), hear(pieces(draw.draw, sent), options)

    assert told(chain(*cut)) == told(chain(*once))


ENDS = st.sampled_from(
    [
        *(End(reusable, framed) for reusable in (False, True) for framed in (False, True)),
        Truncated(began=True),
        TooLarge(),
        Malformed(""),
    ]
)


@settings(max_examples=300)
@given(OPTIONS, STATUSES, FIELDS, st.lists(BODIES.filter(len), max_size=5), ENDS)
def test_one_outcome_whatever_a_connection_makes_of_them(options, status, fields, body, end):
    head = Head(status, 1, tuple(tuple(field.split(b": ", 1)) for field in fields))
    answer = says.Answer(max_bytes=LIMIT, **options)

    check(answer, [answer.take([item]) for item in [head, *body, end]])
