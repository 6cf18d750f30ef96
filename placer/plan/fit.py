"""The number of further pods of a shape that fit: a judged placement, a bound, and what stops it.

A pod that looks at nobody else fits on each node by itself: the fast path fills each state of
nodes once, sums bound it, and where the two differ the exact search looks at the node alone. A
pod that looks at others is placed by the whole search, on all nodes together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from placer.greedy.node_table import GreedyNodeTable
from placer.judge.breaches import breaches
from placer.plan.fit_answer import FitCount, NodesWithSameFitBlocker
from placer.plan.market import max_item_count_in_empty_bin
from placer.plan.relax import bin_kind_of_node
from placer.search.baseline import StartingAccounts, placed_pods_as_running, starting_accounts_of
from placer.search.budget import SolveBudget
from placer.search.judged import RejectedPlacement, realise_and_judge
from placer.search.options import Engine, SolveOptions
from placer.search.reasons.stages import nodes_at_occupancy_stages
from placer.search.reasons.text import blocker_text
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer.state.out_of_time import OutOfTimeError
from placer.state.requirements import PodRequirements
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.illegal_running import with_running_pods_counted_as_legal
from placer_models.kubernetes.names import INSTANCE_TYPES
from placer_models.placement import (
    Infeasible,
    NamespacedName,
    PartlyPlaced,
    Placed,
    Placement,
    PodPlacement,
)
from placer_models.pod import Gang, Pod, lone_gang
from placer_models.problem.problem import Choice, Choices, Problem
from placer_models.reasons import Blocker
from placer_models.relations import (
    asks_something_of_newcomers,
    asks_something_of_other_pods,
    term_matches_pod,
)

MOST_ON_A_NODE = 10_000
"""More pods than this on a node are a shape that takes nothing of what nodes have."""

MOST_SEARCHED = 4_000
"""So many pods that look at others are asked for at most."""

_POINTS = 2
"""What the first tier counts for a lone pod: its gang's minimum, and itself."""

_REASONS = 0.25
"""This part of the time is for what stops the next one."""

_LEAST_S = 0.05
_ONE_NODE_S = 2.0
"""So long the exact search looks at a node at most."""


_OnNode = tuple[tuple[PodPlacement, ...], int]
"""Places that were found, and how many there are at most."""


class BoundlessShapeError(ValueError):
    """A shape of which any number fits, because it takes nothing that nodes have in amounts."""


@dataclass(frozen=True, slots=True)
class FitCountTask:
    """A question of its own, which can be sent to another process.

    Attributes:
        instance: The nodes and what runs there; what waits does not count.
        pod: A pod of the shape; further ones are named by it and a number.
        changes: The changes that were made to the instance, in words.
        excluded: Names of nodes that no pod of the shape comes to.
        seconds: Wall-clock time.

    """

    instance: Instance
    pod: Pod
    changes: tuple[str, ...] = ()
    excluded: frozenset[str] = frozenset()
    seconds: float = 20.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _Filled:
    """How many pods go on a node in some state.

    Attributes:
        choices: The places that the fast path finds, one after the other.
        most: No more than this fit.

    """

    choices: tuple[Choice, ...]
    most: int


@dataclass(frozen=True, slots=True)
class _Found:
    """Pods on nodes.

    Attributes:
        counts: How many are on each node.
        bound: No more than this fit in all.
        keys: What decides on each node why the next one does not fit there.

    """

    instance: Instance
    placement: Placement
    counts: tuple[int, ...]
    bound: int
    keys: tuple[object, ...]


def count_fitting_pods(task: FitCountTask) -> FitCount:
    """Return how many further pods of the shape fit.

    Raises:
        BoundlessShapeError: Any number fits.

    """
    end_s = monotonic() + task.seconds
    base = _without_waiting(task)
    pod, baseline = task.pod, starting_accounts_of(base)
    search_s = end_s - _REASONS * task.seconds
    counter = _Counter(base, pod, baseline, search_s, task.seed)
    found = counter.by_node() if _is_for_itself(base, pod) else None
    found = found or counter.together()
    return FitCount(
        changes=task.changes,
        pod=pod,
        count=len(found.placement.pods),
        bound=found.bound,
        classes=tuple(_classes(task, found, end_s)),
        instance=found.instance,
        placement=found.placement,
    )


def _without_waiting(task: FitCountTask) -> Instance:
    """Return the instance with nobody who waits, and excluded nodes closed to new pods."""
    instance = with_running_pods_counted_as_legal(task.instance)
    busy = {one.placement.node for one in instance.running}
    nodes = tuple(
        replace(node, cordoned=True) if node.name in task.excluded else node
        for node in instance.nodes
        if not node.offered or node.opened or node.name in busy
    )
    return replace(instance, nodes=nodes, gangs=(), groups=(), left_out=(), move_budget=0)


def _is_for_itself(instance: Instance, pod: Pod) -> bool:
    """Return whether only a node itself decides how many pods of the shape it holds."""
    if asks_something_of_other_pods(pod.spec):
        return False
    new = RunningPod(pod, PodPlacement(pod.name, pod.namespace, None, "", frozenset()))
    asking = {
        (one.pod.namespace, one.pod.spec)
        for one in instance.running
        if asks_something_of_newcomers(one.pod.spec)
    }
    return not any(
        term_matches_pod(namespace, term, new)
        for namespace, spec in asking
        for term in spec.affinity
    )


@dataclass(slots=True)
class _Counter:
    """Counts how many pods of a shape fit on the nodes of an instance."""

    base: Instance
    pod: Pod
    baseline: StartingAccounts
    end_s: float
    seed: int
    _states: list[int] = field(init=False)
    _filled: dict[int, _Filled] = field(init=False)

    def __post_init__(self) -> None:
        one = replace(self.base, gangs=tuple(self._gangs(1)))
        table = GreedyNodeTable(self._problem(one))
        self._states = [table.state(node) for node in range(len(self.base.nodes))]
        self._filled = {
            state: self._fill(table, table.problem.pods[0], state)
            for state in dict.fromkeys(self._states)
        }

    def _problem(self, instance: Instance) -> Problem:
        accounts, cache = self.baseline.accounts, self.baseline.cache.problems
        return build_problem(instance, accounts, each_core=True, absolute=True, cache=cache)

    def _fill(self, table: GreedyNodeTable, shape: int, state: int) -> _Filled:
        node = bin_kind_of_node(table.problem, table.left(state), by_numa_node=True)
        most = max_item_count_in_empty_bin(node, shape, MOST_ON_A_NODE)
        if most >= MOST_ON_A_NODE:
            raise BoundlessShapeError(
                f"pod {self.pod.title!r} asks for nothing that nodes have only so much of: any "
                "number fits; let it ask for cpu or memory"
            )
        choices: list[Choice] = []
        while len(choices) < most and (bid := table.bid(shape, state)) is not None:
            choices.append(bid.choice)
            state = table.next_state(shape, state, bid)
        return _Filled(tuple(choices), most)

    def by_node(self) -> _Found | None:
        """Return the pods that each node holds by itself; None if they are not let pass."""
        closer = self._looked_into()
        counts = [
            len(closer[i][0]) if i in closer else len(self._filled[state].choices)
            for i, state in enumerate(self._states)
        ]
        bound = sum(
            closer[i][1] if i in closer else self._filled[state].most
            for i, state in enumerate(self._states)
        )
        instance = replace(self.base, gangs=tuple(self._gangs(sum(counts))))
        problem = self._problem(instance)
        choices: Choices = {}
        more: list[PodPlacement] = []
        first = 0
        for node, state in enumerate(self._states):
            if node in closer:
                more += self._renamed(closer[node][0], first)
            else:
                for number, choice in enumerate(self._filled[state].choices):
                    choices[first + number] = choice.on(node)
            first += counts[node]
        found = realise_and_judge(instance, self.baseline, problem, choices)
        if isinstance(found, RejectedPlacement):
            return None
        placement = Placement((*found.placement.pods, *more))
        if more and breaches(instance, placement):
            return None
        keys = tuple(zip(self._states, counts, strict=True))
        return _Found(instance, placement, tuple(counts), bound, keys)

    def _looked_into(self) -> dict[int, _OnNode]:
        """Return index of a node -> more pods than the fast path finds, or a nearer bound.

        Nodes in one state are alike: where the first one has no more, none has.
        """
        found: dict[int, _OnNode] = {}
        open_states = {s for s, filled in self._filled.items() if len(filled.choices) < filled.most}
        nodes = [node for node, state in enumerate(self._states) if state in open_states]
        first_of: dict[int, _OnNode] = {}
        for number, node in enumerate(nodes):
            filled = self._filled[state := self._states[node]]
            known = first_of.get(state)
            if known is not None and len(known[0]) == len(filled.choices):
                self._filled[state] = replace(filled, most=known[1])
                continue
            left_s = (self.end_s - monotonic()) / (len(nodes) - number)
            if left_s < _LEAST_S / 10:
                break
            places, most = self._on_node(node, filled.most, min(_ONE_NODE_S, left_s))
            most = min(most, known[1] if known else filled.most)
            first_of.setdefault(state, (places, most))
            if len(places) > len(filled.choices):
                found[node] = places, most
            else:
                self._filled[state] = replace(filled, most=min(filled.most, most))
        return found

    def _on_node(self, node: int, most: int, seconds: float) -> _OnNode:
        """Return places on one node, found by the exact search, and how many there are at most."""
        alone = self.base.nodes[node]
        running = self.baseline.running[node]
        gangs = {(one.pod.namespace, one.placement.gang) for one in running}
        instance = replace(
            self.base,
            nodes=(alone,),
            running=running,
            running_gangs=tuple(g for g in self.base.running_gangs if g.key in gangs),
            gangs=tuple(self._gangs(most)),
        )
        return self._solved(instance, most, seconds)

    def _solved(self, instance: Instance, most: int, seconds: float) -> _OnNode:
        options = SolveOptions(Engine.AUTO, max(_LEAST_S, seconds), workers=1, seed=self.seed)
        answer = solve(instance, options)
        match answer:
            case Placed() | PartlyPlaced():
                bound = answer.tiers[0].bound
                places = answer.placement.pods
                if isinstance(answer, Placed) or bound is None:
                    return places, most
                return places, min(most, bound // _POINTS)
            case Infeasible():
                return (), 0
            case _:
                return (), most

    def together(self) -> _Found:
        """Return the pods that all nodes hold together, for pods that look at each other."""
        most = sum(self._filled[state].most for state in self._states)
        asked = min(most, MOST_SEARCHED)
        instance = replace(self.base, gangs=tuple(self._gangs(asked)))
        placement, bound = Placement(()), most
        if asked:
            places, found = self._solved(instance, asked, self.end_s - monotonic())
            placement, bound = Placement(places), found if found < asked else most
        counts = dict.fromkeys((node.name for node in self.base.nodes), 0)
        for place in placement.pods:
            counts[place.node] += 1
        return _Found(
            instance, placement, tuple(counts.values()), bound, tuple(range(len(self.base.nodes)))
        )

    def _gangs(self, count: int) -> Iterator[Gang]:
        taken = {one.pod.key for one in self.base.running}
        number = 0
        for _ in range(count):
            while (key := (self.pod.namespace, f"{self.pod.name}-{number}")) in taken:
                number += 1
            number += 1
            yield lone_gang(replace(self.pod, name=key[1], uid=""))

    def _renamed(self, places: Sequence[PodPlacement], first: int) -> Iterator[PodPlacement]:
        """Yield places for the pods from a number on."""
        names = [gang.name for gang in self._gangs(first + len(places))][first:]
        for place, name in zip(places, names, strict=True):
            yield replace(place, name=name)


def _classes(task: FitCountTask, found: _Found, end_s: float) -> Iterator[NodesWithSameFitBlocker]:
    """Yield the classes of nodes: those of one kind that stop the next one for one reason."""
    stops = _Stops(task, found, end_s)
    members: dict[tuple[str, str, str], list[tuple[str, int]]] = {}
    for index, node in enumerate(found.instance.nodes):
        rule, text = stops.of(index, node)
        key = instance_type_or_machine_name(node), rule, text
        members.setdefault(key, []).append((node.name, found.counts[index]))
    for (machine, rule, text), nodes in sorted(
        members.items(), key=lambda item: (-sum(n for _, n in item[1]), item[0])
    ):
        names = tuple(name for name, _ in nodes)
        yield NodesWithSameFitBlocker(machine, names, sum(n for _, n in nodes), rule, text)


def instance_type_or_machine_name(node: Node) -> str:
    """Return what people call nodes like this one: its instance type, else its machine."""
    labels = dict(node.labels)
    named = (labels[key] for key in INSTANCE_TYPES if labels.get(key))
    return next(named, node.machine.name)


class _Stops:
    """Says for each node why the next pod does not fit there."""

    def __init__(self, task: FitCountTask, found: _Found, end_s: float) -> None:
        self._task, self._found = task, found
        place_of = {place.key: place for place in found.placement.pods}
        came = placed_pods_as_running(found.instance.gangs, place_of)
        taken: set[NamespacedName] = {one.pod.key for one in (*found.instance.running, *came)}
        name = task.pod.name
        while (task.pod.namespace, name) in taken:
            name += "-next"
        pod = replace(task.pod, name=name)
        gang = lone_gang(pod)
        asked = replace(found.instance, running=(*found.instance.running, *came), gangs=(gang,))
        budget = SolveBudget(SolveOptions(time_limit_s=max(1.0, end_s - monotonic()), workers=1))
        baseline = starting_accounts_of(asked)
        stages = nodes_at_occupancy_stages(asked, asked, baseline, Placement(()), budget)
        self._stage = stages[1]
        self._ask = PodRequirements(pod.spec, (), pod.namespace)
        self._known: dict[object, tuple[str, str]] = {}

    def of(self, index: int, node: Node) -> tuple[str, str]:
        """Return the rule that keeps the next pod off a node, and what it says."""
        if node.name in self._task.excluded:
            return "", "excluded"
        key = self._found.keys[index]
        if key not in self._known:
            self._known[key] = self._look(index)
        return self._known[key]

    def _look(self, index: int) -> tuple[str, str]:
        try:
            blocker: Blocker | None = self._stage.blocker(self._ask, index)
        except OutOfTimeError:
            return "", "no time was left to look"
        if blocker is None:
            return "", "one more may fit; none was found in time"
        return blocker.demand.name, blocker_text(blocker, self._task.pod.spec)
