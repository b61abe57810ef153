from __future__ import annotations

from math import inf

import pytest

from snodo_actors.machines.pool import Hand, Open, Pool, Refuse, Statistics, Stop


def pool(size=2, idle_timeout=30.0, max_requests=100, max_waiting=10):
    return Pool[str](
        size=size, idle_timeout=idle_timeout, max_requests=max_requests, max_waiting=max_waiting
    )


class Script:
    """What can happen to a pool, as steps for a table."""

    def __init__(self, pool):
        self.pool, self.now = pool, 0.0

    def ask(self, *calls, until=inf):
        return [deed for call in calls for deed in self.pool.request(call, until, self.now)]

    def done(self, slot, reusable=True):
        return self.pool.finished(slot, reusable=reusable, now=self.now)

    def detach(self, slot):
        return self.pool.detached(slot)

    def down(self, slot, untouched=False):
        return self.pool.down(slot, untouched=untouched)

    def cancel(self, call):
        return self.pool.cancelled(call)

    def wait(self, seconds):
        self.now += seconds
        return self.pool.due(self.now)

    def close(self):
        return self.pool.close()


def ask(*calls, until=inf):
    return lambda script: script.ask(*calls, until=until)


def done(slot, reusable=True):
    return lambda script: script.done(slot, reusable)


def detach(slot):
    return lambda script: script.detach(slot)


def down(slot, untouched=False):
    return lambda script: script.down(slot, untouched)


def cancel(call):
    return lambda script: script.cancel(call)


def wait(seconds):
    return lambda script: script.wait(seconds)


def close():
    return lambda script: script.close()


# what is meant, options of the pool, steps
CONVERSATIONS = [
    (
        "connections are opened up to the size, then calls wait in their order",
        {},
        [
            (ask("a", "b", "c", "d"), [Open(1, "a"), Open(2, "b")]),
            (done(2), [Hand(2, "c")]),
            (done(1), [Hand(1, "d")]),
        ],
    ),
    (
        "the connection used last is used first",
        {},
        [
            (ask("a", "b"), [Open(1, "a"), Open(2, "b")]),
            (done(2), []),
            (done(1), []),
            (ask("c"), [Hand(1, "c")]),
        ],
    ),
    (
        "what cannot be used again is stopped, and its slot opened anew",
        {"size": 1},
        [
            (ask("a", "b"), [Open(1, "a")]),
            (done(1, reusable=False), [Stop(1), Open(2, "b")]),
            (done(2, reusable=False), [Stop(2)]),
        ],
    ),
    (
        "a connection is retired after its last request",
        {"size": 1, "max_requests": 2},
        [
            (ask("a", "b", "c"), [Open(1, "a")]),
            (done(1), [Hand(1, "b")]),
            (done(1), [Stop(1), Open(2, "c")]),
        ],
    ),
    (
        "a stream leaves the pool with its connection",
        {"size": 1},
        [
            (ask("a", "b"), [Open(1, "a")]),
            (detach(1), [Open(2, "b")]),
            (detach(1), []),
            (done(1), []),
            (down(1), []),
        ],
    ),
    (
        "a worker that dies frees its slot and fails its call",
        {"size": 1},
        [
            (ask("a", "b"), [Open(1, "a")]),
            (down(1), [Refuse("a", "worker_down"), Open(2, "b")]),
            (down(2), [Refuse("b", "worker_down")]),
        ],
    ),
    (
        "a call no byte of which was sent gets a fresh connection before those that wait",
        {"size": 1},
        [
            (ask("a", "b"), [Open(1, "a")]),
            (done(1), [Hand(1, "b")]),
            (ask("c"), []),
            (down(1, untouched=True), [Open(2, "b")]),
            (done(2), [Hand(2, "c")]),
        ],
    ),
    (
        "a fresh one even if another is idle, which may be as stale",
        {},
        [
            (ask("a", "b"), [Open(1, "a"), Open(2, "b")]),
            (done(1), []),
            (done(2), []),
            (ask("c"), [Hand(2, "c")]),
            (down(2, untouched=True), [Open(3, "c")]),
            (ask("d"), [Hand(1, "d")]),
        ],
    ),
    (
        "an idle connection that dies is forgotten",
        {},
        [
            (ask("a"), [Open(1, "a")]),
            (done(1), []),
            (down(1), []),
            (wait(99), []),
            (ask("b"), [Open(2, "b")]),
        ],
    ),
    (
        "an idle connection is stopped after its time",
        {"idle_timeout": 5.0},
        [
            (ask("a", "b"), [Open(1, "a"), Open(2, "b")]),
            (done(1), []),
            (wait(4), []),
            (done(2), []),
            (wait(1), [Stop(1)]),
            (ask("c", "d"), [Hand(2, "c"), Open(3, "d")]),
            (wait(9), []),
        ],
    ),
    (
        "a call waits no longer than its deadline, wherever it stands",
        {"size": 1},
        [
            (ask("a"), [Open(1, "a")]),
            (ask("b", until=9.0), []),
            (ask("c", until=3.0), []),
            (ask("d"), []),
            (wait(2), []),
            (wait(1), [Refuse("c", "timeout")]),
            (done(1), [Hand(1, "b")]),
            (done(1), [Hand(1, "d")]),
            (wait(50), []),
            (ask("late", until=53.0), [Refuse("late", "timeout")]),
        ],
    ),
    (
        "there is a limit to waiting",
        {"size": 1, "max_waiting": 1},
        [(ask("a", "b", "c"), [Open(1, "a"), Refuse("c", "full")])],
    ),
    (
        "a caller that goes away leaves no trace while it waits",
        {"size": 1},
        [
            (ask("a", "b", "c", until=5.0), [Open(1, "a")]),
            (cancel("b"), []),
            (cancel("nobody"), []),
            (done(1), [Hand(1, "c")]),
            (wait(9), []),
        ],
    ),
    (
        "and costs its connection while it is served",
        {},
        [
            (ask("a", "b", "c"), [Open(1, "a"), Open(2, "b")]),
            (cancel("b"), [Stop(2), Open(3, "c")]),
            (cancel("b"), []),
            (done(2), []),
            (cancel("a"), [Stop(1)]),
        ],
    ),
    (
        "after the close what is busy finishes, and nothing else ever starts",
        {},
        [
            (ask("a", "b", "c"), [Open(1, "a"), Open(2, "b")]),
            (done(1), [Hand(1, "c")]),
            (done(2), []),
            (ask("d"), [Hand(2, "d")]),
            (ask("e", "f"), []),
            (done(1), [Hand(1, "e")]),
            (close(), [Refuse("f", "closed")]),
            (done(1), [Stop(1)]),
            (down(2, untouched=True), [Refuse("d", "closed")]),
            (ask("g"), [Refuse("g", "closed")]),
            (close(), []),
            (wait(99), []),
        ],
    ),
    (
        "the close stops what is idle",
        {},
        [
            (ask("a", "b"), [Open(1, "a"), Open(2, "b")]),
            (done(1), []),
            (close(), [Stop(1)]),
            (close(), []),
            (down(1), []),
            (down(2), [Refuse("b", "worker_down")]),
            (wait(99), []),
        ],
    ),
]


@pytest.mark.parametrize(
    ("options", "steps"), [row[1:] for row in CONVERSATIONS], ids=[row[0] for row in CONVERSATIONS]
)
def test_pool(options, steps):
    script = Script(pool(**options))
    for number, (step, expected) in enumerate(steps):
        assert (number, expected) == (number, step(script))


# what is meant, steps, calls that have a connection
BUSY = [
    ("nothing yet", [], []),
    ("what was opened or handed", [ask("a", "b"), done(1), ask("c")], ["b", "c"]),
    ("not what waits", [ask("a", "b", "c")], ["a", "b"]),
    ("what waited, once it has its turn", [ask("a", "b", "c"), done(2)], ["a", "c"]),
    ("not what left with its connection", [ask("a", "b"), detach(1)], ["b"]),
    ("not what died with its connection", [ask("a", "b"), down(2)], ["a"]),
    ("what gets a fresh connection", [ask("a", "b"), down(1, untouched=True)], ["a", "b"]),
    ("not what was given up", [ask("a", "b", "c"), cancel("a")], ["b", "c"]),
    ("what finishes after the close", [ask("a", "b", "c"), done(1), close()], ["b", "c"]),
    ("until it has", [ask("a", "b"), close(), done(1)], ["b"]),
]


@pytest.mark.parametrize(
    ("steps", "calls"), [row[1:] for row in BUSY], ids=[row[0] for row in BUSY]
)
def test_busy(steps, calls):
    script = Script(pool())
    for step in steps:
        step(script)

    assert calls == sorted(script.pool.busy())


def test_statistics_count_and_next_at_tells_the_next_deadline():
    it = pool(size=2, idle_timeout=30.0)
    assert (Statistics(0, 0, 0), None) == (it.statistics(), it.next_at())
    it.request("a", 5.0, 0.0)
    it.request("b", 5.0, 0.0)
    it.request("c", 7.0, 0.0)
    assert (Statistics(0, 2, 1), 7.0) == (it.statistics(), it.next_at())
    it.finished(1, reusable=True, now=1.0)
    it.finished(2, reusable=True, now=2.0)
    assert (Statistics(1, 1, 0), 32.0) == (it.statistics(), it.next_at())


def test_it_tells_which_call_has_a_slot():
    pool = Pool(size=1, idle_timeout=None, max_requests=10, max_waiting=10)
    (opened,) = pool.request("a", 10.0, 0.0)
    assert pool.busy_with(opened.slot) == "a"
    assert len(pool.under_way) == 1
    pool.finished(opened.slot, reusable=True, now=1.0)
    assert pool.busy_with(opened.slot) is None
    assert not len(pool.under_way)
