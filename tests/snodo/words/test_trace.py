from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo_actors.words.trace import (
    check_trace_context,
    has_tracestate_form,
    is_baggage,
    is_traceparent,
    is_tracestate,
)

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{PARENT}-01"


@pytest.mark.parametrize(
    ("valid", "value"),
    [
        (True, GOOD),
        (True, f"01-{TRACE}-{PARENT}-00"),
        (True, f"fe-{TRACE}-{PARENT}-ff-"),
        (True, f"01-{TRACE}-{PARENT}-00-what ever ~"),
        (True, f"01-{TRACE}-{PARENT}-00-" + "x" * 456),
        (False, f"01-{TRACE}-{PARENT}-00-" + "x" * 457),
        (False, f"01-{TRACE}-{PARENT}-00x"),
        (False, f"01-{TRACE}-{PARENT}-00-\x1f"),
        (False, f"01-{TRACE}-{PARENT}-00-é"),
        (False, f"01-{TRACE}-{PARENT}-00\n"),
        (False, f"{GOOD}-"),
        (False, f"{GOOD}-more"),
        (False, f"ff-{TRACE}-{PARENT}-01"),
        (False, f"00-{TRACE.upper()}-{PARENT}-01"),
        (False, f"00-{'0' * 32}-{PARENT}-01"),
        (False, f"00-{TRACE}-{'0' * 16}-01"),
        (False, f"00-{TRACE[:-1]}-{PARENT}-01"),
        (False, f"00-{TRACE}-{PARENT}-1"),
        (False, GOOD[:-1]),
        (False, ""),
    ],
)
def test_traceparent(valid, value) -> None:
    assert is_traceparent(value) is valid


@pytest.mark.parametrize(
    ("valid", "value"),
    [
        (True, ""),
        (True, "a=1"),
        (True, "a=1,b=2"),
        (True, " a=1\t,\t b=2 "),
        (True, "a=1,,b=2,"),
        (True, "vendor@tenant=x y"),
        (True, "0a_-*/@=~"),
        (True, "k" * 256 + "=1"),
        (True, "k=" + "v" * 256),
        (True, "," * 31),
        (True, "a= x"),
        (False, "," * 32),
        (False, "k" * 257 + "=1"),
        (False, "k=" + "v" * 257),
        (False, "k=" + "v" * 511),
        (False, "a=1,a=2"),
        (False, "a=1, a=2"),
        (False, "a"),
        (False, "a="),
        (False, "=1"),
        (False, "a=1=2"),
        (False, "A=1"),
        (False, "_a=1"),
        (False, "a =1"),
        (False, "a=\x7f"),
        (False, "a=é"),
        (False, "é=a"),
        (False, "a=1\n"),
        (False, "\ud800=a"),
    ],
)
def test_tracestate(valid, value) -> None:
    assert is_tracestate(value) is valid


@pytest.mark.parametrize(
    ("valid", "value"),
    [
        (True, ""),
        (True, "a=1,,b=2,"),
        (True, ",".join(f"k{n}=" + "v" * 256 for n in range(32))),
        (False, ",".join(f"k{n}=1" for n in range(33))),
        (False, "a"),
        (False, "a=1,a=2"),
        (False, "k=" + "v" * 257),
    ],
)
def test_a_tracestate_has_no_limit_but_that_of_members(valid, value) -> None:
    assert has_tracestate_form(value) is valid


@pytest.mark.parametrize(
    ("valid", "value"),
    [
        (True, "a=1"),
        (True, "a="),
        (True, "a=1,b=2"),
        (True, "a=1,a=2"),
        (True, " a \t=\t 1 , b = 2\t"),
        (True, "userId=Am%C3%A9lie,isProduction=false"),
        (True, "a=1;p"),
        (True, "a=1;p=2;q ; r = 3 "),
        (True, "a=1 ;p= ; q"),
        (True, "!#$%&'*+-.^_`|~0Az=!#:<=>[]~"),
        (True, "a=b=c"),
        (True, "a=" + "v" * 9000),
        (True, ",".join(["a=1"] * 180)),
        (False, ",".join(["a=1"] * 181)),
        (False, ""),
        (False, "a"),
        (False, "=1"),
        (False, "a=1,"),
        (False, "a=1,,b=2"),
        (False, "a=1;"),
        (False, "a=1;;p"),
        (False, "a=1;=2"),
        (False, "a;p=1"),
        (False, "a b=1"),
        (False, "a=b c"),
        (False, 'a="b"'),
        (False, "a=b\\c"),
        (False, "a(=1"),
        (False, "a=é"),
        (False, "a=\x7f"),
        (False, "a=1\n"),
        (False, "a= " + " " * 9000 + "x y"),
    ],
)
def test_baggage(valid, value) -> None:
    assert is_baggage(value) is valid


@given(st.text())
def test_any_text_is_valid_or_not(value) -> None:
    assert is_traceparent(value) in (True, False)
    assert is_tracestate(value) in (True, False)
    assert is_baggage(value) in (True, False)


def test_a_trace_context_is_taken_as_entries() -> None:
    given = {"traceparent": GOOD, "tracestate": "a=1"}

    assert check_trace_context(given) == given
    assert check_trace_context({"traceparent": GOOD}) == {"traceparent": GOOD}


@pytest.mark.parametrize(
    ("error", "text", "value"),
    [
        (TypeError, "must be a mapping", None),
        (TypeError, "must be a mapping", GOOD),
        (ValueError, "needs traceparent", {}),
        (ValueError, "needs traceparent", {"tracestate": "a=1"}),
        (ValueError, "nothing else", {"traceparent": GOOD, "baggage": "a=1"}),
        (TypeError, "traceparent must be a string", {"traceparent": None}),
        (TypeError, "tracestate must be a string", {"traceparent": GOOD, "tracestate": None}),
        (ValueError, "not a W3C traceparent", {"traceparent": "00"}),
        (ValueError, "not a W3C tracestate", {"traceparent": GOOD, "tracestate": "a"}),
    ],
)
def test_an_invalid_trace_context_is_refused(error, text, value) -> None:
    with pytest.raises(error, match=text):
        check_trace_context(value)
