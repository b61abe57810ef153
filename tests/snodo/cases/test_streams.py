"""Event streams over stdio: they begin, end and drop as they say, and cost bounded memory."""

from __future__ import annotations

import pytest
from case_servers import MODERN, across, echoes, everywhere, lost, program, timed_out, took

import snodo_actors as snodo
import supervisors

FILTER = {"toolsListChanged": True}


@pytest.fixture
def streams(server_of):
    return server_of("streams")


def connect(streams, mode=""):
    return streams.connect(protocol=MODERN, env={"CASE_STREAM": mode})


async def payloads(at, subscription, timeout=5.0):
    """All there is, to the end."""
    came = []
    while not came or came[-1][0] != "closed":
        came.append(await at.get(subscription.next(timeout=timeout)))
    return came


# ---- the end of the owner


@pytest.mark.parametrize("mode", ["", "quiet"])
@pytest.mark.parametrize("end", ["returns", "raises", "killed"])
@everywhere
async def test_the_end_of_the_owner_ends_its_stream(at, streams, end, mode):
    client, box = await at.get(connect(streams, mode)), []

    async def own():
        box.append(await client.listen(FILTER))
        await supervisors.receive("go".__eq__)
        if end == "raises":
            raise LookupError("the owner broke")

    ref = supervisors.spawn(own)
    subscription = (await at.until(lambda: box))[0]
    supervisors.exit(ref, "kill") if end == "killed" else ref.send("go")
    with took(below=3):
        await at.until(lambda: streams.facts("listen_closed", of=subscription.id))
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_the_end_of_a_thread_ends_its_stream(at, streams):
    client, box = await at.get(connect(streams, "quiet")), []
    await at.in_thread(lambda: box.append(client.listen(FILTER).get()))
    with took(below=3):
        await at.until(lambda: streams.facts("listen_closed", of=box[0].id))
    await echoes(at, client)
    await at.get(client.close())


@everywhere
async def test_thirty_owners_end_and_the_others_go_on(at, streams):
    client, box = await at.get(connect(streams)), []
    mine = await at.get(client.listen(FILTER))

    async def own():
        box.append(await client.listen(FILTER))
        await supervisors.receive("go".__eq__)

    refs = [supervisors.spawn(own) for _ in range(30)]
    await at.until(lambda: len(box) == 30)
    for ref in refs:
        supervisors.exit(ref, "kill")
    with took(below=4):
        await at.until(lambda: len(streams.facts("listen_closed")) == 30)
    for _ in range(5):
        assert (await at.get(mine.next(timeout=3.0)))[0] in ("notification", "dropped")
    await at.get(mine.close())
    await at.get(client.close())


@everywhere
async def test_nothing_comes_after_the_owner_closed_it(at, streams):
    client = await at.get(connect(streams))
    subscription = await at.get(client.listen(FILTER))
    subscription.demand(1000)
    await at.sleep(0.2)
    with took(below=1.5):
        await at.get(subscription.close())
    await at.until(lambda: streams.facts("listen_closed", of=subscription.id), within=2)
    count = len(supervisors.mailbox())
    await echoes(at, client)
    await at.sleep(0.2)
    assert len(supervisors.mailbox()) == count
    assert (await at.get(subscription.next()))[0] == "closed"
    await at.get(client.close())


# ---- the beginning and the end of the stream


@across
async def test_a_refused_stream(at, streams):
    client = await at.get(connect(streams, "refused"))
    error = await at.error(client.listen(FILTER))
    assert isinstance(error, snodo.ServerError)
    assert (error.code, error.message) == (-32602, "no such notifications")
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_stream_that_is_never_acknowledged(at, streams):
    client = await at.get(connect(streams, "silent"))
    with took(below=2):
        timed_out(await at.error(client.listen(FILTER, timeout=0.4)), 0.4)
    await at.until(lambda: streams.received("notifications/cancelled"))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_a_stream_that_ends_before_it_begins(at, streams):
    client = await at.get(connect(streams, "ended"))
    with took(below=2):
        lost(await at.error(client.listen(FILTER)))
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_events_before_the_acknowledgement_are_not_lost(at, streams):
    client = await at.get(connect(streams, "early"))
    subscription = await at.get(client.listen(FILTER))
    assert subscription.accepted == FILTER
    numbers = [(await at.get(subscription.next(timeout=5.0)))[2]["n"] for _ in range(3)]
    assert numbers == [-1, 0, 1]
    await at.get(client.close())


@across
async def test_a_second_acknowledgement_is_nothing(at, streams):
    client = await at.get(connect(streams, "twice"))
    subscription = await at.get(client.listen(FILTER))
    assert subscription.accepted == FILTER
    assert (await at.get(subscription.next(timeout=5.0)))[2]["n"] == 0
    await at.get(client.close())


@across
async def test_the_servers_end_comes_after_its_events(at, streams):
    client = await at.get(connect(streams, "three"))
    subscription = await at.get(client.listen(FILTER))
    *events, last = await payloads(at, subscription)
    assert [params["n"] for _, _, params in events] == [0, 1, 2]
    assert last == ("closed", "complete")
    await echoes(at, client)
    await at.get(client.close())


@across
async def test_the_servers_exit_comes_after_its_events(at, streams):
    client = await at.get(connect(streams, "exit"))
    subscription = await at.get(client.listen(FILTER))
    await at.until(lambda: not streams.processes())
    *events, (what, error) = await payloads(at, subscription)
    assert [params["n"] for _, _, params in events] == [0, 1, 2]
    assert what == "closed"
    lost(error, ("exit_status", 3))
    await at.get(client.close())


@across
async def test_an_exit_before_the_acknowledgement(at, streams):
    client = await at.get(connect(streams, "silent"))
    listening = client.listen(FILTER, timeout=20.0)
    await at.until(lambda: streams.facts("listen"))
    streams.kill_all()
    with took(below=2):
        lost(await at.error(listening), ("exit_status", 137))
    await at.get(client.close())


@across
async def test_who_gives_the_listen_up_has_no_stream(at, streams):
    client = await at.get(connect(streams, "silent"))
    await at.give_up(client.listen(FILTER, timeout=30.0))
    await at.until(lambda: streams.received("notifications/cancelled"))
    await echoes(at, client)
    await at.get(client.close())


# ---- nobody takes the events

FLOOD = """
import json, sys, time
from case_servers import MODERN, Memory, Server
from pathlib import Path
import supervisors

script, log, backend = sys.argv[1:4]
with supervisors.Node(backend=backend):
    server = Server(Path(script), Path(log))
    client = server.connect(protocol=MODERN, timeout=60.0, env={"CASE_STREAM": "quiet"}).get()
    subscription = client.listen({"toolsListChanged": True}, max_buffer=10).get()
    memory = Memory()
    client.call_tool("flood", {"n": 400_000, "id": subscription.id}).get()
    first = subscription.next(timeout=5).get()
    second = subscription.next(timeout=5).get()
    peak = memory.peak()
    client.close().get()
print(json.dumps({"peak": peak, "first": first[:2], "second": [second[0], second[2]["n"]]}))
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_the_owner_does_not_take_is_dropped_and_counted(streams, backend):
    ran = program(FLOOD, streams.script, streams.log, backend)

    assert ran["first"] == ["dropped", 399_990]
    assert ran["second"] == ["notification", 399_990]
    assert ran["peak"] < 60, ran


@across
async def test_a_flood_of_events_delays_no_answer(at, streams):
    client = await at.get(connect(streams, "quiet"))
    subscription = await at.get(client.listen(FILTER))
    with took(below=8):
        call = client.call_tool("flood", {"n": 20_000, "id": subscription.id}, timeout=20.0)
        await at.get(call)
        await echoes(at, client)
    await at.get(client.close())


@across
async def test_events_of_nobodys_stream_are_nothing(at, streams):
    client = await at.get(connect(streams, "quiet"))
    subscription = await at.get(client.listen(FILTER))
    for id in (subscription.id + 1, str(subscription.id), None, [subscription.id], True):
        await at.get(client.call_tool("flood", {"n": 3, "id": id}))
    error = await at.error(subscription.next(timeout=0.3))
    timed_out(error, 0.3)
    await at.get(client.close())
