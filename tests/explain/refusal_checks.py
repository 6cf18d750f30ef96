"""What is said of a refusal, held against solves and brute force: changes fit, none is smaller."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from placer import Engine, Placed, SolveOptions, solve
from placer.explain.explanation import SufficientChange
from placer.judge.breaches import breaches
from placer_models.cluster import Instance
from placer_models.legal import IllegalPodError
from placer_models.pod import Gang
from placer_models.taints import UNSCHEDULABLE
from placer_models.whatif.change import InstanceChange, WhatIfChangeError
from placer_models.whatif.language import instance_with_all_changes
from placer_models.whatif.nodes import AddNodes, MarkDevicesHealthy, SetNodeLabel, Uncordon
from placer_models.whatif.pods import (
    POLICIES,
    AllowPodMoves,
    AskLess,
    GiveUpConstraint,
    RelaxPolicy,
    RemovePods,
    ScalePods,
)
from refusal_worlds import Refusal

EXACT = SolveOptions(Engine.EXACT, workers=1)

MOST_OPTIONS = 6
"""Of a kind with more changes to choose from, brute force does not try every set."""


def fits(state: Instance, changes: Sequence[InstanceChange]) -> bool:
    """Return whether all have a place then, by the exact model and the judge."""
    try:
        changed = instance_with_all_changes(changes, state)
        answer = solve(changed, EXACT)
    except (WhatIfChangeError, IllegalPodError):
        return False
    if not isinstance(answer, Placed):
        return False
    return bool(answer.moves) or breaches(changed, answer.placement) == ()


def untrue(one: Refusal, *, smaller_too: bool = True) -> Iterator[str]:
    """Yield what is said of a refusal that is not so.

    Args:
        one: The refusal.
        smaller_too: Whether all smaller changes are tried; else only those that are named.

    """
    said = one.explanation
    for change in said.changes:
        if not fits(one.state, change.changes):
            yield f"world {one.world}: {_written(change.changes)} would not do"
    funnel = [step.nodes for step in said.funnel]
    if funnel and (funnel[0], funnel[-1]) != (len(one.state.nodes), 0):
        yield f"world {one.world}: the funnel {funnel} does not go from all nodes to none"
    if funnel != sorted(funnel, reverse=True):
        yield f"world {one.world}: the funnel {funnel} widens"
    named = {change.kind: change for change in said.changes if change.smallest}
    for kind in (*named, *said.ruled_out) if smaller_too else ():
        for changes in smaller(kind, named.get(kind), one.state):
            if fits(one.state, changes):
                yield f"world {one.world}: {kind}: {_written(changes)} would do, and is smaller"
    for change in said.changes if smaller_too else ():
        yield from _equally_small(change, one)


def _equally_small(change: SufficientChange, one: Refusal) -> Iterator[str]:
    """Yield what is not so of changes that are as small: which there are, and which is first."""
    others = {frozenset(other) for other in change.others}
    for other in others:
        if not fits(one.state, tuple(other)):
            yield f"world {one.world}: {_written(tuple(other))} would not do as well"
    if change.kind in ("mend-node", "relax", "give-up", "label-node"):
        options = OPTIONS[change.kind](one.state)
        if len(options) > MOST_OPTIONS:
            return
        for some in combinations(options, parts_of(change, options)):
            changes = [part for option in some for part in option]
            known = {*others, frozenset(change.changes)}
            if not any(set(changes) >= made for made in known) and fits(one.state, changes):
                yield f"world {one.world}: {_written(changes)} would do as well"
    if change.kind in ("move", "end"):
        moved = change.kind == "move"
        may_go = [r.pod.key for r in one.state.running if (r.movable if moved else not r.of_node)]
        if len(may_go) > MOST_OPTIONS:
            return
        mine = [part.key for part in change.changes if isinstance(part, AllowPodMoves | RemovePods)]
        for some in combinations(sorted(may_go), len(mine)):
            changes = [AllowPodMoves(key) if moved else RemovePods(key) for key in some]
            if some[::-1] < tuple(sorted(mine))[::-1] and fits(one.state, changes):
                yield f"world {one.world}: {_written(changes)} would do, and is first by name"


def _written(changes: Sequence[InstanceChange]) -> str:
    return ", ".join(map(str, changes))


def smaller(
    kind: str, found: SufficientChange | None, state: Instance
) -> Iterator[Sequence[InstanceChange]]:
    """Yield all changes of a kind that are smaller than one; all that there are without one."""
    match kind:
        case "mend-node" | "relax" | "give-up" | "label-node" | "end":
            options = OPTIONS[kind](state)
            if len(options) > MOST_OPTIONS:
                return
            size = len(options) + 1 if found is None else parts_of(found, options)
            for fewer in range(1, size):
                for some in combinations(options, fewer):
                    yield [change for option in some for change in option]
        case "ask-less":
            for gang in state.gangs if len(state.gangs) == 1 else ():
                yield from less(gang, found)
        case "fewer-members":
            (gang, *others) = state.gangs
            if not others and not gang.lone:
                least = 1 if found is None else members(found) + 1
                yield from ([ScalePods(gang.key, n)] for n in range(least, len(gang.pods)))
        case "add-nodes":
            pods = sum(len(gang.pods) for gang in state.gangs)
            most = pods + 1 if found is None else added(found)
            for node in state.nodes:
                yield from ([AddNodes(n, node.name)] for n in range(1, most))
        case "move":
            movable = [one.pod.key for one in state.running if one.movable]
            most = len(movable) if found is None else len(found.changes) - 1
            # Who may move may stay, so of each size no smaller ones have to be tried.
            if most and len(movable) <= MOST_OPTIONS:
                yield from (
                    [AllowPodMoves(key) for key in some] for some in combinations(movable, most)
                )


def parts_of(found: SufficientChange, options: Sequence[Sequence[InstanceChange]]) -> int:
    """Return how many options a change is made of: of some shapes each gang changes alike."""
    return sum(any(change in found.changes for change in option) for option in options)


def members(found: SufficientChange) -> int:
    (change,) = found.changes
    assert isinstance(change, ScalePods)
    return change.count


def added(found: SufficientChange) -> int:
    (change,) = found.changes
    assert isinstance(change, AddNodes)
    return change.count


def less(gang: Gang, found: SufficientChange | None) -> Iterator[Sequence[InstanceChange]]:
    """Yield what a gang could ask less of one resource; of memory in four steps."""
    asked = gang.pods[0].spec.requests
    amounts = {"cpu": range(1000, asked.cpu_milli, 1000)}
    amounts |= {d.type: range(1, d.count) for d in asked.devices if d.share is None}
    amounts |= {name: range(1, amount) for name, amount in asked.extended}
    quarter = max(1 << 20, asked.memory_bytes // 4)
    amounts["memory"] = range(quarter, asked.memory_bytes, quarter)
    for resource, some in amounts.items():
        if found is not None:
            (change,) = found.changes
            assert isinstance(change, AskLess)
            if resource != change.resource:
                continue
            some = range(change.amount + some.step, some.stop, some.step)
        yield from ([AskLess(gang.key, resource, amount)] for amount in some[:8])


def to_mend(state: Instance) -> list[list[InstanceChange]]:
    options: list[list[InstanceChange]] = []
    for node in state.nodes:
        if node.cordoned or UNSCHEDULABLE in node.taints:
            options.append([Uncordon(node.name)])
        if node.unhealthy or any(not device.healthy for device in node.machine.devices):
            options.append([MarkDevicesHealthy(node.name)])
    return options


def to_relax(state: Instance) -> list[list[InstanceChange]]:
    return [[RelaxPolicy(gang.key, policy) for gang in state.gangs] for policy in POLICIES]


def to_give_up(state: Instance) -> list[list[InstanceChange]]:
    terms: dict[tuple[str, str], None] = {}
    for spec in (pod.spec for gang in state.gangs for pod in gang.pods):
        terms |= {("nodeSelector", key): None for key, _ in spec.node_selector}
        terms |= {("affinity", str(i)): None for i in range(len(spec.affinity))}
        terms |= {("topologySpread", str(i)): None for i in range(len(spec.spread))}
        if spec.node_affinity is not None:
            terms["nodeAffinity", ""] = None
    terms |= {
        ("taint", taint.key): None
        for node in state.nodes
        for taint in node.taints
        if taint != UNSCHEDULABLE
    }
    return [[GiveUpConstraint(gang.key, *term) for gang in state.gangs] for term in terms]


def to_end(state: Instance) -> list[list[InstanceChange]]:
    return [[RemovePods(one.pod.key)] for one in state.running if not one.of_node]


def to_label(state: Instance) -> list[list[InstanceChange]]:
    """Return for each node the labels that it has not, of those that pods select nodes by."""
    waiting = [pod.spec for gang in state.gangs for pod in gang.pods]
    asked = dict.fromkeys(label for spec in waiting for label in spec.node_selector)
    keys = [key for key, _ in asked]
    near = {term.topology for r in state.running for term in r.pod.spec.affinity}
    near |= {limit.topology for r in state.running for limit in r.pod.spec.spread}
    near |= {term.topology for spec in waiting for term in spec.affinity}
    near |= {limit.topology for spec in waiting for limit in spec.spread}
    for spec in (*waiting, *(r.pod.spec for r in state.running)):
        near |= set(spec.node_affinity.label_keys) if spec.node_affinity else set()
    options: list[list[InstanceChange]] = [
        [
            SetNodeLabel(node.name, key, value)
            for key, value in asked
            if keys.count(key) == 1 and key not in near and "kubernetes.io/" not in key
            if all(key != own for own, _ in node.labels)
        ]
        for node in state.nodes
    ]
    return [option for option in options if option]


OPTIONS = {
    "mend-node": to_mend,
    "relax": to_relax,
    "give-up": to_give_up,
    "label-node": to_label,
    "end": to_end,
}
