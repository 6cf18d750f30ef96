"""Neighbourhoods: a placement is improved a few nodes at a time, each part solved exactly.

A neighbourhood is an instance of its own: some nodes, all pods that are on them, and some
gangs that wait. Members of gangs that reach beyond those nodes may move, but not go. If
their gang asks for levels of the network they stay, as running pods of the part.
"""

import random
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

from placer.judge.breaches import breaches
from placer.judge.measure import Worth, are_tier_values_better, measure
from placer.search.budget import SolveBudget
from placer.search.exact import Progress
from placer.search.outside_witnesses import (
    closed_copies_of_outside_nodes,
    nodes_of_pods_without_company,
    witness_pods_on_outside_nodes,
)
from placer.search.replace_node import greedy_placement, improve_exactly, place_by_expected_cost
from placer.state.affinity import any_asks_for_others
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.goals import (
    MOVES,
    Tier,
    number_of_tiers_before_links,
    number_of_tiers_before_locality,
    placed_tier,
)
from placer_models.moves import vacated_homes
from placer_models.node_rules import node_rules_allow
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import NamespacedName, Placement, PodPlacement
from placer_models.pod import Gang, Pod, PodSpec, Resources, pods_of_gangs

FEWEST_NODES = 3
MOST_NODES = 12
"""Nodes of a neighbourhood: more of them while nothing improves."""

MOST_WAITING = 6
"""The most gangs that wait and are tried together."""

FRUITLESS_ROUNDS = 40
"""How many neighbourhoods in a row without any improvement end the search."""

ROUNDS_TO_REPAIR = 4
"""How many rounds pass from one repair of nodes that tier 1 has left rough to the next."""

ORDERS = 4
"""How many orders of a part's gangs are tried for the expected pods' sake."""

SLICE_S = 2.0
"""Seconds (of time or of work) that one neighbourhood may take."""


@dataclass(slots=True)
class NeighbourhoodSearch:
    """The search and where it stands.

    Attributes:
        values: The worth of the placement, tier by tier, kept by adding differences.
        limits: Per tier, a value that nothing can beat, or None if unknown.
        rough: Nodes whose pods were moved for tier 1's sake, later tiers ignored.

    """

    instance: Instance
    placement: Placement
    tiers: Sequence[Tier]
    values: list[int]
    limits: Sequence[int | None]
    budget: SolveBudget
    rng: random.Random
    size: int = FEWEST_NODES
    rough: set[str] = field(default_factory=set)
    accepted: int = 0
    tried: int = 0
    _gang_of: dict[tuple[str, str], Gang] = field(init=False)
    _pod_of: dict[tuple[str, str], Pod] = field(init=False)
    _home_of: dict[tuple[str, str], PodPlacement] = field(init=False)
    _affine: bool = field(init=False)

    def __post_init__(self) -> None:
        self._gang_of = {pod.key: gang for gang in self.instance.gangs for pod in gang.pods}
        self._pod_of = {pod.key: pod for pod in pods_of_gangs(self.instance.gangs)}
        self._home_of = {home.key: home for home in self.instance.homes}
        self._affine = any_asks_for_others(self.instance)

    def run(self, progress: Progress) -> None:
        """Search until the budget is gone, nothing is left to gain or nothing helps."""
        fruitless = 0
        while not self.budget.over and fruitless < FRUITLESS_ROUNDS and self._open():
            self.tried += 1
            progress(f"neighbourhood {self.tried}, {self.accepted} improved")
            if self.solve_part(*self._pick()):
                self.accepted += 1
                fruitless = 0
            else:
                fruitless += 1
                if fruitless % 5 == 0:
                    self.size = min(MOST_NODES, self.size + 1)

    def follow(self, parts: Iterable[tuple[set[str], list[Gang]]], progress: Progress) -> bool:
        """Try parts that were proposed; return whether any of them helps."""
        helped = False
        for nodes, waiting in parts:
            if self.budget.over:
                break
            progress(f"making room on {len(nodes)} nodes")
            helped = self.solve_part(nodes, waiting) or helped
        return helped

    def _open(self) -> list[Tier]:
        """Return the tiers that could still be better."""
        current = zip(self.tiers, self.values, self.limits, strict=True)
        return [tier for tier, value, limit in current if value != limit]

    def _pick(self) -> tuple[set[str], list[Gang]]:
        """Choose the nodes to clear and the waiting gangs to try on them."""
        nodes = [node for node in self.instance.nodes if not (node.cordoned or node.closed)]
        waiting = self._waiting()
        if not waiting or (self.rough and self.tried % ROUNDS_TO_REPAIR == 0):
            names = set(sorted(self.rough)[: self.size])
            self.rough -= names
            names |= self._homes_of_movers()
            names |= self._sample(nodes, max(0, self.size - len(names)))
            used = sorted({place.node for place in self.placement.pods})
            if used and names.isdisjoint(used):
                names.add(self.rng.choice(used))  # Without a pod there is nothing to improve.
            return names, []
        chosen = self.rng.sample(waiting, min(MOST_WAITING, len(waiting)))
        specs = {pod.spec for pod in chosen[0].pods}
        able = [node for node in nodes if any(node_rules_allow(node, spec) for spec in specs)]
        # Nodes with room for pods that are in the first gang's way, nodes that it could take
        # with such a pod on them, and some by chance.
        roomy = self._with_room(nodes, chosen[0].pods[0].spec, max(1, self.size // 3))
        in_the_way = self._could_go_to(roomy, able)
        names = {node.name for node in roomy}
        names |= self._sample(in_the_way, max(1, self.size // 3))
        names |= self._sample(able, max(1, self.size - len(names)))
        return names, [*chosen, *self._same_groups(chosen, waiting)]

    def _waiting(self) -> list[Gang]:
        """Return the gangs without a place at levels that could still be better."""
        open_levels = {tier.name for tier in self._open()}
        placed = {place.key for place in self.placement.pods}
        return [
            gang
            for gang in self.instance.gangs
            if placed_tier(gang.priority).name in open_levels
            and not any(pod.key in placed for pod in gang.pods)
        ]

    def _with_room(self, nodes: list[Node], spec: PodSpec, count: int) -> list[Node]:
        """Draw nodes: the more a node has left of what the spec wants most, the likelier it is."""
        wanted = {request.type for request in spec.requests.devices}
        left: dict[str, float] = {}
        for node in nodes:
            devices = sum(d.type in wanted and node.is_healthy(d) for d in node.devices)
            cpus = len(node.machine.topology.online - node.reserved_cpus)
            left[node.name] = devices if wanted else cpus
        for name, held in self._holdings():
            if name in left:
                devices = sum(d.count for d in held.devices if d.type in wanted)
                left[name] -= devices if wanted else held.cpu_milli / 1000
        weights = [max(left[node.name], 0.0) for node in nodes]
        if not any(weights):
            return []
        return self.rng.choices(nodes, weights, k=count)

    def _could_go_to(self, roomy: list[Node], able: list[Node]) -> list[Node]:
        """Return the able nodes with a pod that some roomy node, itself not able, admits."""
        names = {node.name for node in able}
        others = [node for node in roomy if node.name not in names]
        found = {
            place.node
            for place in self.placement.pods
            if place.node in names
            and any(node_rules_allow(node, self._pod_of[place.key].spec) for node in others)
        }
        return [node for node in able if node.name in found]

    def _holdings(self) -> Iterator[tuple[str, Resources]]:
        """Yield node and requests of every pod that has a place, running ones too."""
        for running in self.instance.running:
            yield running.placement.node, running.pod.spec.requests
        for place in self.placement.pods:
            yield place.node, self._pod_of[place.key].spec.requests

    def _sample(self, nodes: list[Node], size: int) -> set[str]:
        return {node.name for node in self.rng.sample(nodes, min(size, len(nodes)))}

    def _same_groups(self, chosen: list[Gang], waiting: list[Gang]) -> Iterator[Gang]:
        """Yield the gangs without which a chosen one cannot run."""
        keys = {gang.key for gang in chosen}
        for group in self.instance.groups:
            if keys & set(group.gangs):
                yield from (
                    gang for gang in waiting if gang.key in group.gangs and gang.key not in keys
                )

    def solve_part(self, nodes: set[str], waiting: list[Gang]) -> bool:
        """Solve a part of the cluster anew; keep what that finds if it is better.

        Args:
            nodes: Names of its nodes.
            waiting: Gangs without a place that may have one there.

        Returns:
            Whether it was better.

        """
        part, start = self._part(nodes, waiting)
        if not part.gangs:
            return False
        before = measure(part, start)
        budget = self.budget.part(SLICE_S)
        if waiting:
            levels = len({gang.priority for gang in part.gangs})
            after = improve_exactly(part, start, before[:levels], budget)
            if after is not None:
                # Room was made at any price; now at the lowest, in the tiers before the links.
                worth = measure(part, after)
                worth = worth[: number_of_tiers_before_links([tier for tier, _ in worth])]
                after = improve_exactly(part, after, worth, budget, settled=levels) or after
                self.rough |= nodes
        else:
            after = self._repaired(part, start, before, budget)
            if part.strategy is NodeStrategy.EXPECTED:
                after = self._for_expected_pods(part, start if after is None else after)
        self.budget.spend(budget)
        return after is not None and self._accept(part, before, start, after)

    def lay_anew(self, node: str) -> Worth:
        """Place the pods of a node as the greedy path would; keep that if it is better.

        Returns:
            What the pods of the node are worth now.

        """
        part, start = self._part({node}, [])
        before = measure(part, start)
        if not part.gangs:
            return before
        after = greedy_placement(part)
        if after is None:
            return before
        worth = measure(part, after)
        taken = are_tier_values_better(worth, before) and self._accept(part, before, start, after)
        return worth if taken else before

    def _repaired(
        self, part: Instance, start: Placement, before: Worth, budget: SolveBudget
    ) -> Placement | None:
        """Return a better placement of the same pods; default locality comes after the rest."""
        local = number_of_tiers_before_locality([tier for tier, _ in before])
        after = improve_exactly(part, start, before[:local], budget)
        if local == len(before):
            return after
        worth = before if after is None else measure(part, after)
        return improve_exactly(part, after or start, worth, budget, settled=local) or after

    def _for_expected_pods(self, part: Instance, best: Placement) -> Placement:
        """Return the better of a placement and of others that the last tier chooses by.

        No model states that tier, so gangs are placed one after the other in random orders.
        """
        worth = measure(part, best)
        for _ in range(ORDERS):
            turns = self.rng.sample(range(len(part.gangs)), len(part.gangs))
            after = place_by_expected_cost(part, turns)
            if after is not None and are_tier_values_better(found := measure(part, after), worth):
                best, worth = after, found
        return best

    def _accept(self, part: Instance, before: Worth, start: Placement, after: Placement) -> bool:
        """Take over what a part has come to, if that is better for the whole."""
        moved = {pod.key for pod in pods_of_gangs(part.gangs)}
        kept = [place for place in self.placement.pods if place.key not in moved]
        whole = Placement((*kept, *after.pods))
        same_pods = {place.key for place in start.pods} == {place.key for place in after.pods}
        # Pods that stay, as if they ran, may rely on one that moved, or want to be with it.
        if self._affine and breaches(self.instance, whole):
            return False
        # To a strategy, pods that stay, as if they ran, are not pods of the batch.
        adds_up = self.instance.strategy is NodeStrategy.USABLE and not self._affine
        if same_pods and adds_up:
            gains = {
                tier.name: new - old
                for (tier, old), (_, new) in zip(before, measure(part, after), strict=True)
            }
            self.values = [
                value + gains.get(tier.name, 0)
                for tier, value in zip(self.tiers, self.values, strict=True)
            ]
        else:
            # If other pods run now, the best links for them are seen only over all nodes,
            # so the part's own measure does not do.
            worth = measure(self.instance, whole)
            if not are_tier_values_better(worth, tuple(zip(self.tiers, self.values, strict=True))):
                return False
            self.values = [value for _, value in worth]
        self.placement = whole
        return True

    def _part(self, nodes: set[str], waiting: list[Gang]) -> tuple[Instance, Placement]:
        """Return the neighbourhood as an instance, and its pods' present places.

        Nodes of pods that are the first of their kind belong to every part.
        """
        everyone = self._everyone()
        placed = everyone[len(self.instance.running) :]
        nodes = nodes | nodes_of_pods_without_company(placed, everyone)
        here = [place for place in self.placement.pods if place.node in nodes]
        inside = {place.key for place in here}
        away = {place.key for place in self.placement.pods} - inside
        touched = {self._gang_of[key].key for key in inside}
        reaching = {self._gang_of[key].key for key in away}
        left = self._moves_left(inside)
        stay = {
            place.key
            for place in here
            if self._stays(place.key, reaching) or (left == 0 and place.key in self._home_of)
        }
        here = [place for place in here if place.key not in stay]
        touched -= {self._gang_of[key].key for key in stay}
        free = (touched - reaching) | {gang.key for gang in waiting}
        groups = []
        for group in self.instance.groups:
            members = set(group.gangs)
            if members <= free:
                groups.append(group)
            else:
                free -= members
        top = 1 + max((gang.priority for gang in self.instance.gangs), default=0)
        gangs = []
        for gang in self.instance.gangs:
            if gang.key in free:
                gangs.append(gang)
            elif gang.key in touched:
                gangs.append(_held(gang, inside, top))
        witnesses = witness_pods_on_outside_nodes(everyone, nodes, gangs, self.instance.nodes)
        return Instance(
            nodes=(
                *(node for node in self.instance.nodes if node.name in nodes),
                *closed_copies_of_outside_nodes(self.instance.nodes, witnesses, nodes, gangs),
            ),
            gangs=tuple(gangs),
            groups=tuple(groups),
            running=(
                *(r for r in self.instance.running if r.placement.node in nodes),
                *(RunningPod(self._pod_of[p.key], p) for p in self.placement.pods if p.key in stay),
                *witnesses,
            ),
            move_budget=left,
            homes=tuple(self._home_of[p.key] for p in here if p.key in self._home_of),
            gone=self.instance.gone,
            is_question=self.instance.is_question,
            strategy=self.instance.strategy,
            demand=self.instance.demand,
        ), Placement(tuple(here))

    def _moves_left(self, inside: Set[NamespacedName]) -> int:
        """Return how many of the pods that are inside and have a home may be elsewhere."""
        gone = {home.key for home in vacated_homes(self.instance, self.placement)}
        return self.instance.move_budget - len(gone - inside)

    def _homes_of_movers(self) -> set[str]:
        """Return the node of a pod that has moved, and of its home, if fewer could move."""
        if MOVES not in self._open():
            return set()
        home = self.rng.choice(vacated_homes(self.instance, self.placement))
        return {home.node, *(p.node for p in self.placement.pods if p.key == home.key)}

    def _everyone(self) -> list[RunningPod]:
        """Return every pod that has a place, running ones first."""
        placed = (RunningPod(self._pod_of[place.key], place) for place in self.placement.pods)
        return [*self.instance.running, *placed] if self._affine else []

    def _stays(self, pod: NamespacedName, reaching: Set[NamespacedName]) -> bool:
        """Return whether the part cannot see what a move of the pod would mean for its gang."""
        gang = self._gang_of[pod]
        return bool(gang.levels) and gang.key in reaching


def _held(gang: Gang, inside: set[tuple[str, str]], priority: int) -> Gang:
    """Return the members that are inside as a gang that has to keep its places.

    Others of its gang or group run elsewhere and rely on them, so none of them is given up.
    """
    pods = tuple(pod for pod in gang.pods if pod.key in inside)
    return replace(gang, pods=pods, minimum=len(pods), priority=priority)
