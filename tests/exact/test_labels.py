"""Labels, names and taints of nodes, and who asks for them: as by brute force, as a reason.

Tolerations are of those who run, too.
"""

from dataclasses import replace

import pytest

from answers import expect
from judge.hand import ALL_CPUS, node, put, world
from placer.judge.misfits import misfits_of_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.goals import NODE_PREFERENCE
from placer_models.node_affinity import NodeAffinity, NodeTerm, PreferredNodeTerm
from placer_models.placement import Infeasible, Placed
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.taints import Taint, TaintEffect, Toleration, TolerationOperator

SSD = LabelExpression("disk", SelectorOperator.IN, ("ssd",))
NEAR = LabelExpression("rank", SelectorOperator.LT, ("5",))


def asking(name: str, affinity: NodeAffinity) -> Pod:
    """Return a pod of one CPU that asks this of its node."""
    container = Container("app", Resources(cpu_milli=1000))
    return Pod(name, "default", PodSpec((container,), node_affinity=affinity))


def liking(name: str, *weights: tuple[LabelExpression, int]) -> Pod:
    """Return a pod that would like this of its node."""
    wishes = tuple(PreferredNodeTerm(NodeTerm((one,)), weight) for one, weight in weights)
    return asking(name, NodeAffinity(preferred=wishes))


def values(answer: Placed) -> dict[str, int]:
    """Return the value of each tier."""
    return {tier.tier.name: tier.value for tier in answer.tiers}


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_the_heavier_wish_decides(engine: Engine) -> None:
    """
    A fast disk weighs 60 and a low rank 50: a node that has both would miss nothing.
    """
    nodes = [
        replace(node(), name="fast", labels=(("disk", "ssd"), ("rank", "7"))),
        replace(node(), name="near", labels=(("disk", "hdd"), ("rank", "3"))),
    ]
    instance = world(liking("a", (SSD, 60), (NEAR, 50)), nodes=nodes)
    answer = expect(Placed, solve(instance, SolveOptions(engine=engine, workers=1)))

    assert [place.node for place in answer.placement.pods] == ["fast"]
    assert values(answer)[NODE_PREFERENCE.name] == 50


def test_who_has_no_node_is_told_what_it_asks() -> None:
    """
    Each term in the words of kubectl, and the nodes that meet none of them.
    """
    terms = (NodeTerm((SSD, NEAR)), NodeTerm((LabelExpression("gpu", SelectorOperator.EXISTS),)))
    instance = world(asking("a", NodeAffinity(terms)), nodes=[node()])
    answer = expect(Infeasible, solve(instance, SolveOptions(workers=1)))

    assert (
        answer.unplaced[0]
        .reasons[0]
        .startswith("never fits (1 of 1 nodes: node-affinity asks disk in (ssd),rank<5 or gpu")
    )


def test_a_term_that_asks_nothing_is_met_by_no_node() -> None:
    """
    As in Kubernetes; as a wish it counts for nothing but its weight everywhere.
    """
    instance = world(asking("a", NodeAffinity((NodeTerm(),))), nodes=[node()])

    assert isinstance(solve(instance, SolveOptions(workers=1)), Infeasible)


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

    assert [found.rule for found in misfits_of_instance(instance)] == ["taints"] * misfit
