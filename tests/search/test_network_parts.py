"""Gangs that ask for levels, where a search goes part by part."""

from dataclasses import replace

import pytest

from features.network import network_instance
from greedy.small import Numa, gang, machine, spec
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node
from placer_models.goals import GATHERING
from placer_models.network import GatherOrSpread, LevelRule
from placer_models.placement import Infeasible, PartlyPlaced
from placer_models.policy import Strength
from search.by_parts import answer


def racks(*sizes: int) -> tuple[Node, ...]:
    """Return nodes of two cores of one thread, so many in each rack."""
    box = machine(Numa(cores=(1, 1)))
    names = [f"r{rack}" for rack, size in enumerate(sizes) for _ in range(size)]
    return tuple(Node(f"n{i}", box, domains=(("rack", rack),)) for i, rack in enumerate(names))


def asking(*rules: LevelRule, pods: int, minimum: int | None = None) -> Instance:
    """Return a gang of pods of one core, and racks of one and of two nodes."""
    wide = replace(gang("g", *[spec(1)] * pods, minimum=minimum), levels=rules)
    return Instance(nodes=racks(1, 2), gangs=(wide,))


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
@pytest.mark.parametrize(
    ("rules", "pods", "minimum", "placed", "short"),
    [
        ([LevelRule("rack", GatherOrSpread.GATHER)], 4, None, 4, None),
        ([LevelRule("rack", GatherOrSpread.GATHER)], 5, None, 0, None),
        ([LevelRule("rack", GatherOrSpread.GATHER)], 5, 3, 4, None),
        ([LevelRule("rack", GatherOrSpread.GATHER, Strength.PREFERRED)], 4, None, 4, 0),
        ([LevelRule("rack", GatherOrSpread.GATHER, Strength.PREFERRED)], 5, None, 5, 1),
        ([LevelRule("rack", GatherOrSpread.SPREAD, count=2)], 4, None, 4, None),
        ([LevelRule("rack", GatherOrSpread.SPREAD, count=2)], 5, None, 0, None),
        ([LevelRule("rack", GatherOrSpread.SPREAD, Strength.PREFERRED, 2)], 4, None, 4, 0),
        ([LevelRule("rack", GatherOrSpread.SPREAD, Strength.PREFERRED, 2)], 5, None, 5, 1),
        ([LevelRule("rack", GatherOrSpread.MULTIPLES, count=4)], 4, None, 4, None),
        ([LevelRule("rack", GatherOrSpread.MULTIPLES, count=3)], 6, 3, 3, None),
        ([LevelRule("rack", GatherOrSpread.MULTIPLES, count=3)], 6, None, 0, None),
        (
            [
                LevelRule("node", GatherOrSpread.SPREAD, count=1),
                LevelRule("rack", GatherOrSpread.GATHER),
            ],
            3,
            2,
            2,
            None,
        ),
    ],
)
def test_both_engines_find_the_domains(
    engine: Engine,
    rules: list[LevelRule],
    pods: int,
    minimum: int | None,
    placed: int,
    short: int | None,
) -> None:
    """
    Racks of two and of four cores: on the edge, and just beyond it.
    """
    instance = asking(*rules, pods=pods, minimum=minimum)
    found = answer(instance, engine)

    assert breaches(instance, found) == ()
    assert len(found.pods) == placed
    assert dict(measure(instance, found)).get(GATHERING) == short


def test_reasons_name_the_levels() -> None:
    """
    Which nodes are in no domain, and what the members keep to together.
    """
    world = asking(LevelRule("rack", GatherOrSpread.GATHER), pods=5)
    nodes = tuple(replace(node, domains=()) for node in world.nodes)

    for instance, reasons in (
        (world, ("gather: all members that run are in one rack",)),
        (replace(world, nodes=nodes), ("never fits (3 of 3 nodes: domain: belongs to no rack)",)),
    ):
        found = solve(instance, SolveOptions(engine=Engine.EXACT, workers=1))
        assert isinstance(found, Infeasible)
        for reason in reasons:
            assert reason in found.unplaced[0].reasons


def test_who_asks_for_nothing_leaves_nothing_to_fill() -> None:
    """
    A world in which the only pod that could still come asks for no resource at all.
    """
    instance = network_instance(135)

    assert isinstance(solve(instance, SolveOptions(Engine.AUTO, workers=1)), PartlyPlaced)
