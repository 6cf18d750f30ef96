"""Pods that keep apart: what the greedy path lets them have (C9)."""

import pytest

from judge.cases_apart import NUMA, PCPU, apart
from judge.hand import put, world
from placer.greedy.place import place_greedily
from placer.state.batch import build_problem
from placer_models.policy import ExclusivePolicy


@pytest.mark.parametrize("policy", [PCPU, NUMA])
def test_a_pod_that_requires_to_be_alone_has_a_place_where_nobody_is(
    policy: ExclusivePolicy,
) -> None:
    """
    On an empty node nothing keeps it off.
    """
    problem = build_problem(world(apart("a", policy, required=True)))

    assert set(place_greedily(problem)) == {0}


def test_a_pod_alone_on_its_cores_does_not_mind_who_is_on_its_numa_node() -> None:
    """
    One pod runs on each NUMA node, alone on it or not; cores are free on both.
    """
    running = [(apart("b", PCPU), put("b", "0")), (apart("c", NUMA), put("c", "4"))]
    problem = build_problem(world(apart("a", PCPU, required=True), running=running))

    assert set(place_greedily(problem)) == {0}
