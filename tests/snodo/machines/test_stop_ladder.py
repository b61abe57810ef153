from __future__ import annotations

from snodo_actors.machines.stop_ladder import CloseInput, Finished, Signal, StopLadder


def ladder():
    return StopLadder(input_grace=2.0, term_grace=1.0, kill_grace=0.5)


def test_a_server_that_does_not_listen_is_taken_down_step_by_step():
    it = ladder()
    assert (it.next_at(), it.due(99.0)) == (None, None)
    assert (CloseInput(), 12.0) == (it.start(10.0), it.next_at())
    assert (it.start(11.0), it.due(11.9)) == (None, None)
    assert (Signal("SIGTERM"), 13.0) == (it.due(12.0), it.next_at())
    assert (Signal("SIGKILL"), 13.7) == (it.due(13.2), it.next_at())
    assert (Finished(exited=False), None) == (it.due(13.7), it.next_at())
    assert (it.due(99.0), it.exited(), it.start(99.0)) == (None, None, None)


def test_a_server_that_exits_ends_it_wherever_it_stands():
    for steps in range(4):
        it = ladder()
        for step in range(steps):
            it.start(0.0) if step == 0 else it.due(step * 10.0)
        assert (Finished(exited=True), None) == (it.exited(), it.next_at())
        assert (it.exited(), it.start(99.0), it.due(99.0)) == (None, None, None)


def test_the_graces_bound_the_whole():
    it = StopLadder()
    now, it_says = 0.0, it.start(0.0)
    while not isinstance(it_says, Finished):
        now = it.next_at()
        it_says = it.due(now)
    assert now <= 5.0
