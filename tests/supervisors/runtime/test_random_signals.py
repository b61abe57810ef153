"""Links, watches and exit signals in any order do what a model of OTP says they do."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inside import PATIENCE, inside, silenced

import supervisors
from supervisors import (
    KILL,
    KILLED,
    NOPROC,
    NORMAL,
    SHUTDOWN,
    Actor,
    Custom,
    Down,
    Exit,
    ExitReason,
    GenServer,
    NoProcess,
    demonitor,
    exit,
    exit_self,
    is_alive,
    link,
    monitor,
    receive,
    spawn,
    trap_exit,
    unlink,
    when_down,
)

N = 4


# --- the model


@dataclass
class Modelled:
    """What OTP says of one process."""

    alive: bool = True
    trapping: bool = False
    links: set[int] = field(default_factory=set)
    watches: dict[int, int] = field(default_factory=dict)  # watch number -> who is watched
    mailbox: list[tuple[object, ...]] = field(default_factory=list)
    reason: ExitReason | None = None


class Model:
    """N processes and the signals between them, carried out at once."""

    def __init__(self) -> None:
        self.processes = [Modelled() for _ in range(N)]
        self.count = 0

    def signal(self, to: int, sender: int | None, reason: ExitReason, *, linked: bool) -> None:
        target = self.processes[to]
        if not target.alive:
            return
        if reason == KILL and not linked:
            self.die(to, KILLED)
        elif target.trapping:
            target.mailbox.append(("exit", sender, reason))
        elif reason != NORMAL or sender == to:
            self.die(to, reason)

    def die(self, who: int, reason: ExitReason) -> None:
        process = self.processes[who]
        process.alive, process.reason = False, reason
        links, process.links = process.links, set()
        for other in range(N):
            watcher = self.processes[other]
            for number in [n for n, target in watcher.watches.items() if target == who]:
                del watcher.watches[number]
                if watcher.alive:
                    watcher.mailbox.append(("down", number, reason))
        for other in links:
            self.processes[other].links.discard(who)
        for other in sorted(links):
            self.signal(other, who, reason, linked=True)

    def do(self, deed: tuple[object, ...]) -> object:
        match deed:
            case ("link", int(a), int(b)):
                one, two = self.processes[a], self.processes[b]
                if a == b:
                    return None
                if not two.alive:
                    if one.trapping:
                        one.mailbox.append(("exit", b, NOPROC))
                        return None
                    return "noproc"
                one.links.add(b)
                two.links.add(a)
            case ("unlink", int(a), int(b)):
                self.processes[a].links.discard(b)
                self.processes[b].links.discard(a)
            case ("monitor", int(a), int(b)):
                number, self.count = self.count, self.count + 1
                if self.processes[b].alive:
                    self.processes[a].watches[number] = b
                else:
                    self.processes[a].mailbox.append(("down", number, NOPROC))
                return number
            case ("demonitor", int(a), int(number)):
                return self.processes[a].watches.pop(number, None) is not None
            case ("trap", int(a), bool(flag)):
                before, self.processes[a].trapping = self.processes[a].trapping, flag
                return before
            case ("exit", int(a), int(b), ExitReason() as reason):
                self.signal(b, a, reason, linked=False)
            case ("end", int(a), ExitReason() as reason):
                self.die(a, reason)
        return None


# --- the real thing


class Obedient:
    """The part of a real process: carries out a deed and keeps every other message."""

    log: list[object]

    def obey(self, message):
        if not callable(message):
            self.log.append(message)
            return
        message()


def as_function(log):
    async def obey():
        while True:
            message = await receive()
            if callable(message):
                message()
            else:
                log.append(message)

    return spawn(obey)


class AsActor(Actor, Obedient):
    urgent_signals = False

    def __init__(self, log):
        super().__init__()
        self.log = log

    def on_receive(self, message):
        self.obey(message)


class AsServer(GenServer, Obedient):
    def init(self, log):
        self.log = log

    def handle_info(self, message):
        self.obey(message)


KINDS = {"function": as_function, "actor": AsActor.start, "server": AsServer.start_unlinked}


class Real:
    """N real processes of one or of two nodes."""

    def __init__(self, kinds: list[str], nodes: list[supervisors.Node]) -> None:
        self.logs: list[list[object]] = [[] for _ in range(N)]
        self.nodes = nodes
        self.refs = []
        self.watches: dict[int, supervisors.Monitor] = {}
        for number, kind in enumerate(kinds):
            node = nodes[number % len(nodes)]
            self.refs.append(inside(node, self.make, kind, number))
        self.ends = [when_down(ref) for ref in self.refs]
        self.settle(range(N))

    def make(self, kind: str, number: int):
        return KINDS[kind](self.logs[number])

    def inside(self, who: int, deed):
        """Do *deed* in the process *who*; its value, or "ended" if it ended over it."""
        done: supervisors.Future[object] = supervisors.Future()

        def run():
            try:
                done.set(deed())
            except NoProcess:
                done.set("noproc")
            except BaseException:
                done.try_set("ended")
                raise

        self.refs[who].send(run)
        return done.get(timeout=PATIENCE)

    def settle(self, alive) -> None:
        """Wait until everything under way has arrived: twice around, for what follows."""
        for _ in range(3):
            for node in self.nodes:
                turned: supervisors.Future[None] = supervisors.Future()
                node.post(lambda turned=turned: turned.set(None))
                turned.get(timeout=PATIENCE)
            for who in alive:
                self.inside(who, lambda: None)

    def do(self, deed: tuple[object, ...], number: int | None) -> object:
        refs = self.refs
        match deed:
            case ("link", int(a), int(b)):
                return self.inside(a, lambda: link(refs[b]))
            case ("unlink", int(a), int(b)):
                return self.inside(a, lambda: unlink(refs[b]))
            case ("monitor", int(a), int(b)):
                self.watches[number] = self.inside(a, lambda: monitor(refs[b]))
                return number
            case ("demonitor", int(a), int(which)):
                return self.inside(a, lambda: demonitor(self.watches[which]))
            case ("trap", int(a), bool(flag)):
                return self.inside(a, lambda: trap_exit(flag))
            case ("exit", int(a), int(b), reason):
                return self.inside(a, lambda: exit(refs[b], reason))
            case ("end", int(a), reason):
                return self.inside(a, lambda: exit_self(reason))
        return None

    def mailbox(self, who: int) -> list[tuple[object, ...]]:
        numbers = {id(watch): number for number, watch in self.watches.items()}
        found: list[tuple[object, ...]] = []
        for message in self.logs[who]:
            match message:
                case Exit(process, reason):
                    found.append(("exit", self.refs.index(process), reason))
                case Down(watch, _, reason):
                    found.append(("down", numbers[id(watch)], reason))
        return found


WHO = st.integers(0, N - 1)
REASON = st.sampled_from([NORMAL, SHUTDOWN, Custom("boom"), KILL, KILLED])
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("link"), WHO, WHO),
        st.tuples(st.just("link"), WHO, WHO),
        st.tuples(st.just("unlink"), WHO, WHO),
        st.tuples(st.just("monitor"), WHO, WHO),
        st.tuples(st.just("demonitor"), WHO, st.integers(0, 5)),
        st.tuples(st.just("trap"), WHO, st.booleans()),
        st.tuples(st.just("exit"), WHO, WHO, REASON),
        st.tuples(st.just("end"), WHO, REASON),
    ),
    max_size=25,
)


@pytest.mark.parametrize("across", [False, True], ids=["one node", "two nodes"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(deeds=DEEDS, kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=N, max_size=N))
def test_any_order_of_signals_does_what_otp_does(backend, across, deeds, kinds) -> None:
    with silenced(), supervisors.Node(backend=backend, watchdog=None) as one:
        if across:
            with supervisors.Node(watchdog=None) as two:
                compare([one, two], kinds, deeds)
        else:
            compare([one], kinds, deeds)


def compare(nodes, kinds, deeds) -> None:
    model, real = Model(), Real(kinds, nodes)
    for deed in deeds:
        who = model.processes[deed[1]]
        if not who.alive:
            continue  # the dead do nothing
        if deed[0] == "demonitor":
            watch = real.watches.get(deed[2])
            if watch is None or watch.watcher is not real.refs[deed[1]].process:
                continue
        number = model.count if deed[0] == "monitor" else None
        expected = model.do(deed)
        found = real.do(deed, number)
        alive = [n for n, process in enumerate(model.processes) if process.alive]
        for n, process in enumerate(model.processes):
            if not process.alive:
                assert real.ends[n].get(timeout=PATIENCE) == process.reason, deed
        real.settle(alive)
        if who.alive and deed[0] != "end":
            assert found == expected, deed
        for n in alive:
            assert is_alive(real.refs[n]), deed
            assert sorted(map(str, real.mailbox(n))) == sorted(
                map(str, model.processes[n].mailbox)
            ), deed
    for ref in real.refs:
        exit(ref, KILL)
    for end in real.ends:
        end.get(timeout=PATIENCE)
