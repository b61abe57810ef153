"""The line of most requests is put together of parts, and is the same as one made at once."""

from __future__ import annotations

import pytest

from snodo_actors.actors.request import Profile, Request
from snodo_actors.machines.deadline import Timeouts
from snodo_actors.wire import codec, jsonrpc
from snodo_actors.wire.meta import build_params, version_meta
from snodo_actors.words.client_options import ClientOptions
from supervisors import default_node

META = version_meta("2026-07-28", {"roots": {"listChanged": False}}, {"name": "é", "version": "1"})
MODERN = Profile("2026-07-28", None, META, {})
OLD = Profile("2025-11-25", None, {}, {})


@pytest.mark.parametrize("profile", [MODERN, OLD], ids=["meta", "no meta"])
@pytest.mark.parametrize("method", ["tools/call", "ping", 'odd "method" é \\'])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": "x", "arguments": {}},
        {"name": "é漢😀\u2028", "arguments": {"a": [None, 1.5, {"b": "}}"}]}},
        {"_meta": {}},
        {"_meta": {"own": 1}, "a": 1},
    ],
    ids=str,
)
def test_a_line(profile, method, params) -> None:
    request = Request(default_node(), "x", method, params, Timeouts(1.0))
    whole = jsonrpc.request(request.id, method, build_params(params, profile.meta))

    line = profile.line(request.id, method, params) if "_meta" not in params else None
    if request.prepare(profile) is None:  # else the version knows no such method
        assert codec.encode_ascii(whole) + b"\n" == request.line
    if line is not None:
        assert codec.encode_ascii(whole) + b"\n" == line


def test_what_has_no_form_in_json_is_refused() -> None:
    for params in ({"a": float("nan")}, {"a": object()}, {"a": "\ud800"}):
        request = Request(default_node(), "x", "tools/call", params, Timeouts(1.0))
        with pytest.raises((TypeError, ValueError)):
            request.prepare(MODERN)


def test_the_options_of_a_client_are_in_it() -> None:
    options = ClientOptions(client_info={"name": "n", "version": "v"})
    meta = version_meta("2026-07-28", options.capabilities, options.client_info)
    profile = Profile("2026-07-28", None, meta, options.capabilities)

    assert codec.decode(profile.line(1, "ping", {}))["params"] == {"_meta": meta}
