"""Extended resources: plain amounts of a node, shared out to the last one."""

import pytest

from answers import expect
from judge.hand import ALL_CPUS, node, put, world
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Node
from placer_models.placement import Infeasible, PartlyPlaced, Placed
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import QosClass


def licensed(name: str, amount: int) -> Pod:
    """Return a pod that asks for licences and nothing else."""
    asked = Resources(extended=(("licences", amount),))
    return Pod(name, "default", PodSpec((Container("app", asked),), qos=QosClass.LS))


def having(amount: int, name: str = "n") -> Node:
    """Return a node with so many licences."""
    return Node(name, node().machine, extended=(("licences", amount),))


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
@pytest.mark.parametrize(("has", "fit"), [(7, 2), (6, 1)])
def test_amounts_are_counted_to_the_last_one(engine: Engine, has: int, fit: int) -> None:
    """
    Pods of 3 and 4 share 7 licences; of 6 only one of them has enough.
    """
    instance = world(licensed("a", 3), licensed("b", 4), nodes=[having(has)])

    answer = solve(instance, SolveOptions(engine=engine, workers=1))

    assert isinstance(answer, Placed | PartlyPlaced)
    assert len(answer.placement.pods) == fit


def test_a_node_without_the_resource_takes_nobody_who_asks_for_it() -> None:
    """
    The reason names the resource and the amount.
    """
    instance = world(licensed("a", 3), nodes=[node()])

    answer = expect(Infeasible, solve(instance, SolveOptions(workers=1)))

    assert answer.unplaced[0].reasons == ("never fits (1 of 1 nodes: licences: asks 3)",)


def test_running_pods_hold_what_they_ask_for() -> None:
    """
    Two of five licences are in use, so three are left: enough for one pod of 3, not of 4.
    """
    held = licensed("r", 2)

    def answer(amount: int) -> object:
        instance = world(
            licensed("a", amount), nodes=[having(5)], running=[(held, put("r", ALL_CPUS))]
        )
        return solve(instance, SolveOptions(workers=1))

    assert isinstance(answer(3), Placed)
    assert isinstance(answer(4), Infeasible)
