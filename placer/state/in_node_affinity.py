"""Affinity inside a node as a Problem has it: owners of CPUs by core and NUMA node (C18)."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from placer.counting.account import Account
from placer.counting.cores import core_classes, cpus_still_on_node, owners_of_cores
from placer_models.affinity import INSIDE, AffinityTerm, InNodeAffinityLevel
from placer_models.cluster import Node, RunningPod
from placer_models.goals import Tier
from placer_models.pod import PodSpec
from placer_models.problem.node_state import CoreClassGranularity, Guest, NodeState
from placer_models.problem.tasks import InNodeAffinityOfShape, NumaOrCoreAffinityTerm


@dataclass(frozen=True, slots=True)
class InNodeAffinityPod:
    """All that affinity looks at of a pod that owns CPUs.

    Attributes:
        terms: What it asks of others inside a node; for a running pod, only what still counts.

    """

    namespace: str
    labels: tuple[tuple[str, str], ...]
    terms: tuple[AffinityTerm, ...]

    def means(self, term: AffinityTerm, other: "InNodeAffinityPod") -> bool:
        """Return whether a term of this side means the other."""
        looked_at = term.looks_into(other.namespace, self.namespace)
        return looked_at and term.means(other.labels, owns_cpus=True)


_Kind = tuple[InNodeAffinityPod, int]
"""The side of a running pod, and a number that tells it from equal ones on its node."""


@dataclass(frozen=True, slots=True)
class InNodeAffinityPods:
    """The sides of pods inside nodes, and how they affect each other.

    Attributes:
        of_shapes: The affinity of each shape; None if it and others do not affect each other.
        running: Kind of running pods -> its number.
        counted: The sides of running pods that count one by one, because a waiting pod would
            rather be apart from each.

    """

    of_shapes: tuple[InNodeAffinityOfShape | None, ...] = ()
    running: Mapping[_Kind, int] = field(default_factory=dict)
    counted: Collection[InNodeAffinityPod] = ()

    @property
    def on_cores(self) -> bool:
        """Whether it matters which pods are on which core."""
        return any(
            InNodeAffinityLevel.CORE in affinity.levels for affinity in self.of_shapes if affinity
        )


def any_has_in_node_affinity(specs: Iterable[PodSpec]) -> bool:
    """Return whether any pod asks for others inside a node."""
    return any(term.inside for spec in specs for term in spec.affinity)


def pod_affinity_sides_in_node(
    accounts: Iterable[Account], asking: Sequence[tuple[PodSpec, str]]
) -> InNodeAffinityPods:
    """Return the sides of running pods and of shapes, which are given with their namespaces."""
    waiting = {
        index: InNodeAffinityPod(
            namespace, spec.labels, tuple(t for t in spec.affinity if t.inside)
        )
        for index, (spec, namespace) in enumerate(asking)
        if spec.qos.owns_cpus
    }
    on_nodes = [[_running_side(runner) for runner in account.cores.owners] for account in accounts]
    counted = _counted(waiting.values(), {side for sides in on_nodes for side in sides})
    running: dict[_Kind, int] = {}
    for sides in on_nodes:
        for kind in _kinds(sides, counted):
            running.setdefault(kind, len(asking) + len(running))
    everyone = [*waiting.items(), *((number, side) for (side, _), number in running.items())]
    found = tuple(
        _of_shape(index, waiting, everyone) if index in waiting else None
        for index in range(len(asking))
    )
    return InNodeAffinityPods(found, running, counted)


def with_affinity_guests(
    nodes: Sequence[NodeState],
    originals: Sequence[Node],
    accounts: Sequence[Account],
    sides: InNodeAffinityPods,
    core_tiers: Collection[Tier],
    granularity: CoreClassGranularity,
) -> tuple[NodeState, ...]:
    """Return the nodes with the guests that own CPUs of their cells and cores already."""
    met = {
        number
        for affinity in sides.of_shapes
        if affinity is not None
        for number in _looked_at(affinity)
    }

    def said(numbers: Iterable[int]) -> frozenset[Guest]:
        # Running pods that count one by one each have a side of their own.
        return frozenset((number, 0) for number in met.intersection(numbers))

    found = []
    for state, node, account in zip(nodes, originals, accounts, strict=True):
        kinds = _kinds(map(_running_side, account.cores.owners), sides.counted)
        numbers = [sides.running[kind] for kind in kinds]
        on_cells: defaultdict[int | None, set[int]] = defaultdict(set)
        for number, runner in zip(numbers, account.cores.owners, strict=True):
            for cpu in cpus_still_on_node(node, runner):
                on_cells[node.machine.topology.cpu[cpu].numa_node].add(number)
        cells = tuple(
            cell._replace(guests=said(on_cells[cell.numa_node])) if cell.real else cell
            for cell in state.cells
        )
        cores = state.cores
        if granularity is CoreClassGranularity.WHO:
            on_cores = owners_of_cores(node, account.cores.owners)
            classes = core_classes(node, account.cores, core_tiers, granularity)
            keys = [node.machine.topology.core_facts[first].key for _, (first, *_) in classes]
            cores = tuple(
                c._replace(guests=said(numbers[i] for i in on_cores.get(key, ())))
                for c, key in zip(cores, keys, strict=True)
            )
        same = cells == state.cells and cores == state.cores
        found.append(state if same else replace(state, cells=cells, cores=cores))
    return tuple(found)


def _counted(
    waiting: Collection[InNodeAffinityPod], running: Iterable[InNodeAffinityPod]
) -> frozenset[InNodeAffinityPod]:
    """Return the running sides that a preferred anti-affinity of a waiting one means."""
    return frozenset(
        side
        for side in running
        if any(
            term.apart and not term.required and other.means(term, side)
            for other in waiting
            for term in other.terms
        )
    )


def _kinds(
    sides: Iterable[InNodeAffinityPod], counted: Collection[InNodeAffinityPod]
) -> list[_Kind]:
    """Return the kinds of the running pods of a node."""
    seen: Counter[InNodeAffinityPod] = Counter()
    kinds = []
    for side in sides:
        kinds.append((side, seen[side]))
        seen[side] += side in counted
    return kinds


def _running_side(runner: RunningPod) -> InNodeAffinityPod:
    spec = runner.pod.spec
    terms = tuple(t for t in spec.affinity if t.inside and t.apart and t.required)
    return InNodeAffinityPod(runner.pod.namespace, spec.labels, terms)


def _of_shape(
    index: int,
    waiting: Mapping[int, InNodeAffinityPod],
    everyone: Sequence[tuple[int, InNodeAffinityPod]],
) -> InNodeAffinityOfShape | None:
    """Return how a shape and others affect each other, or None if they do not."""
    mine = waiting[index]
    off: dict[InNodeAffinityLevel, set[int]] = {level: set() for level in INSIDE}
    rather_off: dict[InNodeAffinityLevel, Counter[int]] = {level: Counter() for level in INSIDE}
    levels = set()
    terms = []
    for term in mine.terms:
        matches = frozenset(number for number, other in everyone if mine.means(term, other))
        runs = any(number not in waiting for number in matches)
        terms.append(
            NumaOrCoreAffinityTerm(
                term.level, matches, term.apart, term.required, term.weight, runs
            )
        )
        levels.add(term.level)
        if term.apart and term.required:
            off[term.level] |= matches
    for number, other in everyone:
        for term in other.terms:
            if other.means(term, mine):
                levels.add(term.level)
                if term.apart and term.required:
                    off[term.level].add(number)
                elif term.apart:
                    rather_off[term.level][number] += term.weight
    if not levels:
        return None
    return InNodeAffinityOfShape(
        side=index,
        terms=tuple(terms),
        off=tuple((level, frozenset(sides)) for level, sides in off.items() if sides),
        rather_off=tuple((at, tuple(sides.items())) for at, sides in rather_off.items() if sides),
        levels=tuple(level for level in INSIDE if level in levels),
    )


def _looked_at(affinity: InNodeAffinityOfShape) -> Iterator[int]:
    """Yield the sides whose presence matters to a shape."""
    for term in affinity.terms:
        yield from term.matches
    for _, sides in affinity.off:
        yield from sides
    for _, minding in affinity.rather_off:
        yield from dict(minding)
