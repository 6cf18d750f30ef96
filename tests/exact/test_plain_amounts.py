"""Amounts of a node, shared out to the last one: as by brute force, as a reason, as pods go.

They are extended resources, pods that a node takes, and its ports.
"""

from dataclasses import replace

import pytest

from answers import expect
from judge.cases_host_ports import HERE, THERE, reached_at
from judge.cases_max_pods import small
from judge.hand import ALL_CPUS, node, put, world
from placer.scheduler import Scheduler
from placer.search.options import Engine, SolveOptions
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.register import rule_demands_of_pod, without_rule_demands
from placer.search.reasons.rule import only_demands_of_rule
from placer.search.solver import solve
from placer_models.cluster import Node, RunningPod
from placer_models.host_ports import HostPort
from placer_models.placement import Infeasible, PartlyPlaced, Placed
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from scheduler.cluster import refused_while_taken


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


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_a_port_of_a_node_is_had_once(engine: Engine) -> None:
    """
    Two come to one node, on two addresses; the third, which asks for all, is told why not.
    """
    pods = [
        reached_at("a", HostPort(80, ip=HERE)),
        reached_at("b", HostPort(80, ip=THERE)),
        reached_at("c", HostPort(80)),
    ]
    answer = solve(world(*pods, nodes=[node()]), SolveOptions(engine=engine, workers=1))

    assert isinstance(answer, PartlyPlaced)
    assert {place.name for place in answer.placement.pods} == {"a", "b"}
    assert answer.unplaced[0].reasons == ("outvoted (1 of 1 nodes: host-ports asks 80/TCP)",)


def test_a_port_that_a_running_pod_has_is_not_to_be_had_now() -> None:
    """
    On its own address alone.
    """
    there = [(reached_at("r", HostPort(80, ip=HERE)), put("r"))]
    pods = [reached_at("a", HostPort(80, ip=HERE)), reached_at("b", HostPort(80, ip=THERE))]
    answer = solve(world(*pods, nodes=[node()], running=there), SolveOptions(workers=1))

    assert [place.name for place in answer.placement.pods] == ["b"]
    assert answer.unplaced[0].reasons == (
        "not now: running pods leave no room (1 of 1 nodes: host-ports asks 10.0.0.7:80/TCP)",
    )


@pytest.mark.parametrize("taken", [HostPort(443), HostPort(443, ip="::")])
def test_a_port_on_one_address_is_one_demand(taken: HostPort) -> None:
    """
    Whoever has it there or on all addresses, it is told as it is asked for; without it the pod
    still asks for its other port on all addresses.
    """
    waiting = reached_at("a", HostPort(80), HostPort(443, ip="::"))
    runs = (reached_at("r", taken), put("r"))
    asked = PodOnNode(waiting.spec, "default", (), node(), (RunningPod(*runs),))
    ports = only_demands_of_rule("host-ports", rule_demands_of_pod(asked))

    assert [demand.subject for demand in ports] == ["80/TCP", "[::]:443/TCP"]
    for dropped, kept in (ports, reversed(ports)):
        rest = rule_demands_of_pod(without_rule_demands(asked, [dropped]))
        assert only_demands_of_rule("host-ports", rest) == [kept]
    answer = solve(world(waiting, nodes=[node()], running=[runs]), SolveOptions(workers=1))
    assert "1 of 1 nodes: host-ports asks [::]:443/TCP" in answer.unplaced[0].reasons[0]


def test_a_cluster_of_nodes_has_as_many_of_a_port() -> None:
    """
    Three ask for a port on three nodes: each comes to one of its own.
    """
    nodes = [node(name=name) for name in ("a", "b", "c")]
    pods = [reached_at(f"p{i}", HostPort(80)) for i in range(3)]
    for engine in (Engine.GREEDY, Engine.EXACT):
        answer = solve(world(*pods, nodes=nodes), SolveOptions(engine=engine, workers=1))

        assert isinstance(answer, Placed)
        assert {place.node for place in answer.placement.pods} == {"a", "b", "c"}


def test_the_scheduler_gives_a_port_once_and_again_when_it_is_free() -> None:
    """
    A decision that comes too late is told the port, and that none is left of it.
    """
    refusal = refused_while_taken(Scheduler([node()]), lambda name: reached_at(name, HostPort(80)))

    assert [(gone.resource, gone.asked, gone.left) for gone in refusal.gone] == [("80/TCP", 1, 0)]
