"""What a process can be told to do: one function for each op, run by that process itself."""

from __future__ import annotations

from typing import Any, Final

from supervisors import (
    CallExit,
    NoProcess,
    NoSuchName,
    ReceiveTimeout,
    alias,
    call,
    cancel_timer,
    cast,
    demonitor,
    exit,
    exit_self,
    link,
    mailbox,
    monitor,
    receive,
    send,
    send_after,
    start_timer,
    trap_exit,
    unalias,
    unlink,
)

from .command import NOTHING, Command, Deed, Doing, Step
from .puppet import spawn_puppet
from .scenario import Json
from .supervision import start_result
from .terms import Raised, from_reason, to_reason, to_term

DEFAULT_CALL_MS: Final = 5000
DEFAULT_RECEIVE_MS: Final = 1000
_ALIAS_MODES: Final = {"explicit_unalias": "explicit"}
"""Where OTP's word for the end of an alias is not ours."""


async def _link(me: Doing) -> Any:
    try:
        link(me.ref("b"))
    except NoProcess as error:
        raise Raised("noproc") from error
    return True


async def _unlink(me: Doing) -> Any:
    unlink(me.ref("b"))
    return True


async def _spawn_link(me: Doing) -> Any:
    spawn_puppet(me.world, me.step, linked=True)
    return NOTHING


async def _monitor(me: Doing) -> Any:
    me.world.tag(me.step["tag"], monitor(me.step.get("name") or me.ref("b")))
    return NOTHING


async def _demonitor(me: Doing) -> Any:
    flush = "flush" in _options(me.step)
    return demonitor(me.world.tagged[me.step["tag"]], flush=flush)


async def _alias(me: Doing) -> Any:
    me.world.tag(me.step["tag"], alias(reply="reply" in _options(me.step)))
    return NOTHING


async def _unalias(me: Doing) -> Any:
    return unalias(me.world.tagged[me.step["tag"]])


async def _monitor_alias(me: Doing) -> Any:
    said = me.step.get("mode", "explicit")
    mode: Any = _ALIAS_MODES.get(said, said)
    me.world.tag(me.step["tag"], monitor(me.ref("b"), alias=mode))
    return NOTHING


async def _trap_exit(me: Doing) -> Any:
    flags = [value for value in me.step.values() if isinstance(value, bool)]
    return trap_exit(flags[0] if flags else True)


async def _exit_signal(me: Doing) -> Any:
    exit(me.ref("to"), to_reason(me.step["reason"]))
    return NOTHING


async def _exit_self(me: Doing) -> Any:
    reason = me.step.get("reason", "normal")
    match me.step.get("how", "exit"):
        case "raise":
            raise Raised(reason)
        case "throw":
            raise Raised({"nocatch": reason})
        case "return":
            return exit_self("normal")
        case _:
            return exit_self(to_reason(reason))


async def _send(me: Doing) -> Any:
    send(me.destination(), to_term(me.step["msg"]))
    return NOTHING


async def _send_keyed(me: Doing) -> Any:
    send(me.destination(), (me.step["key"], to_term(me.step["msg"])))
    return NOTHING


async def _send_name(me: Doing) -> Any:
    try:
        send(me.step["name"], to_term(me.step["msg"]))
    except NoSuchName:
        return {"error": "badarg"}
    return "ok"


async def _send_alias(me: Doing) -> Any:
    send(me.world.tagged[me.step["tag"]], to_term(me.step["msg"]))
    return NOTHING


async def _reply_ref(me: Doing) -> Any:
    ref = me.world.tagged[me.step["tag"]]
    send(ref, (ref, to_term(me.step["msg"])))
    return NOTHING


async def _cast(me: Doing) -> Any:
    cast(me.destination(), to_term(me.step["msg"]))
    return NOTHING


async def _mailbox(me: Doing) -> Any:
    unread = [message for message in mailbox() if not isinstance(message, Command)]
    return [me.world.message(message) for message in unread]


async def _receive_match(me: Doing) -> Any:
    key = me.step["key"]
    try:
        _, got = await receive(
            lambda message: isinstance(message, tuple) and message[:1] == (key,),
            timeout=me.step.get("timeout", DEFAULT_RECEIVE_MS) / 1000,
        )
    except ReceiveTimeout:
        return "timeout"
    return {"got": me.world.message(got)}


async def _send_after(me: Doing) -> Any:
    timer = send_after(me.step["ms"] / 1000, me.destination(), to_term(me.step["msg"]))
    me.world.timers[me.step.get("tag", "")] = timer
    return NOTHING


async def _start_timer(me: Doing) -> Any:
    timer = start_timer(me.step["ms"] / 1000, me.destination(), to_term(me.step["msg"]))
    me.world.timers[me.step.get("tag", "")] = timer
    return NOTHING


async def _cancel_timer(me: Doing) -> Any:
    timer = me.world.timers.get(me.step["tag"])
    left = None if timer is None else cancel_timer(timer)
    return False if left is None else "remaining_ms"


async def _call(me: Doing) -> Any:
    result: Json
    try:
        result = {"reply": me.world.term(await _reply(me))}
    except CallExit as error:
        reason = from_reason(error.reason, me.world.people.name_of)
        result = {"exit": {"call_exit": reason}}
    me.log("call_result", tag=me.step.get("tag", "c"), result=result)
    return NOTHING


async def _call_uncaught(me: Doing) -> Any:
    reply = me.world.term(await _reply(me))
    me.log("call_result", tag=me.step.get("tag", "c"), result={"reply": reply})
    return NOTHING


async def _reply(me: Doing) -> Any:
    timeout = me.step.get("timeout", DEFAULT_CALL_MS)
    seconds = None if timeout == "infinity" else timeout / 1000
    return await call(me.destination(), me.step["req"], timeout=seconds)


async def _start_link_worker(me: Doing) -> Any:
    me.log("start_link_result", result=await start_result(me.world, me.step["child"]))
    return NOTHING


def _options(step: Step) -> list[Json]:
    given = [step.get("opts"), step.get("opt"), step.get("mode")]
    return [item for value in given for item in (value if isinstance(value, list) else [value])]


DEEDS: Final[dict[str, Deed]] = {
    "link": _link,
    "unlink": _unlink,
    "spawn_link": _spawn_link,
    "monitor": _monitor,
    "demonitor": _demonitor,
    "alias": _alias,
    "unalias": _unalias,
    "monitor_alias": _monitor_alias,
    "trap_exit": _trap_exit,
    "exit_signal": _exit_signal,
    "exit_self": _exit_self,
    "send": _send,
    "send_keyed": _send_keyed,
    "send_name": _send_name,
    "send_alias": _send_alias,
    "reply_ref": _reply_ref,
    "cast": _cast,
    "cast_name": _cast,
    "mailbox": _mailbox,
    "receive_match": _receive_match,
    "send_after": _send_after,
    "start_timer": _start_timer,
    "cancel_timer": _cancel_timer,
    "call": _call,
    "call_uncaught": _call_uncaught,
    "start_link_worker": _start_link_worker,
}

NOT_WAITED_FOR: Final = frozenset({"call", "call_uncaught", "start_link_worker", "exit_self"})
"""Ops whose outcome is an event; the runner goes on at once."""

SAYS: Final = frozenset({"mailbox", "receive_match", "cancel_timer"})
"""Ops whose answer is always a result; of the others only when the recording has one."""
