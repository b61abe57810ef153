"""What has to be right while nobody breaks anything: tree, names, registries, memory."""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

from actor_cases.measure import resident

from soak_parts.ledger import Ledger
from soak_parts.tree import POOLS_CHILDREN, Field, pool_child
from soak_parts.workers import UNIQUE, Plain, Worker
from supervisors import (
    ActorRef,
    Child,
    DynamicSupervisorRef,
    Node,
    Ref,
    RegistryRef,
    SupervisorRef,
    SupervisorsError,
    whereis,
)

SETTLE = 20.0
"""Seconds the tree gets to be whole again."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was in memory at one check."""

    resident: int
    blocks: int


class Checks:
    """Looks at everything, again and again."""

    def __init__(self, field: Field, ledger: Ledger, node: Node, seed: int) -> None:
        self.samples: list[Sample] = []
        self._field = field
        self._ledger = ledger
        self._node = node
        self._rng = random.Random(seed)

    async def run(self) -> None:
        """Wait until the tree is whole, then check that all is as it should be."""
        until = time.monotonic() + SETTLE
        while problems := await self._mend():
            if time.monotonic() > until:
                self._ledger.violation("not whole", f"{len(problems)}: {problems[:3]}")
                return
            await asyncio.sleep(0.1)
        await self._check_names()
        await self._check_answers()
        gc.collect()
        self.samples.append(Sample(resident(), sys.getallocatedblocks()))
        self._ledger.count("checks")

    # ---- the tree is whole

    async def _mend(self) -> list[str]:
        problems: list[str] = []
        for name in self._field.teams:
            try:
                problems += await self._mend_team(name)
            except (SupervisorsError, TimeoutError) as error:
                problems.append(f"{name}: {error!r}")
        for name in self._field.pools:
            try:
                problems += await self._mend_pool(name)
            except (SupervisorsError, TimeoutError) as error:
                problems.append(f"{name}: {error!r}")
        return problems

    async def _mend_team(self, name: str) -> list[str]:
        team = whereis(name)
        if not isinstance(team, SupervisorRef):
            return [f"{name} is not there"]
        problems: list[str] = []
        for child in await self._children(team):
            if child.ref is None:
                await team.restart_child(child.id)
            if child.ref is None or child.ref == "restarting" or not child.ref.is_alive():
                problems.append(f"{name}: {child}")
        return problems

    async def _mend_pool(self, name: str) -> list[str]:
        pool = whereis(name)
        if not isinstance(pool, DynamicSupervisorRef):
            return [f"{name} is not there"]
        children = await self._children(pool)
        for _ in range(POOLS_CHILDREN - len(children)):
            await pool.start_child(pool_child(name, self._rng))
        for child in children[POOLS_CHILDREN:]:
            await pool.terminate_child(child.ref)
        if len(children) != POOLS_CHILDREN:
            return [f"{name}: {len(children)} children"]
        return [f"{name}: {c}" for c in children if c.ref == "restarting" or not c.ref.is_alive()]

    @staticmethod
    async def _children(supervisor: Any) -> list[Child]:
        async with asyncio.timeout(5.0):
            children: list[Child] = await supervisor.which_children()
        return children

    # ---- the names are right

    async def _check_names(self) -> None:
        unique = whereis(UNIQUE)
        assert isinstance(unique, RegistryRef)
        expected = 0
        for team, names in self._field.teams.items():
            children = {c.id: c.ref for c in await self._children(whereis(team))}
            members = {children[name] for name in names}
            for name in names:
                self._same(f"the name {name}", children[name], whereis(name))
                self._same(f"the key {name}", children[name], unique.whereis(name))
            self._same(f"the members of {team}", members, set(self._field.members(team)))
            expected += len(members)
        for pool in self._field.pools:
            members = {child.ref for child in await self._children(whereis(pool))}
            self._same(f"the members of {pool}", members, set(self._field.members(pool)))
            expected += len(members)
        self._same("the size of the registry", expected, unique.count())
        for name, process in list(self._node.names.items()):
            self._same(f"the owner of {name}", name, process.name)
            self._same(f"the owner of {name} is alive", True, Ref.is_alive(process.ref))

    def _same(self, what: str, expected: Any, found: Any) -> None:
        if expected != found:
            self._ledger.violation("wrong name", f"{what}: {found}, not {expected}")

    # ---- everybody answers

    async def _check_answers(self) -> None:
        members = [
            ref
            for team in (*self._field.teams, *self._field.pools)
            for ref in self._field.members(team)
            if isinstance(ref, ActorRef) and issubclass(ref.actor_class, (Worker, Plain))
        ]
        for ref in members:
            try:
                answer = await ref.call(("echo", 0), 5.0)
            except SupervisorsError as error:
                answer = error
            if answer != ("re", 0):
                self._ledger.violation("no answer", f"{ref} gave {answer!r} to a call")

    # ---- memory does not grow

    def check_memory(self) -> None:
        """Compare the last third of the checks with the third before; the first is warm-up."""
        third = len(self.samples) // 3
        if third < 2:
            self._ledger.count("too short to judge memory")
            return
        for what, share, room in (("blocks", 0.03, 3_000), ("resident", 0.05, 4_000_000)):
            values = [getattr(sample, what) for sample in self.samples]
            middle = statistics.median(values[-2 * third : -third])
            last = statistics.median(values[-third:])
            if last > middle * (1 + share) + room:
                self._ledger.violation("memory grows", f"{what}: {middle:,.0f}, then {last:,.0f}")
