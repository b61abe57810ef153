from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo_actors.words.meta_entries import meta_entries

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("valid", "key"),
    [
        # a name alone
        (True, "progressToken"),
        (True, "a"),
        (True, "7"),
        (True, "a-b_c.d"),
        (True, "a--b"),
        (True, "mcp"),
        (True, ""),
        (False, "-a"),
        (False, "a."),
        (False, "_a"),
        (False, "a_"),
        (False, "a b"),
        (False, "a:b"),
        (False, "é"),
        (False, "a\n"),
        # with a prefix
        (True, "com.example/name"),
        (True, "example/name"),
        (True, "com.example/"),
        (True, "a/1"),
        (True, "a1.b-2.c--d/e"),
        (True, "A.B/C"),
        (False, "/name"),
        (False, "com.example//name"),
        (False, "a/b/c"),
        (False, "1com.example/name"),
        (False, "com.1example/name"),
        (False, "com.example-/name"),
        (False, "com.-example/name"),
        (False, "com..example/name"),
        (False, ".com/name"),
        (False, "com./name"),
        (False, "com_example/name"),
        (False, "com.example/-name"),
        (False, "com.example/name."),
        (False, "é.example/name"),
        (False, "com.example/name\n"),
        # reserved ones are for who names them to know
        (True, "io.modelcontextprotocol/protocolVersion"),
        (True, "io.modelcontextprotocol/related-task"),
        (True, "dev.mcp/x"),
        (True, "com.example.mcp/x"),
    ],
)
def test_keys(valid, key) -> None:
    if valid:
        assert meta_entries("meta", {"a": 1, key: None}) == {"a": 1, key: None}
    else:
        with pytest.raises(ValueError, match=r'write meta={"com\.example/name": '):
            meta_entries("meta", {"a": 1, key: None})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("traceparent", f"00-{TRACE}-{PARENT}-01"),
        ("traceparent", f"01-{TRACE}-{PARENT}-00-more"),
        ("tracestate", ""),
        ("tracestate", "a=1,b=2"),
        ("tracestate", "k=" + "v" * 256 + ",l=" + "v" * 256),
        ("baggage", "a=1"),
        ("baggage", "a=1,b=2;p;q=3"),
    ],
)
def test_trace_fields(field, value) -> None:
    assert meta_entries("meta", {field: value}) == {field: value}


@pytest.mark.parametrize(
    ("error", "field", "value"),
    [
        (TypeError, "traceparent", None),
        (TypeError, "tracestate", 5),
        (TypeError, "baggage", {"a": 1}),
        (ValueError, "traceparent", ""),
        (ValueError, "traceparent", f"00-{TRACE}-{PARENT}-1"),
        (ValueError, "tracestate", "a"),
        (ValueError, "baggage", "a"),
        (ValueError, "baggage", ""),
    ],
)
def test_trace_fields_that_are_none(error, field, value) -> None:
    with pytest.raises(error, match=f'{field} in meta must be .*write "'):
        meta_entries("meta", {field: value})


def test_what_does_not_go_out_may_be_anything() -> None:
    given = {"traceparent": "mine", "tracestate": None, "a": 1}

    assert meta_entries("meta", given, {"traceparent", "tracestate"}) == given
    with pytest.raises(TypeError, match="tracestate in meta must be"):
        meta_entries("meta", given, {"traceparent": "other"})
    with pytest.raises(ValueError, match="meta must have keys"):
        meta_entries("meta", {"a b": 1}, {"a b"})


@pytest.mark.parametrize("value", [None, [], "x", {5: 1}])
def test_entries_are_a_mapping_with_strings_as_keys(value) -> None:
    with pytest.raises(TypeError, match="meta must"):
        meta_entries("meta", value)


def test_the_entries_are_the_client_s_own() -> None:
    given = {"a": []}

    taken = meta_entries("meta", given)

    assert taken == given
    assert taken is not given


@given(st.dictionaries(st.text(), st.text()))
def test_any_entries_are_taken_or_refused(value) -> None:
    try:
        assert meta_entries("meta", value) == value
    except ValueError as error:
        assert "meta" in str(error)  # noqa: PT017  # either is right, for any text
