"""Explanation of an answer: for each pod left out, why, and what would do."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from time import monotonic

from placer.explain.alike_nodes import NodeSamplesForTrials, alike_node_group_numbers
from placer.explain.explanation import (
    Explanation,
    FunnelStep,
    NearMissNode,
    PodsPlacedInstead,
    SufficientChange,
    unplaced_cause_token,
)
from placer.explain.final_state import NodesAfterAnswer, instance_after_answer
from placer.explain.kind_outcome import KindOutcome
from placer.explain.nearest import NodesBySort, indices_of_alike_nodes, nearest_misses
from placer.explain.outvoted import pods_that_outvoted
from placer.explain.smallest_change import SmallestChangeSearch
from placer.explain.trial import TrialVerdict
from placer.search.baseline import starting_accounts_of
from placer.search.budget import SolveBudget
from placer.search.options import SolveOptions
from placer.search.reasons.gangs import level_rule_blocking_node
from placer.search.reasons.register import REASON_RULES
from placer.search.reasons.sentences import reason_sentences
from placer.search.reasons.text import FEW_KINDS
from placer.state.network import network_levels_required_by_gang
from placer.state.out_of_time import OutOfTimeError
from placer.state.requirements import PodRequirements
from placer_models.cluster import Instance, with_only_gangs
from placer_models.illegal_running import with_running_pods_counted_as_legal
from placer_models.placement import (
    Answer,
    NamespacedName,
    PartlyPlaced,
    Placed,
    Placement,
    Unplaced,
)
from placer_models.pod import Gang, PodSpec
from placer_models.reasons import Blocked, UnplacedCause, verdict_of_reasons
from placer_models.typed import check_argument_types

DEFAULT_SECONDS = 10.0
"""How long changes are looked for, for all that is explained together."""

NEAREST_SHARE, LEAST_NEAREST_S = 0.25, 1.0
"""The share of the time for nearest misses, and how long they are looked for in any case."""

NO_PLACE_LOOKED_FOR = (UnplacedCause.ILLEGAL, UnplacedCause.NOT_ASKED)
"""Verdicts on pods that no change of the cluster helps."""


@check_argument_types
def explain(
    instance: Instance,
    answer: Answer,
    pods: Collection[NamespacedName] | None = None,
    seconds: float = DEFAULT_SECONDS,
    most_changes: int | None = None,
    nearest: bool = True,
) -> tuple[Explanation, ...]:
    """Explain why pods have no place, and look for the smallest changes that would do (G7).

    Pods of no gang that ask for the same have one explanation, and so has a gang that does not
    run. All else keeps its place. Each change was solved for and judged before it is named.

    Args:
        instance: The instance that was solved.
        answer: The answer to it.
        pods: Keys of pods and gangs to explain, as (namespace, name); None: all without a place.
        seconds: How long changes are looked for in all; 0: not at all. Nearest misses are looked
            for a second longer than that at most.
        most_changes: After so many of a shape, the cheapest for people, no more are looked for;
            what was not looked for is open. None: all kinds are looked at.
        nearest: Whether nearest misses, and who won, are looked for.

    Raises:
        ValueError: A key names no pod or gang that waits in the instance.

    """
    started_s = monotonic()
    placement = answer.placement if isinstance(answer, Placed | PartlyPlaced) else Placement()
    unplaced = () if isinstance(answer, Placed) else answer.unplaced
    shapes = list(_shapes(instance, unplaced, _asked_about(instance, unplaced, pods)))
    looked_for = [
        bool(gangs) and verdict_of_reasons(some[0].why) not in NO_PLACE_LOOKED_FOR
        for some, gangs in shapes
    ]
    nearest_s = max(LEAST_NEAREST_S, NEAREST_SHARE * seconds)
    near = _Nearest(instance, placement, nearest_s) if nearest and any(looked_for) else None
    baseline = alike = None
    # All trials begin with the same nodes, so these are counted once.
    settled = with_running_pods_counted_as_legal(
        instance_after_answer(instance, placement, instance.gangs)
    )
    if any(looked_for) and (near or seconds > 0):
        same = near is not None and not placement.pods and settled.running is instance.running
        baseline = near.after.before if near and same else starting_accounts_of(settled)
        of_all = [gangs for (_, gangs), looked in zip(shapes, looked_for, strict=True) if looked]
        sorts = alike_node_group_numbers(with_only_gangs(settled, [*chain(*of_all)]), baseline)
        alike = None if sorts is None else NodeSamplesForTrials(settled, baseline, sorts)
    if near and alike is not None:
        near.sorts = indices_of_alike_nodes(instance.nodes, alike.sorts)
    misses = [
        near.of(some[0], gangs[0], len(shapes) - i) if near and looked else ((), None)
        for i, ((some, gangs), looked) in enumerate(zip(shapes, looked_for, strict=True))
    ]
    searches: list[SmallestChangeSearch | None] = [
        SmallestChangeSearch(with_only_gangs(settled, gangs), baseline, alike)
        if looked and monotonic() - started_s < seconds
        else None
        for (_, gangs), looked in zip(shapes, looked_for, strict=True)
    ]
    # First a change for each, then more.
    rounds = (1,) if most_changes == 1 else (1, most_changes)
    for most in rounds:
        for i, search in enumerate(searches):
            left_s = (seconds - (monotonic() - started_s)) / (len(searches) - i)
            if search is not None and left_s > 0:
                search.go_on(left_s, most)
    specs = {pod.key: pod.spec for gang in instance.gangs for pod in gang.pods}
    return tuple(
        _explanation(
            some,
            specs.get((some[0].namespace, some[0].name)),
            {} if search is None else search.outcomes,
            len(instance.nodes),
            *misses[i],
        )
        for i, ((some, _), search) in enumerate(zip(shapes, searches, strict=True))
    )


@dataclass(slots=True)
class _Nearest:
    """The search for nearest misses and winners of several explanations, under one deadline."""

    instance: Instance
    placement: Placement
    budget: SolveBudget
    after: NodesAfterAnswer
    sorts: NodesBySort | None

    def __init__(self, instance: Instance, placement: Placement, seconds: float) -> None:
        self.instance, self.placement = instance, placement
        self.after = NodesAfterAnswer.of(instance, placement)
        self.budget = SolveBudget(SolveOptions(time_limit_s=seconds))
        self.sorts = None

    def of(
        self, one: Unplaced, gang: Gang, left: int
    ) -> tuple[tuple[NearMissNode, ...], PodsPlacedInstead | None]:
        """Return the nodes that lack least, and who has the place of who is outvoted.

        Args:
            one: Who is left out.
            gang: Its gang.
            left: How many explanations share the time that is left, this one among them.

        """
        part = self.budget.part(self.budget.left / left)
        more = Placement() if gang.lone else self.after.members_that_fit(gang, part.left)
        came = {place.key for place in more.pods}
        pod = next((pod for pod in gang.pods if pod.key not in came), None)
        if pod is None:
            return (), None  # all members fit by themselves: nodes lack nothing for one more
        placed = frozenset({*came, *(place.key for place in self.placement.pods)})
        nodes = {node.name: node for node in self.instance.nodes}
        members = [nodes[place.node] for place in more.pods]
        barred = partial(level_rule_blocking_node, gang, members) if members else None
        ask = PodRequirements(pod.spec, network_levels_required_by_gang(gang), pod.namespace)
        try:
            stage = self.after.stage(more, part)
            sorts = self.sorts if gang.lone else None  # members have changed the nodes
            there = {place.node for place in more.pods}
            near = nearest_misses(stage, ask, placed, part, barred, sorts, there)
        except OutOfTimeError:
            return (), None
        if verdict_of_reasons(one.why) is not UnplacedCause.OUTVOTED:
            return near, None
        return near, pods_that_outvoted(self.instance, self.placement, gang, near, part.left)


def _asked_about(
    instance: Instance,
    unplaced: Collection[Unplaced],
    pods: Collection[NamespacedName] | None,
) -> Collection[NamespacedName] | None:
    """Return the keys that are asked about.

    Raises:
        ValueError: One of them names nothing that waits.

    """
    if pods is None:
        return None
    known = {gang.key for gang in instance.gangs}
    known |= {pod.key for gang in instance.gangs for pod in gang.pods}
    known |= {one.key for one in unplaced}
    for namespace, name in pods:
        if (namespace, name) not in known:
            raise ValueError(f"no pod or gang '{namespace}/{name}' waits in the instance")
    return pods


def _shapes(
    instance: Instance,
    unplaced: Collection[Unplaced],
    pods: Collection[NamespacedName] | None,
) -> Iterator[tuple[list[Unplaced], list[Gang]]]:
    """Yield pods that have one explanation, with the gangs that would have to be placed.

    There are no gangs where a gang runs without some of its members, or belongs to a group: who is
    to join others has other questions than who waits alone, and nobody looks for changes.
    """
    grouped = {key for group in instance.groups if len(group.gangs) > 1 for key in group.gangs}
    gang_of = {pod.key: gang for gang in instance.gangs for pod in gang.pods}
    left_out = {one.key for one in unplaced}
    by_shape: dict[object, tuple[list[Unplaced], dict[NamespacedName, Gang]]] = {}
    for one in unplaced:
        gang = gang_of.get(one.key)
        named = pods is None or one.key in pods or (gang is not None and gang.key in pods)
        if not named:
            continue
        if gang is None:
            by_shape[one.key] = [one], {}
            continue
        shape = (gang.pods[0].spec, gang.priority, one.namespace) if gang.lone else gang.key
        some, gangs = by_shape.setdefault(shape, ([], {}))
        some.append(one)
        if gang.key not in grouped and all(pod.key in left_out for pod in gang.pods):
            gangs[gang.key] = gang
    for some, gangs in by_shape.values():
        yield some, list(gangs.values())


def _explanation(
    left_out: list[Unplaced],
    spec: PodSpec | None,
    found: dict[str, KindOutcome],
    all_nodes: int,
    nearest: Sequence[NearMissNode],
    winner: PodsPlacedInstead | None,
) -> Explanation:
    first = left_out[0]
    funnel = funnel_of_remaining_nodes(first, all_nodes)
    return Explanation(
        pods=tuple(one.key for one in left_out),
        gang=first.gang,
        verdict=verdict_of_reasons(first.why),
        token=unplaced_cause_token(first.why, funnel),
        sentence=first.reasons[0],
        brief=_brief(first, spec),
        more=first.reasons[1:],
        funnel=funnel,
        nearest=tuple(nearest),
        winner=winner,
        changes=tuple(one for one in found.values() if isinstance(one, SufficientChange)),
        ruled_out=tuple(kind for kind, one in found.items() if one is TrialVerdict.RULED_OUT),
        open=tuple(kind for kind, one in found.items() if one is TrialVerdict.OPEN),
    )


def _brief(one: Unplaced, spec: PodSpec | None) -> str:
    """Return the verdict in one sentence, reasons on few nodes counted together."""
    if spec is None or not one.why or not isinstance(one.why[0], Blocked):
        return one.reasons[0]
    return next(reason_sentences(one.why[:1], spec, few=FEW_KINDS))


def funnel_of_remaining_nodes(one: Unplaced, all_nodes: int) -> tuple[FunnelStep, ...]:
    """Return how many nodes remain after each rule, in the order of rules; none remain at last."""
    blocked = next((why for why in one.why if isinstance(why, Blocked)), None)
    if blocked is None:
        return ()
    order = list(REASON_RULES)
    kept_off: dict[str, int] = {}
    subjects: dict[str, set[str]] = {}
    for blocker, nodes in sorted(blocked.nodes, key=lambda item: order.index(item[0].demand.rule)):
        demand = blocker.demand
        kept_off[demand.rule] = kept_off.get(demand.rule, 0) + nodes
        subjects.setdefault(demand.rule, set()).update(filter(None, (demand.subject,)))
    steps = [FunnelStep("", all_nodes)]
    for rule, nodes in kept_off.items():
        steps.append(FunnelStep(rule, steps[-1].nodes - nodes, tuple(sorted(subjects[rule]))))
    return tuple(steps)
