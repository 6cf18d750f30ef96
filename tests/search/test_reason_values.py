"""Reasons as values: each kind of them, and the words that are made of it (G7)."""

from dataclasses import replace

import pytest

from judge.hand import gang, node, pod, world
from mixed_worlds import mixed_instance
from moving_worlds import pinned_crowd
from placer.search.options import Engine, SolveOptions
from placer.search.reasons.gangs import NoPlaceReasonFromOccupancyStage
from placer.search.reasons.sentences import reason_sentences
from placer.search.reasons.unplaced import reason_at_earliest_stage
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import Placed, Unplaced
from placer_models.pod import GangGroup, pods_of_gangs
from placer_models.reasons import (
    Blocked,
    Blocker,
    FewMembers,
    FirstStageWithoutPlace,
    GangGroupTooLarge,
    GangMinimumReason,
    GangNetworkLevelRuleReason,
    MovesAllowedReason,
    Reason,
    ReasonNotFoundInTime,
    RuleDemand,
    UnknownName,
    UnknownNameKind,
    WholeGangGroupReason,
)

MANY = Blocker(RuleDemand("cpu-count"))
"""There are too few CPUs."""

TWO = (node("n"), node("m"))
SPREAD = GangNetworkLevelRule("node", GangNetworkLevelRuleKind.SPREAD, count=1)

CASES: dict[str, tuple[Instance, tuple[Reason, ...]]] = {
    "every node is too small": (
        world(pod("p", 10), nodes=TWO),
        (Blocked(FirstStageWithoutPlace.EMPTY, ((MANY, 2),)),),
    ),
    "a closed node, and one that is too small": (
        world(pod("p", 10), nodes=(TWO[0], node("m", cordoned=True))),
        (Blocked(FirstStageWithoutPlace.EMPTY, ((MANY, 1), (Blocker(RuleDemand("cordon")), 1))),),
    ),
    "a label that no node has": (
        world(pod("p", 1, selector={"zone": "a"}), nodes=(node(labels={"rack": "a"}),)),
        (
            Blocked(FirstStageWithoutPlace.EMPTY, ((Blocker(RuleDemand("node-selector")), 1),)),
            UnknownName(UnknownNameKind.LABEL, ("zone",), ("rack",)),
        ),
    ),
    "moves that would not do": (
        pinned_crowd(1),
        (
            Blocked(
                FirstStageWithoutPlace.RUNNING, ((Blocker(RuleDemand("device-count", "gpu")), 2),)
            ),
            MovesAllowedReason(could=2, may=1),
        ),
    ),
    "too few members": (
        replace(
            world(pod("unused"), nodes=TWO),
            gangs=(gang("g", *(pod(f"g-{i}", 6) for i in range(3)), minimum=3, levels=[SPREAD]),),
        ),
        (
            FewMembers(
                FirstStageWithoutPlace.EMPTY, "g", members=3, minimum=3, most=2, is_bound=False
            ),
            GangNetworkLevelRuleReason(SPREAD),
            GangMinimumReason("g", running=0, members=3, minimum=3),
        ),
    ),
    "too large a group": (
        replace(
            world(pod("unused"), nodes=TWO[:1]),
            gangs=tuple(gang(name, pod(f"{name}-0", 6)) for name in "ab"),
            groups=(GangGroup("both", "default", (("default", "a"), ("default", "b"))),),
        ),
        (
            GangGroupTooLarge(FirstStageWithoutPlace.EMPTY, "both"),
            GangMinimumReason("a", running=0, members=1, minimum=1),
            WholeGangGroupReason("both", ("a", "b")),
        ),
    ),
}


def left_out(instance: Instance) -> tuple[Unplaced, ...]:
    answer = solve(instance, SolveOptions(Engine.EXACT, workers=1, seed=1))
    assert not isinstance(answer, Placed)
    return answer.unplaced


@pytest.mark.parametrize(("instance", "why"), CASES.values(), ids=CASES)
def test_reasons_are_values(instance: Instance, why: tuple[Reason, ...]) -> None:
    """
    Rules, nodes, counts and names can be read without reading words.
    """
    assert left_out(instance)[0].why == why


def test_words_are_made_of_values() -> None:
    """
    On ten worlds the reasons say the values, one each.
    """
    said = 0
    for seed in range(10):
        instance = mixed_instance(seed)
        spec_of = {pod.key: pod.spec for pod in pods_of_gangs(instance.gangs)}
        answer = solve(instance, SolveOptions(Engine.GREEDY, workers=1, seed=1))
        for left in () if isinstance(answer, Placed) else answer.unplaced:
            spec = spec_of[left.namespace, left.name]
            assert left.reasons == tuple(reason_sentences(left.why, spec)), instance.name
            said += 1
    assert said


def test_what_is_known_is_the_verdict() -> None:
    """
    Of what holds at once; and what holds on empty nodes goes before all.
    """
    unknown, group = (
        NoPlaceReasonFromOccupancyStage(FirstStageWithoutPlace.RUNNING, why)
        for why in (ReasonNotFoundInTime(), GangGroupTooLarge(FirstStageWithoutPlace.RUNNING, "g"))
    )
    never = NoPlaceReasonFromOccupancyStage(FirstStageWithoutPlace.EMPTY, ReasonNotFoundInTime())

    assert reason_at_earliest_stage([unknown, group]) is group
    assert reason_at_earliest_stage([unknown, group, never]) is never
    assert reason_at_earliest_stage([]) is None
