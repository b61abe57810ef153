from __future__ import annotations

import contextlib
import gc
import json
import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snodo_actors.wire.codec import (
    DuplicateKey,
    MalformedJSON,
    decode,
    decode_own,
    encode,
    encode_ascii,
    encode_sorted,
    mentions,
)

NINES = "9" * 64


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ([], " [ ] \r\n\t"),
        ({"a": [1, 2.5, True, None, "x"]}, '{"a": [1, 2.5, true, null, "x"]}'),
        ("é🚀\u2028", '"é🚀\u2028"'),
        ("é🚀", '"\\u00e9\\uD83D\\ude80"'),
        ({"": {"": {}}}, '{"":{"":{}}}'),
        # 64 digits, whatever the sign
        (int(NINES), NINES),
        (-int(NINES), f"-{NINES}"),
        ({"a": [int(NINES)]}, f'{{"a":[{NINES}]}}'),
        ("9" * 100, '"' + "9" * 100 + '"'),
        ({"9" * 100: 1.5}, f'{{"{"9" * 100}":1.5}}'),
        (float("9" * 100), "9" * 100 + ".0"),
        (float("0." + "9" * 100), "0." + "9" * 100),
        (1e22, "1e22"),
        (0, "-0"),
        (2**64, str(2**64)),
        # the same key in different objects is no duplicate
        ([{"a": 1}, {"a": 1}], '[{"a":1}, {"a":1}]'),
        ({"a": {"a": {"a": 1}}}, '{"a": {"a": {"a": 1}}}'),
        ({"a:": ":b", ":": ":"}, '{"a:": ":b" , ":" : ":"}'),
        ({"a:": ":", "b": "::"}, '{"a\\u003a":"\\u003A","b":"\\u003a\\u003a"}'),
        ({"a": 1, "A": 1}, '{"a" : 1, "A" : 1}'),
        # a byte order mark before it
        ({"a": 1}, '\ufeff{"a":1}'),
    ],
)
def test_json(value, text) -> None:
    for data in (text.encode(), bytearray(text.encode())):
        decoded = decode(data)

        assert decoded == value
        assert type(decoded) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"nul",
        b"NaN",
        b"-NaN",
        b"[Infinity]",
        b"[-Infinity]",
        b"1e999",
        b"-1e999",
        b"[1e400]",
        b"01",
        b"+1",
        b"1.",
        b".5",
        b"0x10",
        b"'a'",
        b"{a:1}",
        b'{"a":1,}',
        b"[1,]",
        b"[1 2]",
        b'{"a":1} {}',
        b"{}x",
        b"{}\0",
        b'"\n"',
        b'"\\x"',
        b'"a',
        b"// comment\n1",
        # not UTF-8
        b'"\xff"',
        b'"\xc0\x80"',
        b'"\xed\xa0\x80"',
        b'"\xf4\x90\x80\x80"',
        b"\xff\xfe{\0}\0",
        b'"\xe2\x82',
        # half a character
        b'"\\ud800"',
        b'"\\ude00"',
        b'"\\ud800\\u0041"',
        b'"\\ude00\\ud800"',
        b'{"\\ud800":1}',
        # too long
        NINES.encode() + b"9",
        b"-1" + NINES.encode(),
        b'{"a":{"b":[1,' + NINES.encode() + b'0,"c"]}}',
        b'["' + b"9" * 100 + b'",' + b"9" * 65 + b"]",
        b"9" * 1_500_000,
        # too deep
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000,
        # more than one byte order mark
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
        b"\xef\xbb\xbf" * 10_000,
        b"\xef\xbb\xbf",
        b"\xef\xbb",
    ],
    ids=lambda text: repr(text[:30]),
)
def test_what_is_not_json_is_refused(text) -> None:
    with pytest.raises(MalformedJSON) as caught:
        decode(text)
    assert type(caught.value) is MalformedJSON
    assert str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"b":2,"a":3}',
        b'{"a": {"b": [{"c": 1, "c": 2}]}}',
        b'{"":1,"":1}',
        b'{"a":1,"\\u0061":2}',
        b'{"a:":1,"a:":"::::"}',
        b'{"a":1,"a":"\\u003a"}',
        b'{"a":"\\u003A","a":"\\u003a"}',
        b'{"a\\u003a":1,"a:":2}',
        b'{"a":"::","a":""}',
        b'[{"a":1,"a":1e2,"b":1.50}]',
        b'\xef\xbb\xbf{"a":1,"a":1}',
    ],
)
def test_a_key_twice_in_one_object_is_refused(text) -> None:
    with pytest.raises(DuplicateKey, match="twice in one object"):
        decode(text)


@pytest.mark.parametrize("depth", [0.2, 0.5, 0.9, 0.95, 0.97, 0.98, 0.99, 1])
def test_a_key_twice_deep_down_is_refused(depth) -> None:
    levels = int(depth * sys.getrecursionlimit())

    with pytest.raises(MalformedJSON):
        decode(b"[" * levels + b'{"a":1,"a":2}' + b"]" * levels)


def test_too_deep_for_the_slow_way_is_too_deep(monkeypatch) -> None:
    def loads(text, **options):
        raise RecursionError

    monkeypatch.setattr(json, "loads", loads)

    with pytest.raises(MalformedJSON, match="nested too deeply"):
        decode(b'{"a":1,"a":2}')


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**70), 10**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.sampled_from('a:"\\é🚀\n{},0')),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("ab:é\n"), inner),
    max_leaves=20,
)


def by_the_book(text: bytes):
    """Read *text* slowly, with the standard library."""

    def unique(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("duplicate")
        return dict(pairs)

    def integer(text):
        if len(text.lstrip("-")) > 64:
            raise ValueError("long")
        return int(text)

    def number(text):
        if math.isinf(float(text)):
            raise ValueError("large")
        return float(text)

    def refuse(text):
        raise ValueError(text)

    value = json.loads(
        text.decode(),
        object_pairs_hook=unique,
        parse_int=integer,
        parse_float=number,
        parse_constant=refuse,
    )
    json.dumps(value, ensure_ascii=False).encode()  # fails on half a character
    return value


def same(text: bytes) -> None:
    try:
        expected = by_the_book(text)
    except ValueError:
        with pytest.raises(MalformedJSON):
            decode(text)
    else:
        assert decode(text) == expected


@given(JSON, st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:")]), st.booleans())
def test_values_are_read_as_the_standard_library_does(value, separators, ascii) -> None:
    same(json.dumps(value, separators=separators, ensure_ascii=ascii).encode())


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *('{"a":1}', '"a":', '"b":', '"\\u003a"', '":"', '"a"', '"é"', '"\\ud800"'),
            *("{", "}", "[", "]", ",", ":", " ", "1", "1e5", "9" * 64, "true", "-"),
        ]
    )
).map("".join)


@given(FRAGMENTS)
def test_fragments_are_read_as_the_standard_library_does(text) -> None:
    same(text.encode())


OBJECTS = st.recursive(
    st.sampled_from(['":"', '"\\u003a"', "1", "[]", '"::"', "9" * 65, '"' + "9" * 65 + '"']),
    lambda inner: st.lists(
        st.tuples(st.sampled_from(["a", "b", ":", "\\u003a", "\\u0061"]), inner), max_size=3
    ).map(lambda pairs: "{" + ", ".join(f'"{key}":{value}' for key, value in pairs) + "}"),
    max_leaves=6,
)


@given(OBJECTS)
def test_keys_are_told_apart_as_the_standard_library_does(text) -> None:
    same(text.encode())


@given(st.binary())
def test_any_bytes_are_json_or_not(data) -> None:
    with contextlib.suppress(MalformedJSON):
        decode(data)


@given(JSON)
def test_what_is_written_is_read_again(value) -> None:
    def long(value) -> bool:
        match value:
            case dict():
                return any(map(long, value.values()))
            case list():
                return any(map(long, value))
            case _:
                return type(value) is int and abs(value) >= 10**64

    for text in (encode(value), encode_ascii(value)):
        assert b"\n" not in text
        assert json.loads(text) == value
        if not long(value):
            assert decode(text) == value
    assert encode_ascii(value).isascii()


@given(JSON)
def test_what_was_written_here_is_read_without_another_look(value) -> None:
    assert decode_own(encode(value)) == value
    assert decode_own(encode_sorted(value)) == value


def test_the_order_of_keys_can_be_made_the_same() -> None:
    message = {"b": [{"d": 1, "c": 2}], "a": {"f": None, "e": "é"}}
    assert encode_sorted(message) == '{"a":{"e":"é","f":null},"b":[{"c":2,"d":1}]}'.encode()
    assert encode_sorted({"a": {"e": "é", "f": None}, "b": [{"c": 2, "d": 1}]}) == encode_sorted(
        message
    )
    assert encode_sorted([1, True, 1.0, "1"]) == b'[1,true,1.0,"1"]'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a":[1,null,1.5,"x"]}', {"a": (1, None, 1.5, "x")}),
        (b'"\\u00e9"', "é"),
        (b'"\\ud83d\\ude80\\u2028a\\u00ff"', "🚀\u2028aÿ"),
        (b'{"\\u00e9\\u00e9":"\\n"}', {"éé": "\n"}),
        (b'"\x7f"', "\x7f"),
        (b'{"1":2}', {1: 2}),
    ],
)
def test_ascii(text, message) -> None:
    assert encode_ascii(message) == text


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError, math.nan),
        (ValueError, {"a": [None, math.inf]}),
        (ValueError, ({"a": (-math.inf,)},)),
        (ValueError, "\ud800"),
        (ValueError, {"\ud800": 1}),
        (TypeError, object()),
        (TypeError, {"a": {(1, 2): 3}}),
        (TypeError, lambda: None),
    ],
)
def test_what_json_cannot_say_is_refused(error, message) -> None:
    for write in (encode, encode_ascii, encode_sorted):
        with pytest.raises(error):
            write(message)


def test_a_message_that_holds_itself_is_refused() -> None:
    circle: list = []
    circle.append(circle)

    with pytest.raises(ValueError, match="contain itself"):
        encode(circle)


# ---- large texts, whose colons are counted

LONG = "long: " * 20_000
LONGS = pytest.mark.parametrize("long", [LONG, "long. " * 20_000], ids=["colons", "none"])
LARGE = {
    "plain": '{"a":"%s"}',
    "with spaces": '{ "a" : "%s" ,\n"b:" : ["c:", {"d": "e:"}, 1, null] }',
    "with an escaped colon": '{"a":"%s","b\\u003a":"\\u003A"}',
    "with escapes": '{"a":"%s","b":"\\"c\\": \\\\","\\\\":0}',
    "of many values": '{"a":"%s","b":[' + "{}," * 2000 + "0]}",
    "of many keys": '{"a":"%s",' + ",".join(f'"{number}":1' for number in range(2000)) + "}",
}


@LONGS
@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_a_large_text(text, long) -> None:
    text %= long

    assert decode(text.encode()) == json.loads(text)


@LONGS
@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize(
    "twice", ['{"a":1,"a":1}', '{"a":1,"\\u0061":":"}', '{"a":":","a":"\\u003a"}', '{"":{},"":[]}']
)
def test_a_key_twice_in_a_large_text(text, twice, long) -> None:
    with pytest.raises(DuplicateKey):
        decode(f"[{text % long},{twice}]".encode())


@LONGS
def test_a_long_integer_in_a_large_text(long) -> None:
    with pytest.raises(MalformedJSON, match="more than 64 digits"):
        decode(f'{{"a":"{long}","b":{"9" * 65}}}'.encode())


@settings(max_examples=25)
@given(OBJECTS)
def test_keys_of_large_texts_are_told_apart_as_the_standard_library_does(text) -> None:
    same(f'["{LONG}",{text}]'.encode())
    same(f'["{LONG.replace(":", ".")}",{text}]'.encode())


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("text", [f'["{LONG}"]', f'["{LONG}'])
def test_the_collector_of_garbage_stays_as_it_is(enabled, text) -> None:
    try:
        if not enabled:
            gc.disable()
        with contextlib.suppress(MalformedJSON):
            decode(text.encode())
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_what_a_value_mentions() -> None:
    assert mentions([{"a": "b"}], b'"a"')
    assert not mentions([{"a": "b"}], b'"c"')
