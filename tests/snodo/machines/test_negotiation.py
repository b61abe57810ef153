from __future__ import annotations

import pytest

from snodo_actors.machines.negotiation import (
    Discover,
    Failed,
    Initialize,
    Negotiation,
    NotifyInitialized,
    Reopen,
    Settled,
    session_id,
)
from snodo_actors.words.errors import RequestTimeout, ServerError, TransportError
from snodo_actors.words.types import InputRequired, Session
from snodo_actors.words.versions import VERSIONS

NEW, MID, OLD = VERSIONS
INFO = {"name": "test", "version": "1"}
CAPABILITIES = {"roots": {}}
GONE = TransportError(-32000, "gone")


def negotiation(*allowed, can_notify=True):
    return Negotiation(
        allowed or VERSIONS, capabilities=CAPABILITIES, client_info=INFO, can_notify=can_notify
    )


def initialize_with(version):
    return Initialize(
        {"protocolVersion": version, "capabilities": CAPABILITIES, "clientInfo": INFO}
    )


def discovered(*versions):
    return {"supportedVersions": list(versions), "capabilities": {}}


def unsupported(*versions):
    return ServerError(-32022, "unsupported", data={"supported": list(versions), "requested": NEW})


def failure(deed):
    assert isinstance(deed, Failed)
    return deed.error.code, deed.error.kind, deed.error.data, deed.error.cause


# Begin

STARTS = [
    ("both eras: probe", VERSIONS, Discover()),
    ("the order of the list does not matter", (OLD, NEW, OLD), Discover()),
    ("a stateless pin sends nothing", (NEW,), Settled(NEW, None)),
    ("an initialize-era pin initializes at once", (OLD,), initialize_with(OLD)),
    ("the newest of one era is asked for", (OLD, MID), initialize_with(MID)),
]


@pytest.mark.parametrize(
    ("allowed", "expected"), [row[1:] for row in STARTS], ids=[row[0] for row in STARTS]
)
def test_start(allowed, expected):
    assert expected == negotiation(*allowed).start()


# The probe

PROBES = [
    ("the newest in common", VERSIONS, discovered(OLD, NEW, "2099-01-01"), Settled(NEW, None)),
    ("an older one on the same connection", VERSIONS, discovered(MID, OLD), initialize_with(MID)),
    ("the oldest", VERSIONS, discovered(OLD), initialize_with(OLD)),
    ("odd entries are passed over", VERSIONS, discovered(5, None, [], NEW), Settled(NEW, None)),
    ("a refusal with a list is modern", VERSIONS, unsupported(NEW), Settled(NEW, None)),
    ("and leads to initialize only by it", VERSIONS, unsupported(OLD), initialize_with(OLD)),
    ("an empty result is none", VERSIONS, {}, Reopen()),
    ("a list that is none", VERSIONS, {"supportedVersions": "2026-07-28"}, Reopen()),
    ("a refusal without data", VERSIONS, ServerError(-32022, "no"), Reopen()),
    ("a refusal without a list", VERSIONS, ServerError(-32022, "no", data={}), Reopen()),
    (
        "another code with a list",
        VERSIONS,
        ServerError(-32602, "no", data=discovered(NEW)),
        Reopen(),
    ),
    ("an unknown method", VERSIONS, ServerError(-32601, "no"), Reopen()),
    ("a wish for input", VERSIONS, InputRequired({"resultType": "input_required"}), Reopen()),
    ("silence", VERSIONS, RequestTimeout(-32001, "slow"), Reopen()),
    ("an exit", VERSIONS, GONE, Reopen()),
]


@pytest.mark.parametrize(
    ("allowed", "outcome", "expected"), [row[1:] for row in PROBES], ids=[row[0] for row in PROBES]
)
def test_probe(allowed, outcome, expected):
    it = negotiation(*allowed)
    it.start()
    assert expected == it.discovered(outcome)


@pytest.mark.parametrize("answer", [discovered, unsupported])
@pytest.mark.parametrize("listed", [("2099-01-01",), (), (OLD,)])
def test_a_modern_server_without_a_common_version_is_the_end(answer, listed):
    it = negotiation(NEW, MID)
    it.start()
    data = {"requested": [NEW, MID], "supported": list(listed)}
    assert (-32602, "protocol", data, None) == failure(it.discovered(answer(*listed)))


def test_a_fresh_connection_begins_with_every_older_version_or_ends_with_its_error():
    it = negotiation()
    it.start()
    it.discovered({})
    assert (initialize_with(MID), Failed(GONE)) == (it.reopened(), it.reopened(GONE))


# In-process servers

DIRECT = [
    ((NEW, MID, OLD), (OLD, NEW), Settled(NEW, None)),
    ((MID, OLD), (NEW, OLD), initialize_with(OLD)),
    ((NEW, MID, OLD), (MID,), initialize_with(MID)),
]


@pytest.mark.parametrize(("allowed", "enabled", "expected"), DIRECT)
def test_direct_picks_the_newest_that_is_enabled(allowed, enabled, expected):
    assert expected == negotiation(*allowed).start_direct(enabled)


def test_direct_without_a_common_version():
    data = {"requested": [NEW], "enabled": [MID]}
    assert (-32602, "protocol", data, None) == failure(negotiation(NEW).start_direct([MID]))


# The handshake


def asked_for(*allowed):
    it = negotiation(*allowed)
    it.start()
    return it


RESULT = {
    "protocolVersion": MID,
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s"},
    "instructions": "be kind",
}

SESSIONS = [
    (RESULT, "s1", Session(MID, "s1", {"name": "s"}, {"tools": {}}, "be kind")),
    ({"protocolVersion": OLD}, None, Session(OLD)),
    ({"protocolVersion": OLD}, "", Session(OLD)),
    (
        {"protocolVersion": OLD, "serverInfo": 1, "capabilities": [], "instructions": {}},
        None,
        Session(OLD),
    ),
]


@pytest.mark.parametrize(("result", "id", "session"), SESSIONS)
def test_an_allowed_version_makes_a_session(result, id, session):
    it = asked_for(MID, OLD)
    assert NotifyInitialized(session) == it.initialized(result, id)
    assert Settled(session.version, session) == it.notified(session)
    assert Failed(GONE, session) == it.notified(session, GONE)


MALFORMED = [{}, {"protocolVersion": None}, {"protocolVersion": 5}]


@pytest.mark.parametrize("result", MALFORMED)
def test_a_result_without_a_version_is_malformed(result):
    assert (-32000, "transport", None, result) == failure(asked_for(MID).initialized(result))


def test_a_wish_for_input_is_malformed():
    result = {"resultType": "input_required"}
    outcome = InputRequired(result)
    assert (-32000, "transport", None, result) == failure(asked_for(MID).initialized(outcome))


def test_an_error_is_passed_on_as_it_is():
    error = ServerError(-32602, "no", data={"supported": [NEW]})
    assert Failed(error) == asked_for(MID).initialized(error)


@pytest.mark.parametrize(
    ("allowed", "answered", "requested"),
    [
        ((MID, OLD), "2024-11-05", MID),
        ((MID, OLD), "", MID),
        ((MID,), OLD, MID),
        ((OLD,), MID, OLD),
        ((MID,), NEW, MID),
    ],
)
def test_another_version_is_refused_and_no_session_is_left_to_end(allowed, answered, requested):
    deed = asked_for(*allowed).initialized({"protocolVersion": answered}, "s1")
    data = {"negotiated": answered, "requested": requested}
    assert (-32602, "protocol", data, None) == failure(deed)
    assert deed.session is None


def test_after_a_probe_only_what_the_server_listed_and_what_is_older_is_accepted():
    it = negotiation()
    it.start()
    it.discovered(discovered(OLD))
    assert failure(it.initialized({"protocolVersion": MID}))[0] == -32602
    assert isinstance(it.initialized({"protocolVersion": OLD}), NotifyInitialized)


def test_a_transport_that_cannot_notify_is_told_before_anything_is_sent():
    for allowed in ((MID,), (MID, OLD)):
        deed = negotiation(*allowed, can_notify=False).start()
        assert (-32602, "protocol", {"requested": list(allowed)}, None) == failure(deed)
        assert deed.error.delivery == "never_sent"
    it = negotiation(can_notify=False)
    assert Discover() == it.start()
    assert {"requested": list(VERSIONS)} == failure(it.discovered(discovered(OLD)))[2]
    assert Settled(NEW, None) == it.discovered(discovered(NEW))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], None),
        ([("content-type", "application/json")], None),
        ([("mcp-session-id", "")], None),
        ([("mcp-session-id", ""), ("MCP-Session-Id", "b"), ("mcp-session-id", "c")], "b"),
    ],
)
def test_session_id_is_the_first_that_says_something(headers, expected):
    assert expected == session_id(headers)
