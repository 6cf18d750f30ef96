"""Random refusals: worlds in which pods have no place, with the words of every family in them.

A world is drawn by its number alone. Of five, two are tiny worlds dressed with the words of some
families (`mixed_worlds`), in two small running pods are in the way of large ones
(`moving_worlds`), and one is a small dump of a cluster (`dump_worlds`). In three of four of the
first and the last kind some or all nodes are cordoned, lose a device, or are tainted, so that there
is something to mend and to give up. Worlds in which all have a place are passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from dump_worlds import dump_world, objects_of
from mixed_worlds import mixed_instance
from moving_worlds import crowded_instance, mixed_moving_instance, moving_instance
from placer.explain.explain import explain
from placer.explain.explanation import Explanation
from placer.explain.final_state import instance_after_answer
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node
from placer_models.placement import PartlyPlaced, Placed, Placement
from placer_models.taints import Taint, TaintEffect

LONG_S = 60.0
"""More than any explanation of so small a world takes, so that nothing ends for want of time."""

WORLDS_ROUND = 5
"""After so many worlds the same kinds of worlds come again; one of them is a dump."""


@dataclass(frozen=True)
class Refusal:
    """An explanation, and the state in which its changes are made.

    Attributes:
        world: The number of its world.
        state: Who is placed runs, and those that it is about wait.
        of_dump: Whether the world is a dump.

    """

    world: int
    state: Instance
    explanation: Explanation
    of_dump: bool


def refusal_world(number: int) -> Instance:
    """Draw the world of a number."""
    draw = Random(f"refusal-{number}")
    match number % WORLDS_ROUND:
        case 0:
            instance, _ = instance_of_cluster_objects(objects_of(dump_world(draw)))
        case 1 | 2:
            return replace(draw.choice(_CROWDS)(number), move_budget=0)
        case _:
            instance = mixed_instance(number)
    how = draw.choice((*_WEAR, None))
    if how is None:
        return replace(instance, move_budget=0)
    every = draw.random() < 0.5
    nodes = tuple(
        _WEAR[how](draw, node) if every or draw.random() < 0.5 else node for node in instance.nodes
    )
    return replace(instance, nodes=nodes, move_budget=0)


def _cordoned(_: Random, node: Node) -> Node:
    return replace(node, cordoned=True)


def _broken(draw: Random, node: Node) -> Node:
    if not node.machine.devices:
        return node
    device = draw.choice(node.machine.devices)
    return replace(node, unhealthy=node.unhealthy | {(device.type, device.minor)})


def _tainted(_: Random, node: Node) -> Node:
    return replace(node, taints=(*node.taints, Taint("worn", "", TaintEffect.NO_SCHEDULE)))


_CROWDS = (crowded_instance,) * 3 + (moving_instance, mixed_moving_instance)
"""Worlds with running pods in the way; in those that come up most a move often makes room."""

_WEAR = {"cordoned": _cordoned, "broken": _broken, "tainted": _tainted}
"""What may happen to nodes."""


def refusals(numbers: range) -> Iterator[Refusal]:
    """Yield the refusals of the worlds of some numbers, each with its explanation."""
    for number in numbers:
        instance = refusal_world(number)
        answer = solve(instance, SolveOptions(workers=1, work_limit=5))
        if isinstance(answer, Placed):
            continue
        placement = answer.placement if isinstance(answer, PartlyPlaced) else Placement()
        for one in explain(instance, answer, seconds=LONG_S):
            asked = set(one.pods)
            gangs = [g for g in instance.gangs if any(pod.key in asked for pod in g.pods)]
            state = instance_after_answer(instance, placement, gangs)
            yield Refusal(number, state, one, of_dump=number % WORLDS_ROUND == 0)
