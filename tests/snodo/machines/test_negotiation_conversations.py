from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from snodo_actors.machines.negotiation import (
    Discover,
    Failed,
    Initialize,
    Negotiation,
    NotifyInitialized,
    Reopen,
    Settled,
)
from snodo_actors.words.errors import RequestTimeout, ServerError, TransportError
from snodo_actors.words.types import InputRequired
from snodo_actors.words.versions import STATELESS, VERSIONS

GONE = TransportError(-32000, "gone")


def discovered(listed):
    return {"supportedVersions": listed}


def unsupported(listed):
    return ServerError(-32022, "unsupported", data={"supported": listed})


OUTCOMES = st.one_of(
    st.lists(st.sampled_from([*VERSIONS, "2099-01-01", 7]), max_size=4).map(discovered),
    st.lists(st.sampled_from([*VERSIONS, "2099-01-01"]), max_size=4).map(unsupported),
    st.sampled_from([*VERSIONS, "2024-11-05", None]).map(lambda said: {"protocolVersion": said}),
    st.sampled_from(
        [{}, GONE, ServerError(-32601, "no"), RequestTimeout(-32001, "slow"), InputRequired({})]
    ),
)


class Connecting(RuleBasedStateMachine):
    """Whatever a server says: few steps, each era begun properly, and only an allowed version."""

    @initialize(allowed=st.lists(st.sampled_from(VERSIONS), min_size=1), can_notify=st.booleans())
    def start(self, allowed, can_notify):
        self.allowed = set(allowed)
        self.it = Negotiation(allowed, capabilities={}, client_info={}, can_notify=can_notify)
        self.deeds = [self.it.start()]
        self.can_notify = can_notify

    def last(self):
        return self.deeds[-1]

    @precondition(lambda self: isinstance(self.last(), Discover))
    @rule(outcome=OUTCOMES)
    def discovered(self, outcome):
        self.deeds.append(self.it.discovered(outcome))

    @precondition(lambda self: isinstance(self.last(), Reopen))
    @rule(error=st.sampled_from([None, GONE]))
    def reopened(self, error):
        self.deeds.append(self.it.reopened(error))

    @precondition(lambda self: isinstance(self.last(), Initialize))
    @rule(outcome=OUTCOMES, id=st.sampled_from([None, "", "s"]))
    def initialized(self, outcome, id):
        self.deeds.append(self.it.initialized(outcome, id))

    @precondition(lambda self: isinstance(self.last(), NotifyInitialized))
    @rule(error=st.sampled_from([None, GONE]))
    def notified(self, error):
        self.deeds.append(self.it.notified(self.last().session, error))

    @precondition(lambda self: isinstance(self.last(), Settled | Failed))
    @rule()
    def over(self):
        pass

    @invariant()
    def holds(self):
        kinds = [type(deed) for deed in self.deeds]
        assert all(kinds.count(kind) <= 1 for kind in kinds)
        assert Discover not in kinds or len(self.allowed) > 1
        for deed in self.deeds:
            match deed:
                case Initialize(params):
                    assert self.can_notify
                    assert params["protocolVersion"] in self.allowed - {STATELESS}
                case NotifyInitialized(session):
                    assert session.version in self.allowed - {STATELESS}
                    assert session.id in {None, "s"}
                case Settled(version, session):
                    assert version in self.allowed
                    assert (session is None) == (version == STATELESS)
                case Failed(_, session):
                    assert session is None or NotifyInitialized in kinds


TestConnecting = Connecting.TestCase
TestConnecting.settings = settings(max_examples=100, stateful_step_count=8, deadline=None)
