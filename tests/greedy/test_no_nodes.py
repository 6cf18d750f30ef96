"""Pods that wait where there are no nodes at all."""

import pytest

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import GaveUp, Infeasible
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources


@pytest.mark.parametrize("engine", list(Engine))
def test_a_pod_that_asks_for_extended_resources_finds_no_node(engine: Engine) -> None:
    """
    No node says how many extended resources there are; the pod does.
    """
    spec = PodSpec((Container("main", Resources(1000, extended=(("licences", 1),))),))
    gang = Gang("a", "default", (Pod("a", "default", spec),), 1, lone=True)

    answer = solve(Instance((), (gang,)), SolveOptions(engine=engine, workers=1))

    assert isinstance(answer, (Infeasible, GaveUp))
    assert [pod.name for pod in answer.unplaced] == ["a"]
