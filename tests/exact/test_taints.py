"""Taints of nodes and tolerations of pods: as by brute force, as a reason, and of who runs."""

from dataclasses import replace

import pytest

from answers import expect
from judge.hand import ALL_CPUS, node, put, world
from placer.judge.misfits import misfits_of
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.goals import NODE_PREFERENCE
from placer_models.placement import Infeasible, Placed
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.taints import Taint, TaintEffect, Toleration, TolerationOperator

GPU = Toleration("gpu", TolerationOperator.EXISTS)


def tolerating(name: str, *tolerations: Toleration) -> Pod:
    """Return a pod of one CPU."""
    container = Container("app", Resources(cpu_milli=1000))
    return Pod(name, "default", PodSpec((container,), tolerations=tolerations))


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_each_soft_taint_that_is_not_tolerated_counts(engine: Engine) -> None:
    """
    Two on one node and one on the other: the pod that tolerates the one misses nothing there.
    """
    soft = [Taint(key, "", TaintEffect.PREFER_NO_SCHEDULE) for key in ("gpu", "old")]
    nodes = [
        replace(node(), name="two", taints=tuple(soft)),
        replace(node(), name="one", taints=(soft[1],)),
    ]
    answer = solve(world(tolerating("a"), nodes=nodes), SolveOptions(engine=engine, workers=1))

    assert isinstance(answer, Placed)
    assert [place.node for place in answer.placement.pods] == ["one"]
    assert {tier.tier: tier.value for tier in answer.tiers}[NODE_PREFERENCE] == 100


def test_the_taints_of_nodes_are_named() -> None:
    """
    Those that keep the pod off, and no others.
    """
    taints = (
        Taint("gpu", "yes", TaintEffect.NO_SCHEDULE),
        Taint("old", "", TaintEffect.NO_EXECUTE),
        Taint("slow", "", TaintEffect.PREFER_NO_SCHEDULE),
    )
    instance = world(tolerating("a", GPU), nodes=[replace(node(), taints=taints)])
    answer = expect(Infeasible, solve(instance, SolveOptions(workers=1)))

    assert answer.unplaced[0].reasons == ("never fits (1 of 1 nodes: taints old:NoExecute)",)


@pytest.mark.parametrize(
    ("effect", "misfit"),
    [
        (TaintEffect.NO_EXECUTE, True),
        (TaintEffect.NO_SCHEDULE, False),
        (TaintEffect.PREFER_NO_SCHEDULE, False),
    ],
)
def test_only_no_execute_concerns_who_runs(effect: TaintEffect, misfit: bool) -> None:
    """
    A running pod without a toleration is a misfit then, and stays; nobody is blamed.
    """
    tainted = replace(node(), taints=(Taint("gpu", "", effect),))
    instance = world(nodes=[tainted], running=[(tolerating("r"), put("r", ALL_CPUS))])

    assert [found.rule for found in misfits_of(instance)] == ["taints"] * misfit
