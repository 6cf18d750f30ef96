"""Random refusals: each change that is named would do, and none that is smaller does (G7)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import pytest

from placer import Engine, Placed, SolveOptions, solve
from placer.explain.explanation import ProposedChange
from placer.judge.breaches import breaches
from placer_models.cluster import Instance
from placer_models.legal import IllegalPodError
from placer_models.pod import Gang
from placer_models.taints import UNSCHEDULABLE
from placer_models.whatif.change import ChangeError, InstanceChange
from placer_models.whatif.language import apply_all
from placer_models.whatif.nodes import Add, Mend, Uncordon
from placer_models.whatif.pods import POLICIES, AskLess, GiveUpTerm, Relax, Remove, Scale
from refusal_worlds import refusals

EXACT = SolveOptions(Engine.EXACT, workers=1)

WORLDS_EACH = 5
"""How many worlds a batch has; they come to about 11 refusals."""

BATCHES = 92
"""So many batches come to about 1,000 refusals, and 28 of them to 300."""

MOST_OPTIONS = 6
"""Of a kind with more changes to choose from, brute force does not try every set."""


def fits(state: Instance, changes: Sequence[InstanceChange]) -> bool:
    """Return whether all have a place then, by the exact model and the judge."""
    try:
        changed = apply_all(changes, state)
        answer = solve(changed, EXACT)
    except (ChangeError, IllegalPodError):
        return False
    if not isinstance(answer, Placed):
        return False
    return bool(answer.moves) or breaches(changed, answer.placement) == ()


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_is_said_of_random_refusals_is_so(batch: int) -> None:
    """
    Each change that is named would do; no smaller one of its kind does where that is said, and
    none of a kind that is said to have none; and funnels add up.
    """
    for one in refusals(range(1 + batch * WORLDS_EACH, 1 + (batch + 1) * WORLDS_EACH)):
        said = one.explanation
        for change in said.changes:
            assert fits(one.state, change.changes), (one.world, change)
        funnel = [step.nodes for step in said.funnel]
        if funnel:
            assert (funnel[0], funnel[-1]) == (len(one.state.nodes), 0), one.world
            assert funnel == sorted(funnel, reverse=True), one.world
        named = {change.kind: change for change in said.changes if change.smallest}
        for kind in (*named, *said.ruled_out):
            for changes in smaller(kind, named.get(kind), one.state):
                assert not fits(one.state, changes), (one.world, kind, list(map(str, changes)))


def smaller(
    kind: str, found: ProposedChange | None, state: Instance
) -> Iterator[Sequence[InstanceChange]]:
    """Yield all changes of a kind that are smaller than one; all that there are without one."""
    match kind:
        case "mend-node" | "relax" | "give-up" | "end":
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
                yield from ([Scale(gang.key, n)] for n in range(least, len(gang.pods)))
        case "add-nodes":
            pods = sum(len(gang.pods) for gang in state.gangs)
            most = pods + 1 if found is None else added(found)
            for node in state.nodes:
                yield from ([Add(n, node.name)] for n in range(1, most))
        case "move":
            return  # how few pods have to move is a tier, which the tests of moves hold


def parts_of(found: ProposedChange, options: Sequence[Sequence[InstanceChange]]) -> int:
    """Return how many options a change is made of: of some shapes each gang changes alike."""
    return sum(any(change in found.changes for change in option) for option in options)


def members(found: ProposedChange) -> int:
    (change,) = found.changes
    assert isinstance(change, Scale)
    return change.count


def added(found: ProposedChange) -> int:
    (change,) = found.changes
    assert isinstance(change, Add)
    return change.count


def less(gang: Gang, found: ProposedChange | None) -> Iterator[Sequence[InstanceChange]]:
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
            options.append([Mend(node.name)])
    return options


def to_relax(state: Instance) -> list[list[InstanceChange]]:
    return [[Relax(gang.key, policy) for gang in state.gangs] for policy in POLICIES]


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
    return [[GiveUpTerm(gang.key, *term) for gang in state.gangs] for term in terms]


def to_end(state: Instance) -> list[list[InstanceChange]]:
    return [[Remove(one.pod.key)] for one in state.running]


OPTIONS = {"mend-node": to_mend, "relax": to_relax, "give-up": to_give_up, "end": to_end}


def test_each_world_is_drawn_by_its_number_alone() -> None:
    first, again = ([r.explanation for r in refusals(range(1, 4))] for _ in range(2))

    assert first == again
    assert first


def test_a_change_too_few_is_noticed() -> None:
    """
    The trial of a change asks the judge: with nothing changed nobody fits.
    """
    one = next(refusals(range(1, 4)))

    assert not fits(replace(one.state, move_budget=0), [])
