"""Answers framed in every way that is not one line of UTF-8 JSON and a newline."""

from __future__ import annotations

import time

from kit import TOOLS, answer, encode, note, raw, result, serve, text, tool

CLEF = "é\u2028—\u2029漢\x85字\x0b\U0001f469\u200d\U0001f680\x7f\ufeff\u0000"


def ordinary(message):
    return encode(answer(message))


@tool
def returns_at_the_end(message):
    raw(ordinary(message) + b"\r\r\r\n")


@tool
def return_and_newline_apart(message):
    raw(ordinary(message) + b"\r")
    time.sleep(0.2)
    raw(b"\n")


@tool
def two_answers_with_a_return_between(message):
    raw(ordinary(message) + b"\r" + ordinary(message) + b"\r\n")


@tool
def nul_lines(message):
    raw(b"\0" * 300 + b"\n\0\r\n" + ordinary(message) + b"\n")


@tool
def every_line_marked(message):
    raw(b"\xef\xbb\xbf" + encode(note()) + b"\n\xef\xbb\xbf" + ordinary(message) + b"\r\n")


@tool
def characters_cut(message):
    line = encode(result(message["id"], text(CLEF * 3))) + b"\n"
    for at in range(len(line)):
        raw(line[at : at + 1])
        time.sleep(0.0005)


@tool
def one_and_a_half(message):
    """Two messages in one write, the second without its end, which comes later."""
    both = encode(note()) + b"\n" + ordinary(message) + b"\n"
    raw(both[:-7])
    time.sleep(0.2)
    raw(both[-7:])


@tool
def many_at_once(message):
    """The answer among a thousand notifications, all in one write."""
    notes = [encode(note(data=number)) for number in range(1000)]
    raw(b"\n".join([*notes[:500], ordinary(message), *notes[500:]]) + b"\n")


def noise(*lines):
    def answer_after_noise(message):
        for line in lines:
            raw(line + b"\n")
        raw(ordinary(message) + b"\n")

    return answer_after_noise


@tool
def blanks_around(message):
    raw(b" \t  " + ordinary(message) + b" \t \r\n\n\r\n")


@tool
def over_several_lines(message):
    raw(ordinary(message).replace(b",", b",\n  ") + b"\n")


@tool
def in_a_batch(message):
    raw(b"[" + ordinary(message) + b"]\n")


@tool
def not_utf8(message):
    raw(encode(result(message["id"], text("caf?"))).replace(b"?", b"\xe9") + b"\n")


@tool
def lone_surrogate(message):
    raw(encode(result(message["id"], text("?"))).replace(b"?", rb"\ud800") + b"\n")


@tool
def key_twice(message):
    raw(ordinary(message).replace(b'{"jsonrpc"', b'{"id":0,"jsonrpc"', 1) + b"\n")


@tool
def not_a_number(message):
    raw(encode(result(message["id"], {"content": [], "x": float("nan")})) + b"\n")


@tool
def something_after(message):
    raw(ordinary(message) + b" // done\n")


@tool
def no_newline_at_all(message):
    raw(ordinary(message))


NOISE = {
    "latin_noise": [b"d\xe9marrage\xff\xfe", b"\x80", b"\xc3", b"\xed\xa0\x80"],
    "deep_noise": [b"[" * 100_000, b'{"a":' * 50_000],
    "digits_noise": [b"1" * 1_500_000, b'{"id":' + b"9" * 100_000 + b"}"],
    "long_noise": [b"x" * 1_000_000, b'"' + b"y" * 1_000_000 + b'"'],
    "terminal_noise": [b"\x1b[31mfatal\x1b[0m", b"\r 10%\r 20%\r100%", b"\x0c\x0b"],
    "json_noise": [
        b"{}",
        b"[]",
        b'""',
        b"-0",
        b"true",
        b'{"id":null}',
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
        b'{"jsonrpc":"2.0","method":5}',
        b'{"method":"notifications/x","params":[1]}',
        b'{"method":"notifications/progress"}',
        b'{"id":{},"result":{}}',
        b'[{"jsonrpc":"2.0","id":1,"result":{}}]',
    ],
}
for name, lines in NOISE.items():
    TOOLS[name] = noise(*lines)

serve()
