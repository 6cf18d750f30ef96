"""How many pods a node takes: as by brute force, as a reason, and as pods come and go."""

from dataclasses import replace

import pytest

from answers import expect
from judge.cases_max_pods import small
from judge.hand import ALL_CPUS, node, put, world
from placer.scheduler import Scheduler
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.placement import Infeasible, PartlyPlaced, Placed
from scheduler.cluster import refused_while_taken


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_pods_that_ask_for_nothing_fill_a_node(engine: Engine) -> None:
    """
    Three come to a node that takes two, of which one runs.
    """
    pods = [small(name) for name in "abc"]
    limited = replace(node(), max_pods=2)
    instance = world(*pods, nodes=[limited], running=[(small("r"), put("r", ALL_CPUS))])
    answer = expect(PartlyPlaced, solve(instance, SolveOptions(engine=engine, workers=1)))

    assert len(answer.placement.pods) == 1
    assert answer.unplaced[0].reasons == ("outvoted (1 of 1 nodes: max-pods asks 1 pod)",)


def test_a_node_that_takes_none_is_named() -> None:
    """
    Where no pod at all may come, that is why.
    """
    instance = world(small("a"), nodes=[replace(node(), max_pods=0)])
    answer = expect(Infeasible, solve(instance, SolveOptions(workers=1)))

    assert answer.unplaced[0].reasons == ("never fits (1 of 1 nodes: max-pods asks 1 pod)",)


def test_nodes_without_a_limit_take_any_number() -> None:
    """
    A limit of one node is none of the other's.
    """
    first, second = replace(node(), max_pods=1), replace(node(), name="m")
    instance = world(*(small(f"p{i}") for i in range(5)), nodes=[first, second])
    assert isinstance(solve(instance, SolveOptions(workers=1)), Placed)


def test_the_scheduler_counts_whom_it_takes_and_lets_go() -> None:
    """
    The last place is given once, refused by the count, and free again.
    """
    refusal = refused_while_taken(Scheduler([replace(node(), max_pods=1)]), small)

    assert [(gone.resource, gone.asked, gone.left) for gone in refusal.gone] == [("pod", 1, 0)]
