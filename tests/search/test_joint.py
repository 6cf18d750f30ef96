"""The joint search at every size it knows, shrunk to tiny worlds (G2, G3)."""

from collections.abc import Callable

import pytest

from brute_force import best_vector
from mixed_worlds import mixed_instance
from placer.judge.breaches import breaches
from placer.judge.measure import are_tier_values_better, measure
from placer.search import joint_search, neighbourhoods
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node
from placer_models.goals import USABLE
from placer_models.machines.catalogue import load_machine
from placer_models.placement import Answer, GaveUp, Infeasible, Placement, TierValue
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from worlds import tiny_instance

WORLDS = range(30)


def options(engine: Engine = Engine.AUTO) -> SolveOptions:
    return SolveOptions(engine=engine, workers=1, seed=1, work_limit=20)


def worth_of(instance: Instance, answer: Answer) -> tuple[tuple[TierValue, ...], Placement]:
    """Return tiers and placement; the empty placement where the answer has none."""
    if isinstance(answer, Infeasible | GaveUp):
        return (), Placement()
    return answer.tiers, answer.placement


def shrink(patch: pytest.MonkeyPatch, **sizes: int) -> None:
    for name, size in sizes.items():
        patch.setattr(joint_search, name, size)


WAYS = {
    "one model": {},
    "without links first": {"FEW_ASSIGNMENTS": 0},
    "without links, then parts": {
        "FEW_ASSIGNMENTS": 0,
        "MOST_LINKED_ASSIGNMENTS": 0,
        "MOST_ASSIGNMENTS": 10**6,
    },
    "bound, then parts": {
        "FEW_ASSIGNMENTS": 0,
        "MOST_LINKED_ASSIGNMENTS": 0,
        "MOST_ASSIGNMENTS": 0,
    },
}


@pytest.mark.check
@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_clean_never_below_greedy_and_never_above_its_bounds(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    However the search is split up, the judge finds nothing, the greedy answer is not
    better, and brute force does not beat a bound.
    """
    shrink(monkeypatch, **WAYS[way])
    for seed in WORLDS:
        instance = tiny_instance(seed)
        tiers, placement = worth_of(instance, solve(instance, options()))
        _, greedy = worth_of(instance, solve(instance, options(Engine.GREEDY)))
        best = best_vector(instance)

        assert breaches(instance, placement) == ()
        assert not are_tier_values_better(measure(instance, greedy), measure(instance, placement))
        for value, reached in zip(tiers, best, strict=False):
            assert value.bound is None or not value.tier.better(reached, value.bound)
            if value.proven:
                assert value.value == reached
            if value.value != reached:
                break  # later tiers are bounded among other placements


@pytest.mark.check
@pytest.mark.parametrize("way", ["one model", "without links first"])
def test_a_whole_model_proves_every_tier(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    One model or two, the answer is the one that brute force finds.
    """
    shrink(monkeypatch, **WAYS[way])
    for seed in WORLDS:
        instance = tiny_instance(seed)
        tiers, placement = worth_of(instance, solve(instance, options()))

        assert tuple(v for _, v in measure(instance, placement)) == best_vector(instance)
        assert all(value.proven for value in tiers)


def no_answer(_: Instance) -> None:
    """Stand in for a greedy path that gets nowhere."""


@pytest.mark.parametrize(
    ("way", "instead"), [("improve_exactly", None), ("greedy_placement", no_answer)]
)
def test_pods_laid_near_node_by_node_need_no_model_of_all_of_them_apart(
    way: str, instead: Callable[..., None] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Counted together they had the best nodes, but were dealt out over too many NUMA nodes. Either
    way of laying them anew does without the other.
    """
    shrink(monkeypatch, FEW_ASSIGNMENTS=0)
    monkeypatch.setattr(joint_search.JointSearch, "_first", None)
    monkeypatch.setattr(neighbourhoods, way, instead)
    instance = tiny_instance(72)
    tiers, placement = worth_of(instance, solve(instance, options()))

    assert tuple(v for _, v in measure(instance, placement)) == best_vector(instance)
    assert all(value.proven for value in tiers)


@pytest.mark.check
def test_parts_improve_a_greedy_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Where greedy is not the best, solving part by part finds better on some worlds.
    """
    shrink(monkeypatch, MOST_ASSIGNMENTS=0, MOST_LINKED_ASSIGNMENTS=0)
    improved = 0
    for seed in range(80):
        instance = tiny_instance(seed)
        _, greedy = worth_of(instance, solve(instance, options(Engine.GREEDY)))
        if tuple(v for _, v in measure(instance, greedy)) == best_vector(instance):
            continue
        _, found = worth_of(instance, solve(instance, options()))
        improved += are_tier_values_better(measure(instance, found), measure(instance, greedy))

    assert improved > 0


def test_one_worker_a_seed_and_a_work_limit_repeat_the_answer() -> None:
    """
    The same call gives the same placement, to the last CPU.
    """
    for seed in range(10):
        instance = tiny_instance(seed)

        assert solve(instance, options()) == solve(instance, options())


def test_a_model_that_would_take_too_long_to_write_is_left_unwritten() -> None:
    """
    No time is left after the greedy answer, so that is what comes back.
    """
    instance = tiny_instance(7)
    hurried = SolveOptions(engine=Engine.EXACT, workers=1, time_limit_s=1e-9)
    _, placement = worth_of(instance, solve(instance, hurried))

    assert breaches(instance, placement) == ()


def test_a_placement_that_takes_nothing_usable_is_proven_without_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    No tier can be better than that of the nodes as they were.
    """
    monkeypatch.setattr(joint_search, "search_exactly", None)
    node = Node("n", load_machine("dgx-a100"))
    pod = Pod("web", "default", PodSpec((Container("main", Resources(2_000)),), QosClass.BE))
    gang = Gang("web", "default", (pod,), 1, lone=True)
    tiers, placement = worth_of(Instance((node,), (gang,)), solve(Instance((node,), (gang,))))

    assert len(placement.pods) == 1
    assert all(value.proven for value in tiers)


@pytest.mark.check
def test_nothing_makes_more_usable_than_there_is_without_it() -> None:
    """
    What bounds the last tier before any solving.
    """
    for seed in range(200):
        instance = mixed_instance(seed)
        *_, (tier, most) = measure(instance, Placement())
        _, placement = worth_of(instance, solve(instance, options(Engine.GREEDY)))
        kept = list(placement.pods)
        while kept:
            *_, (_, less) = measure(instance, Placement(tuple(kept)))
            assert less <= most, (seed, len(kept))
            most_with_fewer = measure(instance, Placement(tuple(kept[1:])))[-1][1]
            assert less <= most_with_fewer
            kept.pop(0)
        assert tier == USABLE
