"""What pykka's ThreadingActor does."""

from __future__ import annotations

import threading
from typing import Any

import pykka

from actor_cases.measure import Heap, rate


class Echo(pykka.ThreadingActor):
    """Returns what it gets."""

    use_daemon_thread = True

    def on_receive(self, message: Any) -> Any:
        """Answer."""
        return message


def tell(n: int) -> dict[str, float]:
    actor = Echo.start()

    def tell_all() -> None:
        for i in range(n):
            actor.tell(i)
        actor.ask(0)

    tell_rate = rate(n, tell_all)
    return {"tell": tell_rate, "thread_tell": tell_rate}


def ask(n: int) -> dict[str, float]:
    actor = Echo.start()

    def plain() -> None:
        for i in range(n):
            actor.ask(i)

    def timed() -> None:
        for i in range(n):
            actor.ask(i, timeout=5.0)

    ask_rate, timed_rate = rate(n, plain), rate(n, timed)
    return {
        "ask": ask_rate,
        "ask_scope": timed_rate,
        "call": timed_rate,
        "call_forever": ask_rate,
        "thread_ask": ask_rate,
    }


def spawn(n: int) -> dict[str, float]:
    lock = threading.Lock()
    left = 0
    all_up = threading.Event()

    class Counted(Echo):
        def on_start(self) -> None:
            nonlocal left
            with lock:
                left -= 1
                if not left:
                    all_up.set()

    def start_all() -> None:
        nonlocal left
        left = n
        all_up.clear()
        for _ in range(n):
            Counted.start()
        all_up.wait()

    return {"spawn": rate(n, start_all)}


def memory(n: int, *, traced: bool) -> dict[str, float]:
    kept: list[Any] = [None] * n
    with Heap(traced=traced) as heap:
        for i in range(n):
            kept[i] = Echo.start()
        kept[-1].ask(0)
    return {"heap" if traced else "rss": heap.added / n}
