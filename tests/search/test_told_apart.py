"""Models that count pods together: what is proven of single pods is no limit there."""

import pytest

from judge.hand import node, pod, world
from placer.search import joint_search
from placer.search.joint_search import TELL_APART, JointSearch
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.search.ways import Way
from placer_models.placement import PartlyPlaced


def test_a_bound_of_where_pods_are_is_no_limit_where_they_are_counted_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    A pod of three GPUs is on two NUMA nodes, which is proven; another never fits, which is not.
    The model that counts pods together calls the first one perfect: that is no contradiction.
    """
    rounds = []

    def twice(_: tuple[Way, ...], search: JointSearch) -> None:
        apart = [i for i, (tier, _) in enumerate(search.best.worth) if tier in TELL_APART]
        assert any(search.best.values[i] for i in apart)
        search.bounds[0] = search.best.values[0] + 1
        for i in apart:
            search.bounds[i] = search.best.values[i]
        search.told_apart = 10**6
        search.solve_as_one()
        assert [search.bounds[i] for i in apart] == [search.best.values[i] for i in apart]
        rounds.append(search)

    monkeypatch.setattr(joint_search, "search_in_turns", twice)
    instance = world(pod("p", 1, gpus=3), pod("q", 1, gpus=4), nodes=[node("n")])

    answer = solve(instance, SolveOptions(Engine.AUTO, workers=1, seed=1, work_limit=20))

    assert isinstance(answer, PartlyPlaced)
    assert rounds
