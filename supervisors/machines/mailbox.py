"""Whether a bounded mailbox takes a message, and which one goes when it is full.

Counts and decides only; the queue itself stands in the process.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Literal, get_args

from supervisors.words.errors import SpecError

Overflow = Literal["block", "reject", "drop_oldest", "drop_newest"]
"""What a full mailbox does: let the sender wait, raise `MailboxFull`, or drop a message."""

OVERFLOWS: Final[tuple[str, ...]] = get_args(Overflow)


class Verdict(Enum):
    """What to do with one more message."""

    TAKE = auto()
    WAIT = auto()
    REJECT = auto()
    DROP_OLDEST = auto()
    DROP_NEWEST = auto()


_WHEN_FULL: Final = {
    "block": Verdict.WAIT,
    "reject": Verdict.REJECT,
    "drop_oldest": Verdict.DROP_OLDEST,
    "drop_newest": Verdict.DROP_NEWEST,
}


@dataclass(frozen=True, slots=True)
class Bound:
    """The most unread messages a mailbox holds, and what happens to one more."""

    limit: int
    overflow: Overflow = "reject"

    def __post_init__(self) -> None:
        limit: Any = self.limit  # whoever writes it may have no type checker
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise SpecError(
                f"a mailbox needs room for at least one message, not {self.limit!r}. "
                'Write for example `mailbox_bound = Bound(1_000, "drop_oldest")`.'
            )
        if self.overflow not in OVERFLOWS:
            raise SpecError(
                f"unknown overflow policy {self.overflow!r}; choose one of {', '.join(OVERFLOWS)}"
            )

    def verdict(self, unread: int) -> Verdict:
        """Decide on one more message when *unread* are waiting."""
        return Verdict.TAKE if unread < self.limit else _WHEN_FULL[self.overflow]
