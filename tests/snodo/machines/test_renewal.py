from __future__ import annotations

from snodo_actors.machines.renewal import Renew, Renewal, SendAgain, Wait
from snodo_actors.words.errors import TransportError
from snodo_actors.words.types import Session

OLD = Session("2025-11-25", "old")
NEW = Session("2025-11-25", "new")
REFUSED = TransportError(-32000, "refused", cause="refused")


def test_one_new_session_serves_all_requests_the_old_one_lost():
    renewal = Renewal[str](OLD, limit=9)
    assert [Renew(OLD), Wait(), Wait()] == [renewal.lost(request, OLD) for request in "abc"]
    assert [SendAgain(request, NEW) for request in "abc"] == renewal.renewed(NEW)
    assert NEW is renewal.session


def test_a_request_that_comes_late_is_sent_in_the_new_session_at_once():
    renewal = Renewal[str](OLD, limit=9)
    renewal.lost("a", OLD)
    renewal.renewed(NEW)
    assert SendAgain("b", NEW) == renewal.lost("b", OLD)


def test_a_second_404_is_the_end_of_the_request_not_of_the_session():
    renewal = Renewal[str](OLD, limit=9)
    failed = renewal.lost("a", OLD, again=True)
    assert (failed.request, failed.error.code, failed.error.kind) == ("a", -32000, "transport")
    assert Renew(OLD) == renewal.lost("b", OLD)


def test_the_new_session_can_be_lost_too():
    renewal = Renewal[str](OLD, limit=9)
    renewal.lost("a", OLD)
    renewal.renewed(NEW)
    assert Renew(NEW) == renewal.lost("b", NEW)


def test_a_server_that_gives_the_same_id_again_has_a_new_session_all_the_same():
    renewal = Renewal[str](OLD, limit=9)
    renewal.lost("a", OLD)
    same = Session("2025-11-25", "old")
    renewal.renewed(same)
    assert SendAgain("b", same) == renewal.lost("b", OLD)


def test_what_keeps_the_new_session_from_starting_fails_all_who_wait_each_with_its_own_error():
    renewal = Renewal[str](OLD, limit=9)
    for request in "ab":
        renewal.lost(request, OLD)
    failed = renewal.failed(REFUSED)
    assert [each.request for each in failed] == ["a", "b"]
    assert [each.error.cause for each in failed] == ["refused"] * 2
    assert failed[0].error is not failed[1].error
    assert Renew(OLD) == renewal.lost("c", OLD)


def test_there_is_a_limit_to_waiting():
    renewal = Renewal[str](OLD, limit=1)
    renewal.lost("a", OLD)
    failed = renewal.lost("b", OLD)
    assert (failed.request, failed.error.cause) == ("b", ("max_waiting", 1))
