from __future__ import annotations

from snodo_actors.oauth.words.errors import AuthorizationError


def test_an_error_says_where_it_failed() -> None:
    error = AuthorizationError("token", "no token", error="invalid_grant", error_description="old")

    assert (error.code, error.kind, error.delivery) == (-32000, "authorization", "never_sent")
    assert error.cause == ("authorization", "token", "invalid_grant")
    assert (error.step, error.error, error.error_description) == ("token", "invalid_grant", "old")
    assert str(error) == "no token (nothing was sent, so it is safe to try again; code -32000)"


def test_each_call_has_its_own() -> None:
    reason = OSError("no route")
    error = AuthorizationError("fetch", "no answer", cause=reason)
    other = error.again()

    assert other is not error
    assert ("fetch", None, reason, reason) == (
        other.step,
        other.error,
        other.cause,
        other.__cause__,
    )
