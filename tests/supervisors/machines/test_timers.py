"""Which timer is due."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from supervisors.machines.timers import Timer, TimerQueue


def due(queue: TimerQueue[str], now: float) -> list[str]:
    found = []
    while (item := queue.pop_due(now)) is not None:
        found.append(item)
    return found


def test_timers_fire_in_the_order_they_are_due_and_then_in_the_order_they_were_set() -> None:
    queue = TimerQueue[str]()
    for when, item in ((3.0, "c"), (1.0, "a"), (2.0, "b1"), (2.0, "b2")):
        queue.add(when, item)

    assert (queue.next_due(), due(queue, 0.9)) == (1.0, [])
    assert due(queue, 2.0) == ["a", "b1", "b2"]
    assert (queue.next_due(), len(queue)) == (3.0, 1)
    assert (due(queue, 9.0), queue.next_due(), len(queue)) == (["c"], None, 0)


def test_a_queue_without_timers_has_nothing_due() -> None:
    queue = TimerQueue[str]()

    assert (queue.next_due(), queue.pop_due(9.0), len(queue)) == (None, None, 0)


def test_a_timer_can_be_cancelled_once_and_not_after_it_fired() -> None:
    queue = TimerQueue[str]()
    a, b = queue.add(1.0, "a"), queue.add(2.0, "b")

    assert (a.pending, queue.cancel(a)) == (True, True)
    assert (a.pending, queue.cancel(a)) == (False, False)
    assert (queue.next_due(), due(queue, 5.0)) == (2.0, ["b"])
    assert (b.pending, queue.cancel(b)) == (False, False)


def test_a_timer_made_elsewhere_fires_too() -> None:
    queue = TimerQueue[str]()
    queue.push(Timer(1.0, "a"))

    assert due(queue, 1.0) == ["a"]


def test_a_timer_emptied_elsewhere_does_not_fire() -> None:
    queue = TimerQueue[str]()
    timer = queue.add(1.0, "a")
    queue.add(2.0, "b")
    timer.item = None  # what another thread does to cancel it

    assert (queue.next_due(), len(queue), due(queue, 3.0)) == (2.0, 1, ["b"])


def test_cancelled_timers_do_not_pile_up() -> None:
    queue = TimerQueue[int]()
    stay = queue.add(1.0, -1)
    for number in range(10_000):
        assert queue.cancel(queue.add(100.0 + number, number))

    assert (len(queue), stay.pending) == (1, True)
    assert len(queue._heap) < 200
    assert (queue.pop_due(1e9), queue.pop_due(1e9)) == (-1, None)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=300), st.integers(0, 9))
def test_what_is_due_is_what_was_set_and_not_cancelled(plan, now) -> None:
    queue = TimerQueue[int]()
    queue._FEW = 2  # type: ignore[misc]  # so that short plans clean up as well
    timers = [queue.add(when, number) for number, (when, _) in enumerate(plan)]
    for timer, (_, cancelled) in zip(timers, plan, strict=True):
        if cancelled:
            queue.cancel(timer)
    alive = sorted((when, number) for number, (when, cancelled) in enumerate(plan) if not cancelled)

    assert (alive[0][0] if alive else None) == queue.next_due()
    assert [number for when, number in alive if when <= now] == due(queue, now)  # type: ignore[arg-type,comparison-overlap]
    assert sum(when > now for when, _ in alive) == len(queue)
