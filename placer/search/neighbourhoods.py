"""Improve a placement a few nodes at a time, each part solved exactly.

A neighbourhood is an instance of its own: some nodes, the gangs that are wholly on them,
and gangs that wait. Pods of gangs that reach beyond those nodes stay where they are.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from placer.judge.measure import measure
from placer.realise.pools import with_pools
from placer.realise.realiser import Unrealisable, realise
from placer.search.budget import Budget
from placer.search.exact import search_exactly
from placer.search.tiers import Progress
from placer.state.batch import accounts_of, build_problem
from placer.state.fits import admits
from placer.state.recount import recount
from placer_models.cluster import Instance, RunningPod
from placer_models.goals import Tier
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import Gang

FEWEST_NODES = 3
MOST_NODES = 12
"""Nodes of a neighbourhood: grows while nothing improves, shrinks when one takes long."""

MOST_WAITING = 6
"""Gangs that wait and are tried together."""

FRUITLESS_ROUNDS = 40
"""Neighbourhoods in a row without any improvement that end the search."""

SLICE_S = 2.0
"""Seconds (of time or of work) that one neighbourhood may take."""


@dataclass(slots=True)
class Neighbourhoods:
    """The search and where it stands.

    Attributes:
        values: The worth of the placement, tier by tier, kept by adding differences.
        limits: Per tier a value that nothing can beat; None: not known.

    """

    instance: Instance
    placement: Placement
    tiers: Sequence[Tier]
    values: list[int]
    limits: Sequence[int | None]
    budget: Budget
    rng: random.Random
    size: int = FEWEST_NODES
    accepted: int = 0
    tried: int = 0
    _gang_of: dict[tuple[str, str], Gang] = field(init=False)

    def __post_init__(self) -> None:
        self._gang_of = {pod.key: gang for gang in self.instance.gangs for pod in gang.pods}

    def run(self, progress: Progress) -> None:
        """Search until the budget is gone, nothing is left to gain or nothing helps."""
        fruitless = 0
        while not self.budget.over and fruitless < FRUITLESS_ROUNDS and not self._at_limits():
            self.tried += 1
            progress(f"neighbourhood {self.tried}, {self.accepted} improved")
            if self._try(*self._pick()):
                self.accepted += 1
                fruitless = 0
            else:
                fruitless += 1
                if fruitless % 5 == 0:
                    self.size = min(MOST_NODES, self.size + 1)
        self.placement = with_pools(self.instance, self.placement)

    def _at_limits(self) -> bool:
        return all(a == b for a, b in zip(self.values, self.limits, strict=True))

    def _pick(self) -> tuple[set[str], list[Gang]]:
        """Choose the nodes to clear and the waiting gangs to try on them."""
        on_node = self._pods_by_node()
        placed = {place.key for place in self.placement.pods}
        waiting = [
            gang for gang in self.instance.gangs if not any(pod.key in placed for pod in gang.pods)
        ]
        names = [node.name for node in self.instance.nodes if not node.cordoned]
        if not waiting:
            return set(self.rng.sample(names, min(self.size, len(names)))), []
        chosen = self.rng.sample(waiting, min(MOST_WAITING, len(waiting)))
        specs = {pod.spec for gang in chosen[:1] for pod in gang.pods}
        able = [
            node.name for node in self.instance.nodes if any(admits(node, spec) for spec in specs)
        ]
        # The emptier a node, the likelier that clearing it makes room; ties by chance.
        able.sort(key=lambda name: (len(on_node[name]) * self.rng.random(), self.rng.random()))
        return set(able[: self.size]), [*chosen, *self._same_groups(chosen, waiting)]

    def _same_groups(self, chosen: list[Gang], waiting: list[Gang]) -> Iterator[Gang]:
        """Yield the gangs without which a chosen one cannot run."""
        keys = {gang.key for gang in chosen}
        for group in self.instance.groups:
            if keys & set(group.gangs):
                yield from (
                    gang for gang in waiting if gang.key in group.gangs and gang.key not in keys
                )

    def _pods_by_node(self) -> defaultdict[str, list[PodPlacement]]:
        on_node: defaultdict[str, list[PodPlacement]] = defaultdict(list)
        for place in self.placement.pods:
            on_node[place.node].append(place)
        return on_node

    def _try(self, nodes: set[str], waiting: list[Gang]) -> bool:
        """Solve the neighbourhood; keep what it finds if that is better."""
        part, start = self._part(nodes, waiting)
        if not part.gangs:
            return False
        accounts = accounts_of(part)
        problem = build_problem(part, accounts)
        before = measure(part, start)
        own = self.budget.part(SLICE_S)
        found = search_exactly(
            problem,
            recount(part, accounts, problem, start),
            [value for _, value in before],
            own,
            _silent,
        )
        self.budget.spend(own)
        if found.choices is None:
            return False
        after = realise(part, accounts, problem, found.choices)
        if isinstance(after, Unrealisable):
            return False
        gains = {
            tier.name: new - old
            for (tier, old), (_, new) in zip(before, measure(part, after), strict=True)
        }
        if not any(gains.values()):
            return False
        self.values = [
            value + gains.get(tier.name, 0)
            for tier, value in zip(self.tiers, self.values, strict=True)
        ]
        moved = {pod.key for gang in part.gangs for pod in gang.pods}
        kept = [place for place in self.placement.pods if place.key not in moved]
        self.placement = Placement((*kept, *after.pods))
        return True

    def _part(self, nodes: set[str], waiting: list[Gang]) -> tuple[Instance, Placement]:
        """Return the neighbourhood as an instance, and its pods' present places."""
        homes: defaultdict[tuple[str, str, bool], set[str]] = defaultdict(set)
        for place in self.placement.pods:
            gang = self._gang_of[place.key]
            homes[(*gang.key, gang.lone)].add(place.node)
        free = {key for key, at in homes.items() if at <= nodes}
        free |= {(*gang.key, gang.lone) for gang in waiting}
        groups = []
        for group in self.instance.groups:
            members = {(*key, False) for key in group.gangs}
            if members <= free:
                groups.append(group)
            else:
                free -= members
        gangs = tuple(g for g in self.instance.gangs if (*g.key, g.lone) in free)
        mine = {pod.key for gang in gangs for pod in gang.pods}
        pods = {pod.key: pod for gang in self.instance.gangs for pod in gang.pods}
        here = [place for place in self.placement.pods if place.node in nodes]
        return Instance(
            nodes=tuple(node for node in self.instance.nodes if node.name in nodes),
            gangs=gangs,
            groups=tuple(groups),
            running=(
                *(r for r in self.instance.running if r.placement.node in nodes),
                *(RunningPod(pods[p.key], p) for p in here if p.key not in mine),
            ),
        ), Placement(tuple(place for place in here if place.key in mine))


def _silent(_: str) -> None:
    """Tell nobody: the neighbourhood as a whole has been told of."""
