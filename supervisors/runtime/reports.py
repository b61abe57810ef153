"""Writes reports down: to logging, and to whoever subscribed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from supervisors.words import checks
from supervisors.words.reports import (
    AbandonedReport,
    BusyReport,
    CrashReport,
    ProgressReport,
    Report,
    SupervisorReport,
    TerminateReport,
)

_CRASH: Final = logging.getLogger("supervisors.crash")
_SUPERVISOR: Final = logging.getLogger("supervisors.supervisor")
_PROGRESS: Final = logging.getLogger("supervisors.progress")
_WATCHDOG: Final = logging.getLogger("supervisors.watchdog")

_WHERE: Final = {
    TerminateReport: (_CRASH, logging.ERROR),
    CrashReport: (_CRASH, logging.ERROR),
    SupervisorReport: (_SUPERVISOR, logging.ERROR),
    ProgressReport: (_PROGRESS, logging.INFO),
    BusyReport: (_WATCHDOG, logging.WARNING),
    AbandonedReport: (_WATCHDOG, logging.ERROR),
}

_subscribers: list[Callable[[Report], object]] = []


def subscribe_reports(subscriber: Callable[[Report], object]) -> Callable[[], None]:
    """Call *subscriber* with every report, in the thread that makes it; returns what ends that."""
    _subscribers.append(checks.function("subscribe_reports", subscriber))

    def unsubscribe() -> None:
        if subscriber in _subscribers:
            _subscribers.remove(subscriber)

    return unsubscribe


def wanted(kind: type[Report]) -> bool:
    """Whether anybody would see a report of this *kind*."""
    logger, level = _WHERE[kind]
    return bool(_subscribers) or logger.isEnabledFor(level)


def report(what: Report) -> None:
    """Write *what* down."""
    logger, level = _WHERE[type(what)]
    if logger.isEnabledFor(level):
        exception = getattr(getattr(what, "reason", None), "exception", None)
        logger.log(
            level,
            "%s",
            what,
            exc_info=exception if isinstance(what, CrashReport) else None,
            extra={"event": what.event, "report": what},
        )
    publish(what)


def publish(what: Report) -> None:
    """Tell the subscribers alone, where something else writes the log."""
    for subscriber in tuple(_subscribers):
        try:
            subscriber(what)
        except Exception:  # noqa: BLE001  # the user's function must not harm the process it hears of
            _WATCHDOG.exception("a subscriber to reports failed: %r", subscriber)
