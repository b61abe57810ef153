"""What a callback of a GenServer may return."""

from __future__ import annotations

import copy
import pickle

import pytest

from supervisors.words.directives import (
    NO_REPLY,
    UNSET,
    Directive,
    Ignore,
    NoReply,
    Ok,
    Reply,
    Stop,
)
from supervisors.words.reasons import NORMAL

# a directive and its fields
DIRECTIVES = [
    (Ok(), {"timeout": None, "then": UNSET}),
    (Ok(1.5, then=None), {"timeout": 1.5, "then": None}),
    (Ignore(), {}),
    (Stop(), {"reason": NORMAL, "reply": UNSET}),
    (Stop("boom", reply=None), {"reason": "boom", "reply": None}),
    (Reply(7), {"value": 7, "timeout": None, "then": UNSET}),
    (Reply(None, 2.0, "go"), {"value": None, "timeout": 2.0, "then": "go"}),
    (NoReply(), {"timeout": None, "then": UNSET}),
    (NoReply(0, then="go"), {"timeout": 0, "then": "go"}),
]


@pytest.mark.parametrize(("directive", "fields"), DIRECTIVES)
def test_what_a_directive_holds(directive, fields) -> None:
    assert isinstance(directive, Directive)
    assert fields == {name: getattr(directive, name) for name in fields}


@pytest.mark.parametrize(("directive", "fields"), DIRECTIVES)
def test_a_directive_is_a_value(directive, fields) -> None:
    assert directive == type(directive)(**fields)
    with pytest.raises((AttributeError, TypeError)):
        directive.timeout = 9


def test_the_ready_made_no_reply_is_like_any_other() -> None:
    assert NoReply() == NO_REPLY


def test_unset_is_one_value_that_says_its_name() -> None:
    assert repr(UNSET) == "UNSET"
    assert UNSET is copy.copy(UNSET) is copy.deepcopy(UNSET)
    assert UNSET is pickle.loads(pickle.dumps(UNSET))
