from __future__ import annotations

from typing import Any

import pytest

from snodo_actors.oauth.machines.refusal import Obtain, Renew, StepUp, Take, decide
from snodo_actors.oauth.words.tokens import Tokens


def tokens(access: str, **more: Any) -> Tokens:
    return Tokens(access_token=access, issuer="i", resource="r", **more)


OLD = tokens("old", requested=("a",))
OLD_WITH_REFRESH = tokens("old", refresh_token="r", requested=("a",))
NEW = tokens("new", scope=("a", "b"), requested=("a", "b"))
ENDED = tokens("new", lifetime=10.0, expires_at=5.0, refresh_token="r")
ENDED_FOR_GOOD = tokens("new", lifetime=10.0, expires_at=5.0)


@pytest.mark.parametrize(
    ("said", "status", "refused", "wanted", "kept", "decided"),
    [
        ("nothing is there", 401, None, (), None, Obtain(())),
        ("another process has one", 401, None, (), NEW, Take(NEW)),
        ("somebody renewed it", 401, "old", (), NEW, Take(NEW)),
        ("it can be renewed", 401, "old", (), OLD_WITH_REFRESH, Renew(OLD_WITH_REFRESH)),
        ("it cannot", 401, "old", (), OLD, Obtain(("a",))),
        ("what somebody got has ended too", 401, "old", (), ENDED, Renew(ENDED)),
        ("and cannot be renewed", 401, "old", (), ENDED_FOR_GOOD, Obtain(())),
        ("more is wanted", 403, "old", ("b",), OLD_WITH_REFRESH, StepUp(("a",))),
        ("somebody got more", 403, "old", ("b",), NEW, Take(NEW)),
        ("but not enough", 403, "old", ("c",), NEW, StepUp(("a", "b"))),
        ("more of what is not there", 403, None, ("b",), None, StepUp(())),
    ],
)
def test_decision(  # noqa: PLR0917  # the columns of a table
    said: str,
    status: int,
    refused: str | None,
    wanted: tuple[str, ...],
    kept: Tokens | None,
    decided: object,
) -> None:
    assert decided == decide(status, refused, wanted, kept, 100.0), said
