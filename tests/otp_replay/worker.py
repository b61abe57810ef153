"""The GenServer of the recordings: every callback writes down that it ran, then does as asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import anyio

from supervisors import (
    NO_REPLY,
    CallExit,
    GenServer,
    Reply,
    Stop,
    call,
    exit_self,
    self_,
    send_after,
    trap_exit,
)

from .beginning import begin
from .behaviour import Behaviour, comes_up
from .command import Command
from .scenario import Json
from .terms import Raised, Rubbish, to_reason
from .world import World


@dataclass(frozen=True)
class End:
    """A cast: end yourself, *how* and with what *reason*."""

    how: str
    reason: Json


@dataclass(frozen=True)
class _ReplyNow:
    caller: Any
    value: Any


class Worker(GenServer):
    """One worker of a scenario."""

    async def init(self, world: World, id: str, n: int, behaviour: Behaviour) -> Any:
        self.world = world
        self.id = id
        self.n = n
        self.behaviour = behaviour
        entry = behaviour.entry(n)
        world.enter(id, n, self.ref, watched=comes_up(entry))
        trap_exit(behaviour.trap_exit)
        return await begin(entry)

    async def handle_call(self, request: Any, caller: Any) -> Any:
        self._log("handle_call", req=request)
        match request:
            case {"echo": value}:
                return value
            case {"sleep": ms, "reply": value}:
                await anyio.sleep(ms / 1000)
                self._log("replying", req=request)
                return value
            case {"noreply": _}:
                return NO_REPLY
            case {"reply_after": ms, "reply": value}:
                send_after(ms / 1000, self_(), _ReplyNow(caller, value))
                return NO_REPLY
            case {"stop": reason, "reply": value}:
                return Stop(to_reason(reason), reply=value)
            case {"stop": reason}:
                return Stop(to_reason(reason))
            case {"exit": reason}:
                return exit_self(to_reason(reason))
            case {"raise": reason}:
                raise Raised(reason)
            case {"throw_reply": value}:
                return Reply(value)  # a throw in a callback is its return value
            case {"bad_return": value}:
                return Rubbish(value)
            case {"timeout": ms}:
                return Reply("ok", timeout=ms / 1000)
            case {"continue": term}:
                return Reply("ok", then=term)
            case {"call_self": _}:
                return await self._call_self()
            case _:
                raise AssertionError(f"no such request: {request!r}")

    async def handle_cast(self, request: Any) -> Any:
        if isinstance(request, End):
            return self._end_as_told(request)
        self._log("handle_cast", req=self.world.message(request))
        match request:
            case {"sleep": ms}:
                await anyio.sleep(ms / 1000)
            case _:
                pass
        return None

    async def handle_info(self, message: Any) -> Any:
        match message:
            case Command():
                await message.perform(self.world, self.id, self.n)
            case _ReplyNow(caller=caller, value=value):
                caller.reply(value)
            case _:
                self._log("handle_info", msg=self.world.message(message))

    async def handle_continue(self, term: Any) -> Any:
        self._log("continue", arg=self.world.message(term))

    async def terminate(self, reason: Any) -> Any:
        self._log("terminate", reason=self.world.reason(reason))
        match self.behaviour.terminate:
            case {"sleep": ms}:
                await anyio.sleep(ms / 1000)
            case {"raise": term}:
                raise Raised(term)
            case {"exit": term}:
                exit_self(to_reason(term))
            case {"throw": value}:
                return value  # a throw in a callback is its return value
            case _:
                pass
        return None

    def format_status(self) -> Json:
        """Show what the recorded workers had for a state."""
        return {"id": self.id, "n": self.n}

    def _end_as_told(self, end: End) -> Any:
        match end.how:
            case "exit":
                return exit_self(to_reason(end.reason))
            case "raise":
                raise Raised(end.reason)
            case "throw":
                return end.reason  # a throw in a callback is its return value
            case _:
                return Stop(to_reason(end.reason))

    async def _call_self(self) -> Any:
        try:
            return await call(self_(), {"echo": 1})
        except CallExit as error:
            return ("caught", error)

    def _log(self, ev: str, **fields: Json) -> None:
        self.world.journal.log(ev, id=self.id, n=self.n, **fields)
