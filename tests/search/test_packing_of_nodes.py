"""Nodes filled by patterns: fewer are opened, and no rule that amounts do not tell is broken."""

from dataclasses import replace

from answers import expect
from judge.hand import node, pod, world
from placer.search.budget import SolveBudget
from placer.search.opened import open_fewest_nodes
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.goals import OPENED
from placer_models.placement import Placed
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import GatherLevel, QosClass
from placer_models.problem.problem import Choice, CoreTake

OFFERS = tuple(replace(node(f"n{i}"), offered=True, extended=(("room", 132),)) for i in range(6))


def shape(name: str, size: int) -> Pod:
    asked = Resources(extended=(("room", size),))
    return Pod(name, "default", PodSpec((Container("app", asked),), qos=QosClass.LS))


def shapes() -> Instance:
    """Return pods of 44, 33 and 12 that fill two nodes of 132 by their sum, and need three."""
    sizes = [44] * 2 + [33] * 3 + [12] * 6
    return world(*(shape(f"p{i}", size) for i, size in enumerate(sizes)), nodes=OFFERS)


def test_patterns_prove_what_the_sum_does_not() -> None:
    """
    From a node each, the pods come to three nodes, and the bound is three.
    """
    problem = build_problem(shapes())
    nothing = CoreTake()
    node_state = problem.nodes[0]
    devices = tuple((0,) * len(bank.free) for bank in node_state.banks)
    cores = (nothing,) * len(node_state.cores)
    start = {pod: Choice(pod % 6, cores, devices) for pod in range(len(problem.pods))}

    found = open_fewest_nodes(problem, start, SolveBudget(SolveOptions(workers=1)))

    assert found is not None
    assert found.bound == 3
    assert len({choice.node for choice in found.choices.values()}) == 3
    assert found.choices.keys() == start.keys()


def test_pods_that_own_cpus_are_not_counted_by_amounts() -> None:
    """
    What takes cores is left to the model.
    """
    problem = build_problem(world(pod("a", 2), nodes=OFFERS))

    assert open_fewest_nodes(problem, {}, SolveBudget(SolveOptions(workers=1))) is None


def test_rules_that_amounts_do_not_tell_are_kept() -> None:
    """
    Two gathered pairs of 70 and 60 could share two nodes by amounts; together on one node
    each pair fills it.
    """
    instance = world(*(shape(f"p{i}", size) for i, size in enumerate([70, 60])), nodes=OFFERS)
    first = replace(
        instance.gangs[0],
        name="pair",
        lone=False,
        pods=(shape("a", 70), shape("b", 60)),
        minimum=2,
        gather=GatherLevel.NODE,
    )
    second = replace(first, name="other", pods=(shape("c", 70), shape("d", 60)))
    both = replace(instance, gangs=(first, second))

    answer = expect(Placed, solve(both, SolveOptions(workers=1, time_limit_s=20)))

    opened = next(value for value in answer.tiers if value.tier == OPENED)
    assert (opened.value, opened.bound) == (2, 2)
    nodes = {place.name: place.node for place in answer.placement.pods}
    assert nodes["a"] == nodes["b"] != nodes["c"] == nodes["d"]
