"""Ports of nodes: as by brute force, as a reason, and as pods come and go."""

import pytest

from judge.cases_host_ports import HERE, THERE, reached_at
from judge.hand import node, put, world
from placer.scheduler import Scheduler
from placer.search.options import Engine, SolveOptions
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.register import all_demands_of, question_without
from placer.search.reasons.rule import demands_of_rule
from placer.search.solver import solve
from placer_models.cluster import RunningPod
from placer_models.host_ports import HostPort
from placer_models.placement import PartlyPlaced, Placed
from scheduler.cluster import refused_while_taken


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
    ports = demands_of_rule("host-ports", all_demands_of(asked))

    assert [demand.subject for demand in ports] == ["80/TCP", "[::]:443/TCP"]
    for dropped, kept in (ports, reversed(ports)):
        rest = all_demands_of(question_without(asked, [dropped]))
        assert demands_of_rule("host-ports", rest) == [kept]
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
