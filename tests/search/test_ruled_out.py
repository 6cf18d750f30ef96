"""Reasons that leave no doubt are a proof: an answer that places nothing by them is Infeasible."""

from dataclasses import replace
from typing import Any

import pytest

from answers import expect
from even_topologies import even_topology
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.placement import GaveUp, Infeasible, Placed, PodPlacement
from placer_models.pod import Container, Gang, GangGroup, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import QosClass

GREEDY = SolveOptions(Engine.GREEDY, workers=1)
BOX = Machine("box", "8 CPUs", even_topology(8, 1 << 35))
NODES = (Node("a", BOX), Node("b", BOX))
DB, WEB = (("app", "db"),), (("app", "web"),)


def pod(name: str, cpus: int = 1, **wishes: Any) -> Pod:
    """Return a pod with so many CPUs of its own."""
    spec = PodSpec((Container("main", Resources(1000 * cpus)),), QosClass.LSR)
    return Pod(name, "default", replace(spec, **wishes))


def gang(name: str, *pods: Pod, minimum: int) -> Gang:
    return Gang(name, "default", pods, minimum)


def full(node: str, *, left: int = 1, movable: bool = True) -> RunningPod:
    """Return a pod that leaves so many CPUs of a node."""
    owned = frozenset(range(8 - left))
    place = PodPlacement(f"r-{node}", "default", None, node, owned)
    return RunningPod(pod(f"r-{node}", 8 - left), place, movable)


FULL = (full("a"), full("b"))
TWINS = tuple(pod(f"g-{i}", 6) for i in range(3))
SMALL = tuple(pod(f"g-{i}") for i in range(3))

CERTAIN: dict[str, Instance] = {
    "no empty node is so large": Instance(NODES, (lone_gang(pod("p", 9)),)),
    "running pods leave too little": Instance(NODES, (lone_gang(pod("p", 2)),), running=FULL),
    "each pod has its own reason": Instance(
        NODES, (lone_gang(pod("p", 9)), lone_gang(pod("q", 2))), running=FULL
    ),
    "too few members fit on empty nodes": Instance(NODES, (gang("g", *TWINS, minimum=3),)),
    "too few members fit beside what runs": Instance(
        NODES, (gang("g", *SMALL, minimum=3),), running=FULL
    ),
    "a gang group does not fit whole": Instance(
        NODES,
        (gang("g", *TWINS[:2], minimum=2), gang("h", pod("h-0", 6), minimum=1)),
        (GangGroup("both", "default", (("default", "g"), ("default", "h"))),),
    ),
    "no node has the label": Instance(
        NODES, (lone_gang(pod("p", node_selector=(("zone", "c"),))),)
    ),
    "no pod that could move may": Instance(
        NODES,
        (lone_gang(pod("p", 2)),),
        running=(full("a", movable=False), full("b", movable=False)),
        move_budget=2,
    ),
    "no empty node is so large, whatever moves": Instance(
        NODES, (lone_gang(pod("p", 9)),), running=FULL, move_budget=2
    ),
    "there is no node": Instance((), (lone_gang(pod("p")),)),
}


@pytest.mark.parametrize("instance", CERTAIN.values(), ids=CERTAIN)
def test_nothing_placed_for_certain_reasons_is_infeasible(instance: Instance) -> None:
    """
    The fast path proves nothing by itself, but its reasons may.
    """
    answer = expect(Infeasible, solve(instance, GREEDY))

    assert len(answer.unplaced) == sum(len(waiting.pods) for waiting in instance.gangs)


def test_the_scheduler_answers_alike() -> None:
    """
    A pod that has no room now is no matter of time.
    """
    scheduler = Scheduler(NODES, FULL)

    decision = scheduler.place(Batch((lone_gang(pod("p", 2)),)), 60, options=GREEDY)

    assert isinstance(decision.answer, Infeasible)


def test_company_that_may_still_come_proves_nothing() -> None:
    """
    Each of two pods has to be with the other: neither has a place alone, and both have together.
    """
    db = pod("db", labels=DB, affinity=(AffinityTerm(WEB),))
    web = pod("web", labels=WEB, affinity=(AffinityTerm(DB),))
    instance = Instance(NODES, (lone_gang(db), lone_gang(web)))

    assert isinstance(solve(instance, GREEDY), GaveUp)
    assert isinstance(solve(instance, SolveOptions(Engine.EXACT, workers=1)), Placed)


def test_pods_that_may_move_prove_nothing() -> None:
    """
    What runs leaves no room now; it would if it moved, which the fast path never tries.
    """
    halves = (full("a", left=4), full("b", left=4))
    instance = Instance(NODES, (lone_gang(pod("p", 8)),), running=halves, move_budget=1)

    assert isinstance(solve(instance, GREEDY), GaveUp)
    assert isinstance(solve(instance, SolveOptions(Engine.EXACT, workers=1)), Placed)


def test_one_doubt_is_a_doubt_about_all() -> None:
    """
    A pod that fits nowhere rules nobody else out.
    """
    db = pod("db", labels=DB, affinity=(AffinityTerm(WEB),))
    web = pod("web", labels=WEB, affinity=(AffinityTerm(DB),))
    instance = Instance(NODES, tuple(map(lone_gang, (db, web, pod("huge", 9)))))

    assert isinstance(solve(instance, GREEDY), GaveUp)
