"""What pykka's ThreadingActor does."""

from __future__ import annotations

import threading
from typing import Any

import pykka

from actor_cases.measure import Heap, Watch


class Echo(pykka.ThreadingActor):
    """Returns what it gets."""

    use_daemon_thread = True

    def on_receive(self, message: Any) -> Any:
        """Answer."""
        return message


def tell(n: int) -> dict[str, float]:
    actor = Echo.start()
    with Watch() as watch:
        for i in range(n):
            actor.tell(i)
        actor.ask(0)
    actor.stop()
    return {"tell": watch.rate(n), "thread_tell": watch.rate(n)}


def ask(n: int) -> dict[str, float]:
    actor = Echo.start()
    with Watch() as plain:
        for i in range(n):
            actor.ask(i)
    with Watch() as timed:
        for i in range(n):
            actor.ask(i, timeout=5.0)
    actor.stop()
    rate, timed_rate = plain.rate(n), timed.rate(n)
    return {
        "ask": rate,
        "ask_scope": timed_rate,
        "call": timed_rate,
        "call_forever": rate,
        "thread_ask": rate,
    }


def spawn(n: int) -> dict[str, float]:
    left = n
    all_up = threading.Event()
    lock = threading.Lock()

    class Counted(Echo):
        def on_start(self) -> None:
            nonlocal left
            with lock:
                left -= 1
                if not left:
                    all_up.set()

    with Watch() as watch:
        for _ in range(n):
            Counted.start()
        all_up.wait()
    return {"spawn": watch.rate(n)}


def memory(n: int, *, traced: bool) -> dict[str, float]:
    kept: list[Any] = [None] * n
    with Heap(traced=traced) as heap:
        for i in range(n):
            kept[i] = Echo.start()
        kept[-1].ask(0)
    return {"heap" if traced else "rss": heap.added / n}
