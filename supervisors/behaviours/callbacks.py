"""What a server may implement, and what happens where it does not."""

from __future__ import annotations

from typing import Any

from supervisors.runtime.actor import Actor
from supervisors.runtime.requests import Ask
from supervisors.words.reasons import ExitReason

Caller = Ask
"""Who waits for the reply of a request: `reply(value)` answers, `fail(exception)` refuses."""


class Callbacks(Actor):
    """The callbacks of a `GenServer`; each may be plain or `async def`."""

    def init(self, *args: Any, **kwargs: Any) -> Any:
        """Set the server up. Return None or `Ok(...)`, `Ignore()`, or `Stop(reason)`."""

    def handle_call(self, request: Any, caller: Caller) -> Any:
        """Answer a request: return the reply, or `Reply`, `NoReply` or `Stop`.

        After `NO_REPLY`, `caller.reply(value)` or `caller.fail(error)` may come at any later time.
        """
        raise NotImplementedError(
            f"{type(self).__name__} got a call it does not handle: {request!r}. "
            "Implement handle_call(request, caller)."
        )

    def handle_cast(self, request: Any) -> Any:
        """Handle a request that is not answered. Return None, `NoReply` or `Stop`."""
        raise NotImplementedError(
            f"{type(self).__name__} got a cast it does not handle: {request!r}. "
            "Implement handle_cast(request)."
        )

    def handle_info(self, message: Any) -> Any:
        """Handle any other message: what was told, `Exit`, `Down`, `TIMEOUT`. Return as above."""
        self._otp_log_unexpected(message)

    def handle_continue(self, term: Any) -> Any:
        """Go on with what a callback left with `then=term`, before any other message."""
        raise NotImplementedError(
            f"{type(self).__name__} returned then={term!r} but has no handle_continue(term)"
        )

    def terminate(self, reason: ExitReason) -> Any:
        """Clean up, before the server ends.

        Runs when it stops by itself, fails, is stopped, or is told by its parent while it traps
        exits; not when it is killed.
        """

    def format_status(self) -> Any:
        """What reports and `get_state()` show of the server: by default its attributes."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def _otp_log_unexpected(self, message: Any) -> None:
        super().on_receive(message)
