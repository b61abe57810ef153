"""What comes of the probe and the handshake, whatever the server makes of them."""

from __future__ import annotations

import json
import sys

import pytest
from case_servers import PLACES, across, echoes, everywhere, lost, took

import snodo_actors as snodo

LEGACY = ["2025-11-25", "2025-06-18"]


@pytest.fixture
def fatal(server_of):
    return server_of("B-018")


@pytest.fixture
def old(server_of):
    return server_of("B-020")


@pytest.fixture
def server(server_of):
    return server_of("negotiation")


def starts(server):
    """What the first message to each process was."""
    return [fact["method"] for fact in server.facts("first")]


async def refused(at, server, future, *, within=4.0):
    """The connect fails, nothing of the server stays, and it was not told it is connected."""
    with took(below=within):
        error = await at.error(future)
    await at.until(lambda: not server.processes(), within=5)
    assert not server.received("notifications/initialized")
    return error


# ---- B-018


@pytest.mark.parametrize("at", [*PLACES], indirect=True)
@everywhere
async def test_a_server_that_dies_of_the_probe_is_started_again(at, fatal):
    with took(below=4):
        client = await at.get(fatal.connect(protocol=None))
    assert client.protocol == "2025-11-25"
    await echoes(at, client)
    await at.get(client.close())

    assert len(fatal.facts("start")) == 2
    one, other = [fact["pid"] for fact in fatal.facts("start")]
    assert [fact["method"] for fact in fatal.facts("recv", pid=one)] == ["server/discover"]
    assert [fact["method"] for fact in fatal.facts("recv", pid=other)] == [
        "initialize",
        "notifications/initialized",
        "tools/call",
    ]


@pytest.mark.parametrize("protocol", ["2025-11-25", "2025-06-18", LEGACY])
@everywhere
async def test_without_the_modern_version_there_is_no_probe(at, fatal, protocol):
    client = await at.get(fatal.connect(protocol=protocol))
    assert client.protocol == (protocol if isinstance(protocol, str) else "2025-11-25")
    await echoes(at, client)
    await at.get(client.close())

    assert len(fatal.facts("start")) == 1
    assert not fatal.received("server/discover")


# ---- B-020


@everywhere
async def test_an_older_version_that_is_allowed_is_taken(at, old):
    client = await at.get(old.connect(protocol=LEGACY, env={"CASE_PV": "2025-06-18"}))
    assert (client.protocol, client.session.version) == ("2025-06-18", "2025-06-18")
    await echoes(at, client)
    assert old.received("notifications/initialized")
    await at.get(client.close())


@everywhere
async def test_a_version_that_is_not_allowed_is_refused(at, old):
    error = await refused(at, old, old.connect())
    assert (error.code, error.kind) == (-32602, "protocol")
    assert isinstance(error, snodo.ProtocolError)
    assert error.data == {"negotiated": "2024-11-05", "requested": "2025-11-25"}
    assert error.delivery == "answered"


@pytest.mark.parametrize("version", ["2025-06-18", "9999-01-01", "", "none", "int", "2026-07-28"])
@everywhere
async def test_any_other_version_is_refused(at, old, version):
    error = await refused(at, old, old.connect(env={"CASE_PV": version}))
    if version in ("none", "int"):
        lost(error)
    else:
        assert error.code == -32602
        assert error.data == {"negotiated": version, "requested": "2025-11-25"}


# ---- more of the kind: the probe


AGAIN = [
    "exit 0",
    "exit 1",
    "signal SIGKILL",
    "garbage-exit",
    "close",
    "error -32601",
    "error -32000",
    "error -32600",
    "error -32700",
    "error -32602",
    "error 401",
    "unsupported null",
    'unsupported "2026-07-28"',
    "result {}",
    'result {"supportedVersions": "2026-07-28"}',
    'result {"supportedVersions": null}',
    'raw {"jsonrpc":"2.0","id":ID}',
    'raw {"jsonrpc":"2.0","id":ID,"result":"2026-07-28"}',
    'raw {"jsonrpc":"2.0","id":ID,"error":"boom"}',
    'raw {"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":-1,"message":"x"}}',
    "input",
    "twice",
]


@pytest.mark.parametrize("probe", AGAIN)
@across
async def test_any_other_answer_to_the_probe_means_start_again(at, server, probe):
    with took(below=5):
        client = await at.get(server.connect(protocol=None, env={"CASE_PROBE": probe}))
    assert client.protocol == "2025-11-25"
    await echoes(at, client)
    assert starts(server) == ["server/discover", "initialize"]
    await at.until(lambda: len(server.processes()) == 1, within=5)
    await at.get(client.close())


NEVER = [
    "silent",
    "late 0.8",
    "id string",
    "id float",
    "id other",
    "id null",
    "raw {'jsonrpc': '2.0', 'id': ID}",
    'raw [{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2026-07-28"]}}]',
]


@pytest.mark.parametrize("probe", NEVER)
@across
async def test_no_answer_to_the_probe_means_start_again_after_a_while(at, server, probe):
    with took(below=4, least=0.4):
        client = await at.get(
            server.connect(protocol=None, probe_timeout=0.4, env={"CASE_PROBE": probe})
        )
    assert client.protocol == "2025-11-25"
    await at.sleep(0.6 if probe.startswith("late") else 0)
    await echoes(at, client)
    assert starts(server) == ["server/discover", "initialize"]
    await at.get(client.close())


@across
async def test_a_server_that_hangs_after_the_probe_does_not_hold_up_the_next(at, server):
    """The first one closes its stdout and ignores all that is polite; the second is started."""
    with took(below=6):
        client = await at.get(
            server.connect(protocol=None, probe_timeout=3.0, env={"CASE_PROBE": "deaf"})
        )
    await echoes(at, client)
    with took(below=8):
        await at.get(client.close())
    assert not server.processes()


@pytest.mark.parametrize(
    ("probe", "version"),
    [
        ('versions ["2026-07-28"]', "2026-07-28"),
        ('versions ["2025-06-18", "2026-07-28", "9999-01-01"]', "2026-07-28"),
        ('versions ["2025-06-18"]', "2025-06-18"),
        ('versions ["2025-06-18", "2025-11-25"]', "2025-11-25"),
        ('versions [1, null, {}, "2025-11-25"]', "2025-11-25"),
        ('unsupported ["2025-11-25"]', "2025-11-25"),
        ('unsupported ["2026-07-28"]', "2026-07-28"),
        ("note-first", "2026-07-28"),
    ],
)
@across
async def test_the_newest_common_version_of_the_list_is_taken(at, server, probe, version):
    client = await at.get(server.connect(protocol=None, env={"CASE_PROBE": probe}))
    assert client.protocol == version
    await echoes(at, client)
    await at.get(client.close())

    assert starts(server) == ["server/discover"], "a modern server is not started again"


@pytest.mark.parametrize(
    "listed", [[], ["9999-01-01"], ["2024-11-05", "2025-03-26"], [1, None, {}], [["2026-07-28"]]]
)
@pytest.mark.parametrize("how", ["versions", "unsupported"])
@across
async def test_no_common_version_is_an_error_that_says_both_sides(at, server, how, listed):
    probe = f"{how} {json.dumps(listed)}"
    error = await refused(at, server, server.connect(protocol=None, env={"CASE_PROBE": probe}))
    assert (error.code, error.kind) == (-32602, "protocol")
    assert error.data == {"requested": ["2026-07-28", *LEGACY], "supported": listed}
    assert starts(server) == ["server/discover"]


@across
async def test_with_only_the_modern_version_nothing_is_sent(at, server):
    client = await at.get(server.connect(protocol="2026-07-28"))
    await echoes(at, client)
    await at.get(client.close())

    assert starts(server) == ["tools/call"]


# ---- more of the kind: the handshake


@pytest.mark.parametrize("probe", [None, "exit 1"])
@pytest.mark.parametrize(
    ("init", "cause"), [("exit 4", 4), ("exit 0", 0), ("signal SIGKILL", 137), ("close", None)]
)
@across
async def test_an_exit_during_initialize_fails_the_connect(at, server, probe, init, cause):
    env = {"CASE_INIT": init, "CASE_PROBE": probe or ""}
    protocol = None if probe else "2025-11-25"
    connecting = server.connect(protocol=protocol, env=env, timeout=20.0)
    error = await refused(at, server, connecting, within=5)
    lost(error)
    if cause is not None:
        assert error.cause == ("exit_status", cause)
    if init.startswith("exit"):
        assert "fatal: not this message" in str(error)
    assert len(starts(server)) == (2 if probe else 1), "it is not tried a third time"


@pytest.mark.parametrize("code", [-32603, -32602, -32601, -32000, 0, 42])
@across
async def test_an_error_answer_to_initialize_is_passed_on(at, server, code):
    error = await refused(at, server, server.connect(env={"CASE_INIT": f"error {code}"}))
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.message) == (code, "no session for you")
    assert error.data == {"why": "closed"}


@across
async def test_no_answer_to_initialize_is_a_timeout(at, server):
    connecting = server.connect(env={"CASE_INIT": "silent"}, timeout=0.5)
    error = await refused(at, server, connecting)
    assert (error.code, error.data) == (-32001, {"timeoutMs": 500})
    assert [fact["method"] for fact in server.received()] == ["initialize"], "and no cancellation"


@pytest.mark.parametrize(
    "init",
    [
        "version null",
        "version []",
        "version 20251125",
        "version true",
        "result {}",
        'result {"resultType": "input_required", "inputRequests": {}}',
        'raw {"jsonrpc":"2.0","id":ID}',
        'raw {"jsonrpc":"2.0","id":ID,"result":null}',
        'raw {"jsonrpc":"2.0","id":ID,"result":[]}',
        'raw {"jsonrpc":"2.0","id":ID,"error":"no"}',
        'raw {"jsonrpc":"2.0","id":ID,"error":{"code":"E1","message":"no"}}',
    ],
)
@across
async def test_a_malformed_answer_to_initialize_is_the_connections_failure(at, server, init):
    error = await refused(at, server, server.connect(env={"CASE_INIT": init}, timeout=20.0))
    lost(error)
    assert error.delivery == "answered"


@pytest.mark.parametrize("init", ["wrong-ids", "twice", "ask-first", "answers-the-notification"])
@across
async def test_what_comes_beside_the_answer_changes_nothing(at, server, init):
    client = await at.get(server.connect(env={"CASE_INIT": init}))
    assert client.protocol == "2025-11-25"
    for _ in range(3):
        await echoes(at, client)
    await at.get(client.close())

    assert len(server.received("notifications/initialized")) == 1


@pytest.mark.parametrize("probe", [None, "exit 1"])
@across
async def test_what_initialize_says(at, server, probe):
    """Nothing of the modern version is in it, and nothing comes before the notification."""
    info = {"name": "me", "version": "1"}
    client = await at.get(
        server.connect(
            protocol=["2025-11-25", "2026-07-28"] if probe else LEGACY,
            client_info=info,
            env={"CASE_PROBE": probe or ""},
        )
    )
    calls = [client.call_tool("echo", {"n": n}) for n in range(3)]
    await at.all(*calls)
    await at.get(client.close())

    [asked] = server.received("initialize")
    assert asked["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": info,
    }
    *_, first, second, third, fourth, fifth = [fact["method"] for fact in server.received()]
    assert (first, second) == ("initialize", "notifications/initialized")
    assert (third, fourth, fifth) == ("tools/call",) * 3


@across
async def test_an_answer_that_takes_its_time_is_waited_for(at, server):
    client = await at.get(server.connect(env={"CASE_INIT": "late 1"}))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_what_a_server_says_about_itself_may_be_odd(at, server):
    said = {
        "protocolVersion": "2025-11-25",
        "capabilities": 5,
        "serverInfo": None,
        "instructions": [],
    }
    client = await at.get(server.connect(env={"CASE_INIT": f"result {json.dumps(said)}"}))
    assert (client.session.server_info, client.session.server_capabilities) == ({}, {})
    assert client.session.instructions is None
    await echoes(at, client)
    await at.get(client.close())


# ---- more of the kind: nobody waits for the connect any more


@pytest.mark.parametrize("at", ["asyncio", "trio", "beside", "beside-trio"], indirect=True)
@pytest.mark.parametrize("env", [{"CASE_PROBE": "silent"}, {"CASE_INIT": "silent"}])
@across
async def test_a_connect_nobody_waits_for_leaves_nothing(at, server, env):
    protocol = None if "CASE_PROBE" in env else "2025-11-25"
    connecting = server.connect(protocol=protocol, env=env, timeout=30.0, probe_timeout=30.0)
    await at.until(lambda: server.facts("first"))
    with took(below=3):
        await at.give_up(connecting)
    await at.until(lambda: not server.processes(), within=5)


@pytest.mark.parametrize(
    "command", ["no-such-command-at-all", "/nowhere/at/all", "/etc/passwd", "/"]
)
@across
async def test_a_command_that_cannot_be_started(at, command):
    with took(below=2):
        error = await at.error(snodo.connect(("stdio", command, [])))
    lost(error)
    assert error.delivery == "never_sent"
    if not command.startswith("/etc"):
        assert error.cause == "enoent"


@across
async def test_a_command_that_is_gone_at_the_second_start(at, server, tmp_path):
    """The probe ends the first process, and the reconnect's own error is what is told."""
    script = tmp_path / "server"
    script.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        "sys.stdin.readline()\nos.unlink(__file__)\nos._exit(1)\n"
    )
    script.chmod(0o755)
    error = await at.error(snodo.connect(("stdio", str(script), [])))
    lost(error, "enoent")


@across
async def test_what_is_no_program_cannot_be_started(at, tmp_path):
    script = tmp_path / "server"
    script.write_bytes(b"\x00\x01\x02 no program")
    script.chmod(0o755)
    error = await at.error(snodo.connect(("stdio", str(script), [])))
    lost(error)
    assert isinstance(error.cause, OSError)


@across
async def test_a_folder_that_is_not_there(at, server):
    error = await at.error(server.connect(cd="/nowhere/at/all"))
    lost(error)
    assert isinstance(error.cause, OSError)
