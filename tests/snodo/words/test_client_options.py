from __future__ import annotations

import pytest

from snodo_actors.words.client_options import ClientOptions, allowed_versions
from snodo_actors.words.errors import ProtocolError
from snodo_actors.words.versions import VERSIONS

NEW, MIDDLE, OLD = VERSIONS


def answer(params) -> None: ...


@pytest.mark.parametrize(
    ("allowed", "protocol"),
    [
        ((NEW,), NEW),
        ((OLD,), [OLD]),
        (VERSIONS, [OLD, NEW, MIDDLE, OLD]),
        ((NEW, OLD), (OLD, NEW)),
        ((MIDDLE,), {MIDDLE}),
        (VERSIONS, iter(VERSIONS)),
    ],
)
def test_allowed_versions_are_newest_first(allowed, protocol) -> None:
    assert allowed_versions(protocol) == allowed


def test_all_versions_are_allowed_unless_said_otherwise() -> None:
    assert allowed_versions() == VERSIONS


@pytest.mark.parametrize(
    ("unknown", "protocol"),
    [("2024-11-05", "2024-11-05"), ("x", [NEW, "x", "y"]), ("", "")],
)
def test_an_unknown_version_is_an_error(unknown, protocol) -> None:
    error = allowed_versions(protocol)

    assert isinstance(error, ProtocolError)
    assert (error.code, error.data) == (
        -32602,
        {"requested": unknown, "supported": list(VERSIONS)},
    )


@pytest.mark.parametrize(
    ("error", "protocol"),
    [
        (ValueError, []),
        (ValueError, ()),
        (TypeError, None),
        (TypeError, 20260728),
        (TypeError, [NEW, 5]),
        (TypeError, [None]),
        (TypeError, NEW.encode()),
        (TypeError, {NEW: 1}),
    ],
)
def test_what_names_no_version_is_refused(error, protocol) -> None:
    with pytest.raises(error, match=r'protocol must .*: write protocol="2026-07-28"'):
        allowed_versions(protocol)


def test_defaults() -> None:
    options = ClientOptions()

    assert options.client_capabilities == options.capabilities == {}
    assert options.client_info == {"name": "snodo", "version": "0.1.0"}
    assert options.input_handlers == {}
    assert (options.max_input_rounds, options.max_pages, options.cache) == (10, 1000, False)
    assert (options.timeout, options.probe_timeout, options.auth) == (30.0, 10.0, None)


def test_handlers_add_to_the_capabilities() -> None:
    options = ClientOptions(
        input_handlers={"form": answer, "url": print, "sampling": answer, "roots": answer},
        client_capabilities={"sampling": {"tools": {}}, "extensions": {}},
    )

    assert options.capabilities == {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}},
        "roots": {"listChanged": False},
        "extensions": {},
    }
    assert options.client_capabilities == {"sampling": {"tools": {}}, "extensions": {}}


@pytest.mark.parametrize(
    "info",
    [
        {"name": "a", "version": ""},
        {"name": "a", "version": "1", "title": 5, "icons": None},  # the optional ones go unchecked
    ],
)
def test_client_info_has_a_name_and_a_version(info) -> None:
    assert ClientOptions(client_info=info).client_info == info


@pytest.mark.parametrize(
    ("error", "text", "options"),
    [
        (TypeError, "client_capabilities must be a mapping", {"client_capabilities": None}),
        (TypeError, "client_capabilities must have strings", {"client_capabilities": {1: {}}}),
        (TypeError, "client_info must be a mapping", {"client_info": "me"}),
        (ValueError, "client_info needs a name and", {"client_info": {"name": "a"}}),
        (ValueError, "client_info needs a name and", {"client_info": {"version": "1"}}),
        (ValueError, "not empty", {"client_info": {"name": "", "version": "1"}}),
        (TypeError, "'name'", {"client_info": {"name": 5, "version": "1"}}),
        (TypeError, "'version'", {"client_info": {"name": "a", "version": 1}}),
        (TypeError, "strings", {"client_info": {"name": "a", "version": "1", 3: 4}}),
        (TypeError, "input_handlers must be a mapping", {"input_handlers": [("form", answer)]}),
        (ValueError, "no kind 'forms'", {"input_handlers": {"forms": answer}}),
        (TypeError, "the form handler must be", {"input_handlers": {"form": lambda: None}}),
        (TypeError, "the roots handler must be", {"input_handlers": {"roots": {"roots": []}}}),
        (ValueError, "max_input_rounds", {"max_input_rounds": 0}),
        (TypeError, "max_pages", {"max_pages": "5"}),
        (TypeError, "cache", {"cache": 1}),
        (ValueError, "timeout", {"timeout": 0}),
        (TypeError, "timeout", {"timeout": "infinity"}),
        (ValueError, "probe_timeout", {"probe_timeout": float("nan")}),
        (
            TypeError,
            "must be an object",
            {"client_capabilities": {"roots": True}, "input_handlers": {"roots": answer}},
        ),
        (TypeError, "unexpected keyword argument 'timeouts'", {"timeouts": 5}),
    ],
)
def test_a_wrong_option_is_refused(error, text, options) -> None:
    with pytest.raises(error, match=text):
        ClientOptions(**options)


def test_no_limit_is_none() -> None:
    options = ClientOptions(timeout=None, probe_timeout=float("inf"), auth="user")

    assert (options.timeout, options.probe_timeout, options.auth) == (None, None, "user")
