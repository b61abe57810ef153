"""Every error says what to write instead, can be copied, and is what users of pykka catch."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pykka
import pytest

from supervisors.words import errors
from supervisors.words.errors import (
    AlreadyPresent,
    AlreadyStarted,
    CallExit,
    CallingSelf,
    CallTimeout,
    ChildError,
    ChildNotFound,
    ChildRestarting,
    ChildRunning,
    ExitProcess,
    MailboxFull,
    MaxChildren,
    NameTaken,
    NodeStopped,
    NoProcess,
    NoSuchName,
    NotAProcess,
    ProcessDead,
    ReceiveTimeout,
    SpecError,
    StartError,
    StartFailed,
    StartIgnored,
    SupervisorsError,
    WouldBlock,
)
from supervisors.words.reasons import (
    NOPROC,
    SHUTDOWN,
    Custom,
    Error,
    FailedToStartChild,
    Shutdown,
    TimedOut,
)
from supervisors.words.reasons import (
    CallingSelf as CallingSelfReason,
)

BOOM = Custom("boom")
OOPS = ValueError("oops")

# the error, what else it is, what of it is said, what it holds
ERRORS: list[tuple[SupervisorsError, tuple[type, ...], tuple[str, ...], dict[str, Any]]] = [
    (ProcessDead("gone"), (pykka.ActorDeadError,), ("gone",), {"reason": NOPROC}),
    (ProcessDead("gone", BOOM), (pykka.ActorDeadError,), ("gone",), {"reason": BOOM}),
    (
        CallExit(BOOM, "<server>", "get"),
        (pykka.ActorDeadError,),
        ("<server> ended before it answered 'get'", "boom"),
        {"reason": BOOM, "server": "<server>", "request": "get"},
    ),
    (
        CallTimeout("<server>", "get", 1.5),
        (CallExit, pykka.Timeout),
        ("<server> did not answer 'get' within 1.5 seconds", "may still be working"),
        {"reason": TimedOut(), "timeout": 1.5},
    ),
    (
        NoProcess("svc", "get"),
        (CallExit,),
        ("no process is registered as 'svc'", "'get'"),
        {"reason": NOPROC, "ended": None},
    ),
    (NoProcess(7, "get"), (CallExit,), ("7 is not alive", "'get'"), {"server": 7}),
    (
        NoProcess(7, "get", SHUTDOWN),
        (CallExit,),
        ("7 is not alive (it ended: shutdown)", "'get'"),
        {"ended": SHUTDOWN, "reason": NOPROC},
    ),
    (
        CallingSelf("<server>", "get"),
        (CallExit,),
        ("<server> called itself", "`self.ref.cast(request)`"),
        {"reason": CallingSelfReason()},
    ),
    (ExitProcess("boom"), (), ("exit: boom",), {"exit_reason": BOOM}),
    (
        StartFailed("boom"),
        (StartError,),
        ("the process did not start: boom",),
        {"reason": BOOM, "exit_reason": BOOM, "child": None, "__cause__": None},
    ),
    (
        StartFailed(OOPS, "db"),
        (StartError,),
        ("'db' did not start: ValueError: oops",),
        {"reason": Error(OOPS), "child": "db"},
    ),
    (StartIgnored(), (StartError,), ("Ignore()", "no failure"), {}),
    (AlreadyStarted("<ref>"), (StartError,), ("<ref>",), {"ref": "<ref>"}),
    (
        AlreadyPresent("db"),
        (StartError,),
        ("`restart_child('db')`", "`delete_child('db')`"),
        {"id": "db"},
    ),
    (MaxChildren(3), (StartError,), ("3 children", "max_children"), {"max_children": 3}),
    (ChildNotFound("db"), (ChildError,), ("'db'", "`which_children()`"), {"id": "db"}),
    (ChildRunning("db"), (ChildError,), ("`terminate_child('db')`",), {"id": "db"}),
    (ChildRestarting("db"), (ChildError,), ("`terminate_child('db')`",), {"id": "db"}),
    (ChildRunning("{0}"), (ChildError,), ("`terminate_child('{0}')`",), {"id": "{0}"}),
    (SpecError("write this"), (ValueError,), ("write this",), {"term": None}),
    (SpecError("write this", ("bad", 1)), (ValueError,), ("write this",), {"term": ("bad", 1)}),
    (NameTaken("svc", 7), (ValueError,), ("`unregister('svc')`", "7"), {"name": "svc", "ref": 7}),
    (NoSuchName("svc"), (LookupError,), ("'svc'",), {"name": "svc"}),
    (MailboxFull("full"), (), ("full",), {}),
    (ReceiveTimeout(0.5), (pykka.Timeout,), ("0.5 seconds",), {"timeout": 0.5}),
    (WouldBlock(), (RuntimeError,), ("`value = await ref.ask(message, block=False)`",), {}),
    (WouldBlock("await f"), (RuntimeError,), ("`await f`",), {"what": "await f"}),
    (NodeStopped("stopped"), (RuntimeError,), ("stopped",), {}),
    (NotAProcess(7), (TypeError,), ("7 is not a process", "self_()"), {"what": 7}),
]
IDS = [f"{type(row[0]).__name__}{number}" for number, row in enumerate(ERRORS)]


@pytest.mark.parametrize(("error", "kinds", "said", "holds"), ERRORS, ids=IDS)
def test_what_an_error_is_says_and_holds(error, kinds, said, holds) -> None:
    assert isinstance(error, (SupervisorsError, Exception))
    assert [kind for kind in kinds if not isinstance(error, kind)] == []
    assert [text for text in said if text not in str(error)] == []
    assert holds == {name: getattr(error, name) for name in holds}


@pytest.mark.parametrize(("error", "kinds", "said", "holds"), ERRORS, ids=IDS)
@pytest.mark.parametrize(
    "send", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy]
)
def test_an_error_survives_being_sent_elsewhere(error, kinds, said, holds, send) -> None:
    arrived = send(error)

    assert (type(error), str(error)) == (type(arrived), str(arrived))
    assert holds == {name: getattr(arrived, name) for name in holds}


def test_every_error_of_the_module_is_in_the_table() -> None:
    bases = {SupervisorsError, StartError, ChildError}
    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, SupervisorsError)
    }

    assert defined - bases == {type(error) for error, *_ in ERRORS}


def test_a_failed_start_shows_the_exception_that_made_it_fail() -> None:
    assert OOPS is StartFailed(OOPS).__cause__


def test_a_long_request_is_shortened_in_the_text_and_kept_in_the_error() -> None:
    request = "x" * 10_000
    error = CallExit(BOOM, "<server>", request)

    assert (len(str(error)) < 200, "..." in str(error)) == (True, True)
    assert request == error.request


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "make",
    [
        lambda it: CallExit(BOOM, "<server>", it),
        lambda it: CallTimeout("<server>", it, 1.0),
        lambda it: NoProcess("<server>", it),
        NotAProcess,
    ],
    ids=["CallExit", "CallTimeout", "NoProcess", "NotAProcess"],
)
def test_a_request_that_cannot_be_shown_does_not_hide_the_error(make) -> None:
    assert "Unspeakable" in str(make(Unspeakable()))


def test_a_failed_start_shows_the_exception_at_the_bottom_of_the_tree() -> None:
    broken = ValueError("no disk")
    inner = Shutdown(FailedToStartChild("inner", Error(broken)))

    failed = StartFailed(Shutdown(FailedToStartChild("outer", inner)))

    assert failed.__cause__ is broken
