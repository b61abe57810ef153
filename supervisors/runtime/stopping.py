"""How a server is asked to stop in its turn, and waited for."""

from __future__ import annotations

from typing import Any

from supervisors.runtime.actor_process import ActorProcess
from supervisors.runtime.future import Future, failed
from supervisors.runtime.here import get_here
from supervisors.runtime.process import Process
from supervisors.runtime.ref import is_current_task
from supervisors.runtime.states import DEAD
from supervisors.runtime.system import System
from supervisors.words.directives import Stop
from supervisors.words.errors import CallExit, CallingSelf, CallTimeout, NoProcess
from supervisors.words.reasons import ExitReason


def stop_process(process: Process, reason: ExitReason, timeout: float | None) -> Future[None]:
    """Stop *process* with *reason*; the future is done when it has ended."""
    request = f"a stop with {reason}"
    if process.state == DEAD:
        return failed(NoProcess(process.ref, request, process.reason))
    if get_here().current is process or (process.busy and is_current_task(process)):
        return failed(CallingSelf(process.ref, request))
    stopped: Future[None] = Future(process.node)
    down = process.node.when_down(process)

    def ended(done: Future[Any]) -> None:
        why = done.get()
        if why == reason:
            stopped.try_set(None)
        else:
            stopped.try_fail(CallExit(why, process.ref, request))

    down.add_done_callback(ended)
    if timeout is not None:
        timer = process.node.after(
            timeout, lambda: stopped.try_fail(CallTimeout(process.ref, request, timeout))
        )
        stopped.add_done_callback(lambda _stopped: timer.cancel())
    if isinstance(process, ActorProcess):
        process.put(System(process.node, lambda _actor: Stop(reason)))
    else:
        process.transmit(process.on_exit_signal, None, reason, False)
    return stopped
