"""Explanation of an answer: for each pod left out, why, and what would do."""

from collections.abc import Collection, Iterator
from time import monotonic

from placer.explain.explanation import Explanation, FunnelStep, ProposedChange
from placer.explain.final_state import beside_placed
from placer.explain.smallest_change import KindOutcome, changes_for
from placer.explain.trial import Outcome
from placer.search.reasons.register import REASON_RULES
from placer_models.cluster import Instance
from placer_models.placement import (
    Answer,
    NamespacedName,
    PartlyPlaced,
    Placed,
    Placement,
    Unplaced,
)
from placer_models.pod import Gang
from placer_models.reasons import Blocked, Verdict, verdict_of
from placer_models.typed import typed

DEFAULT_SECONDS = 10.0
"""How long changes are looked for, for all that is explained together."""

NO_PLACE_LOOKED_FOR = (Verdict.ILLEGAL, Verdict.NOT_ASKED)
"""Verdicts on pods that no change of the cluster helps."""


@typed
def explain(
    instance: Instance,
    answer: Answer,
    pods: Collection[NamespacedName] | None = None,
    seconds: float = DEFAULT_SECONDS,
) -> tuple[Explanation, ...]:
    """Explain why pods have no place, and look for the smallest changes that would do (G7).

    Pods of no gang that ask for the same have one explanation, and so has a gang that does not
    run. All else keeps its place. Each change was solved for and judged before it is named.

    Args:
        instance: The instance that was solved.
        answer: The answer to it.
        pods: Keys of pods and gangs to explain, as (namespace, name); None: all without a place.
        seconds: How long changes are looked for in all; 0: not at all.

    Raises:
        ValueError: A key names no pod or gang that waits in the instance.

    """
    started_s = monotonic()
    placement = answer.placement if isinstance(answer, Placed | PartlyPlaced) else Placement()
    unplaced = () if isinstance(answer, Placed) else answer.unplaced
    shapes = list(_shapes(instance, unplaced, _asked_about(instance, unplaced, pods)))
    explained = []
    for i, (left_out, gangs) in enumerate(shapes):
        left_s = (seconds - (monotonic() - started_s)) / (len(shapes) - i)
        found: dict[str, KindOutcome] = {}
        if left_s > 0 and gangs and verdict_of(left_out[0].why) not in NO_PLACE_LOOKED_FOR:
            found = changes_for(beside_placed(instance, placement, gangs), left_s)
        explained.append(_explanation(left_out, found, len(instance.nodes)))
    return tuple(explained)


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
    known |= {(one.namespace, one.name) for one in unplaced}
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
    left_out = {(one.namespace, one.name) for one in unplaced}
    by_shape: dict[object, tuple[list[Unplaced], dict[NamespacedName, Gang]]] = {}
    for one in unplaced:
        key = (one.namespace, one.name)
        gang = gang_of.get(key)
        named = pods is None or key in pods or (gang is not None and gang.key in pods)
        if not named:
            continue
        if gang is None:
            by_shape[key] = [one], {}
            continue
        shape = (gang.pods[0].spec, gang.priority, one.namespace) if gang.lone else gang.key
        some, gangs = by_shape.setdefault(shape, ([], {}))
        some.append(one)
        if gang.key not in grouped and all(pod.key in left_out for pod in gang.pods):
            gangs[gang.key] = gang
    for some, gangs in by_shape.values():
        yield some, list(gangs.values())


def _explanation(
    left_out: list[Unplaced], found: dict[str, KindOutcome], all_nodes: int
) -> Explanation:
    first = left_out[0]
    return Explanation(
        pods=tuple((one.namespace, one.name) for one in left_out),
        gang=first.gang,
        token=verdict_of(first.why),
        sentence=first.reasons[0],
        more=first.reasons[1:],
        funnel=_funnel(first, all_nodes),
        changes=tuple(one for one in found.values() if isinstance(one, ProposedChange)),
        ruled_out=tuple(kind for kind, one in found.items() if one is Outcome.RULED_OUT),
        open=tuple(kind for kind, one in found.items() if one is Outcome.OPEN),
    )


def _funnel(one: Unplaced, all_nodes: int) -> tuple[FunnelStep, ...]:
    """Return how many nodes remain after each rule, in the order of rules; none remain at last."""
    blocked = next((why for why in one.why if isinstance(why, Blocked)), None)
    if blocked is None:
        return ()
    order = list(REASON_RULES)
    kept_off: dict[str, int] = {}
    for blocker, nodes in sorted(blocked.nodes, key=lambda item: order.index(item[0].demand.rule)):
        kept_off[blocker.demand.rule] = kept_off.get(blocker.demand.rule, 0) + nodes
    steps = [FunnelStep("", all_nodes)]
    for rule, nodes in kept_off.items():
        steps.append(FunnelStep(rule, steps[-1].nodes - nodes))
    return tuple(steps)
