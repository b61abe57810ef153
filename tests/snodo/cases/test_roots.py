"""A server that is told over stdio that the roots changed, or cannot be told any more."""

from __future__ import annotations

from case_servers import LEGACY, across, echoes, everywhere, lost, text_of, timed_out

import snodo_actors as snodo
import supervisors
from supervisors import Supervisor

CHANGED = "notifications/roots/list_changed"
CHANGING = {"roots": {"listChanged": True}}
QUICKLY = supervisors.Backoff(initial=0.02, maximum=0.2)


@everywhere
async def test_it_is_sent_in_the_order_of_the_calls(at, exits):
    client = await at.get(exits.connect(client_capabilities=CHANGING))
    call = client.call_tool("echo", {"before": 1})
    assert await at.get(client.roots_changed()) is None
    await at.get(call)
    await echoes(at, client)
    await at.get(client.close())
    told = [fact["method"] for fact in exits.facts("recv")]
    assert told[-3:] == ["tools/call", "notifications/roots/list_changed", "tools/call"]


@across
async def test_after_the_end_it_fails(at, exits):
    client = await at.get(exits.connect(client_capabilities=CHANGING))
    lost(await at.error(client.call_tool("status", {"status": 3})), ("exit_status", 3))
    failed = await at.error(client.roots_changed())
    lost(failed, ("exit_status", 3))
    assert failed.delivery == "never_sent"
    await at.get(client.close())
    failed = await at.error(client.roots_changed())
    lost(failed)
    assert failed.delivery == "never_sent"


@across
async def test_a_server_that_takes_no_more(at, stays):
    """Why it does not is known a moment later, and then whoever waits is told."""
    client = await at.get(stays.connect(client_capabilities=CHANGING))
    call = client.call_tool("close_stdin_and_answer_later")
    await at.until(lambda: stays.facts("stdin_closed"))
    for failed in await at.all(*[client.roots_changed() for _ in range(3)]):
        lost(failed, ("exit_status", 3))
        assert failed.delivery == "never_sent"
    assert text_of(await at.get(call)) == "late but there"
    await at.get(client.close())


async def in_a_tree(at, server):
    options = {"protocol": LEGACY, "restart_delay": QUICKLY, "client_capabilities": CHANGING}
    spec = snodo.child_spec("one", server.target, env={"CASE_LOG": str(server.log)}, **options)
    return await at.get(Supervisor.start_link([spec]))


@across
async def test_by_name_it_waits_for_the_connection(at, exits):
    client = snodo.client("one", timeout=10.0)
    early = client.roots_changed()
    tree = await in_a_tree(at, exits)
    await at.get(early)
    lost(await at.error(client.call_tool("status", {"status": 3})), ("exit_status", 3))
    await at.get(client.roots_changed())
    await at.until(lambda: len(exits.received(CHANGED)) == 2)
    assert len({fact["pid"] for fact in exits.received(CHANGED)}) == 2
    await at.get(supervisors.stop(tree))


@across
async def test_by_name_the_next_server_is_told_what_the_last_did_not_take(at, stays):
    client = snodo.client("one", timeout=10.0)
    tree = await in_a_tree(at, stays)
    call = client.call_tool("close_stdin_and_answer_later")
    await at.until(lambda: stays.facts("stdin_closed"))
    assert await at.get(client.roots_changed()) is None
    await at.until(lambda: stays.received(CHANGED))
    assert stays.received(CHANGED)[0]["pid"] != stays.facts("stdin_closed")[0]["pid"]
    assert text_of(await at.get(call)) == "late but there"
    await at.get(supervisors.stop(tree))


@across
async def test_by_name_it_waits_no_longer_than_its_time(at):
    timed_out(await at.error(snodo.client("one", timeout=0.2).roots_changed()), 0.2)
    await at.give_up(snodo.client("one").roots_changed())
    lost(await at.error(snodo.client("one", when_down="fail").roots_changed()), "down")
