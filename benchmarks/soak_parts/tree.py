"""The tree: regions over teams over workers, about 1,000 of these. Who is where, and its name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from soak_parts.workers import (
    MEMBERS,
    UNIQUE,
    Plain,
    Sieve,
    Threaded,
    Tight,
    Trapper,
    Worker,
)
from supervisors import (
    BRUTAL_KILL,
    Backoff,
    ChildSpec,
    DynamicSupervisor,
    Ref,
    Registry,
    RegistryRef,
    Supervisor,
    whereis,
)

NO_LIMIT: dict[str, Any] = {"max_restarts": 1_000_000_000, "max_seconds": 1.0}
EASY: dict[str, Any] = {"max_restarts": 4, "max_seconds": 2.0}
"""The limits of a team: low enough to be broken now and then."""
POOLS_CHILDREN = 60
KINDS = (Worker, Worker, Worker, Trapper, Tight, Sieve)


class Field:
    """The names of everything that can be asked, watched or broken."""

    def __init__(self, regions: int, seed: int) -> None:
        self.regions = [f"r{i}" for i in range(regions)]
        self.teams: dict[str, list[str]] = {}
        """The names of the workers of a static team."""
        self.pools: list[str] = []
        """The names of the dynamic supervisors."""
        self._rng = random.Random(seed)

    def specs(self) -> list[ChildSpec]:
        """The children of the top supervisor."""
        return [
            Registry.child_spec("unique", name=UNIQUE),
            Registry.child_spec("duplicate", name=MEMBERS),
            *(self._region(region) for region in self.regions),
        ]

    def _region(self, region: str) -> ChildSpec:
        teams = [self._team(f"{region}.one", 50, "one_for_one")]
        for i in range(5):
            teams += [
                self._team(f"{region}.all{i}", 8, "one_for_all"),
                self._team(f"{region}.rest{i}", 8, "rest_for_one"),
            ]
        for i in range(2):
            name = f"{region}.pool{i}"
            self.pools.append(name)
            teams.append(DynamicSupervisor.child_spec(name=name, **EASY))
        return Supervisor.child_spec(teams, name=region, **NO_LIMIT)

    def _team(self, team: str, size: int, strategy: str) -> ChildSpec:
        names = self.teams[team] = [f"{team}.{i}" for i in range(size)]
        specs = [self._worker(team, name) for name in names]
        if strategy == "one_for_one":
            specs.append(ChildSpec("threaded", Threaded.start, shutdown=1.0))
        return Supervisor.child_spec(specs, strategy=strategy, name=team, **EASY)

    def _worker(self, team: str, name: str) -> ChildSpec:
        kind = self._rng.choice(KINDS)
        return kind.child_spec(
            team,
            name,
            name=name,
            shutdown=self._rng.choice((0.05, 1.0, BRUTAL_KILL)),
            restart_delay=self._rng.choice((None, None, None, Backoff(0.01, 0.1))),
        )

    # ---- finding one

    def names(self) -> Iterator[str]:
        """The names of all static workers."""
        for names in self.teams.values():
            yield from names

    def any_worker(self, rng: random.Random) -> Ref | None:
        """A worker that is up."""
        if rng.random() < 0.4:
            members = self.members(rng.choice(self.pools))
        else:
            team = rng.choice(list(self.teams))
            if rng.random() < 0.7:
                return whereis(rng.choice(self.teams[team]))
            members = self.members(team)
        return rng.choice(members) if members else None

    @staticmethod
    def members(team: str) -> list[Ref]:
        """The members of a team, as the registry has them."""
        registry = whereis(MEMBERS)
        if not isinstance(registry, RegistryRef):
            return []  # it has been taken down
        return [ref for ref, _ in registry.lookup(team)]


def pool_child(pool: str, rng: random.Random) -> ChildSpec:
    """The spec of one more child of a pool."""
    restart: Any = rng.choice(("permanent", "transient", "temporary"))
    if rng.random() < 0.1:
        return ChildSpec("plain", Plain.start, restart, args=(pool,))
    return rng.choice(KINDS).child_spec(pool, restart=restart, shutdown=0.5)
