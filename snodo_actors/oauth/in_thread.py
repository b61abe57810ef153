"""What may block for as long as it likes, in a thread that no program waits for at its end."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from supervisors import Future

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call *function*; raises what it raises.

    Who is cancelled waits no longer. The thread ends when the function does: it is not one of the
    loop's, for Python would not end before those do, and some browsers are waited for until the
    user closes them.
    """
    outcome = Future[T]()

    def call() -> None:
        try:
            outcome.try_set(function(*arguments))
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            outcome.try_fail(error)

    name = f"snodo_actors.oauth: {getattr(function, '__name__', 'function')}"
    run = contextvars.copy_context().run
    threading.Thread(target=run, args=(call,), name=name, daemon=True).start()
    return await outcome
