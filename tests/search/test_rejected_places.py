"""Places that the judge rejects: each costs its node, and never the batch its answer (G6).

Every fault here is put in on purpose: the old defect of the greedy path, which takes it that
pods bound to a NUMA node never lack anything, counts without ids, and a model without a rule.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from answers import expect
from commands import Placer
from even_topologies import even_topology
from placer.counting.account import Account
from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.judge.breaches import breaches
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search import exact
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpsat.batch_model import RULES, build_batch_model
from placer_models.cpsat.bound import requests_of_bound_pods_fit_their_cells
from placer_models.cpuset import parse_cpu_list
from placer_models.instance.writer import instance_to_yaml
from placer_models.placement import (
    Answer,
    GaveUp,
    PartlyPlaced,
    Placed,
    Placement,
    PlaceRejectedByJudge,
    PodPlacement,
)
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import AlignmentPolicy, GatherLevel, QosClass
from placer_models.problem.problem import Choice, Problem
from placer_models.reasons import RejectedPlaceReason

pytestmark = pytest.mark.rejects_on_purpose

ENGINES = (Engine.GREEDY, Engine.AUTO, Engine.EXACT)
LSR, LS = QosClass.LSR, QosClass.LS
BOX = Machine("box", "two NUMA nodes of 4 CPUs", even_topology(8, 8, 8))
LOST = "n"
"""The node on which the greedy path is wrong: a bound pod there has no CPU."""


def node(name: str) -> Node:
    return Node(name, BOX, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)


def pod(name: str, cpu: float, qos: QosClass = LSR) -> Pod:
    return Pod(name, "default", PodSpec((Container("app", Resources(round(1000 * cpu))),), qos=qos))


def runs(name: str, cpu: float, qos: QosClass, cpus: str, home: int) -> RunningPod:
    place = PodPlacement(name, "default", None, LOST, parse_cpu_list(cpus))
    if qos is LS:
        place = PodPlacement(
            name, "default", None, LOST, frozenset(), cpu_milli=((home, round(1000 * cpu)),)
        )
    return RunningPod(pod(name, cpu, qos), place)


RUNNING = (runs("o", 4, LSR, "4-7", 1), runs("c", 0.1, LS, "", 1))


def world(*waiting: Pod | Gang, nodes: Sequence[str] = (LOST,)) -> Instance:
    gangs = tuple(lone_gang(one) if isinstance(one, Pod) else one for one in waiting)
    return Instance(tuple(map(node, nodes)), gangs, running=RUNNING)


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the greedy path believe that bound pods never lack anything."""
    monkeypatch.setattr("placer.greedy.bound._short_cells", lambda *_: None)


def answer_to(instance: Instance, engine: Engine = Engine.GREEDY) -> Answer:
    return solve(instance, SolveOptions(engine=engine, workers=1, seed=1))


def nodes_of(answer: Answer) -> dict[str, str]:
    assert isinstance(answer, Placed | PartlyPlaced)
    return {place.name: place.node for place in answer.placement.pods}


@pytest.mark.usefixtures("fault")
@pytest.mark.parametrize("engine", ENGINES)
def test_the_pod_goes_to_another_node(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """
    The node is lost to it; the answer and the log say which, and why.
    """
    instance = world(pod("p", 2), pod("q", 1, LS), nodes=(LOST, "free"))
    with caplog.at_level(logging.ERROR):
        answer = answer_to(instance, engine)

    assert nodes_of(answer) == {"p": "free", "q": "free"}
    assert isinstance(answer, Placed)
    assert breaches(instance, answer.placement) == ()
    (rejected,) = answer.rejected
    assert (rejected.name, rejected.namespace, rejected.node) == ("p", "default", LOST)
    assert rejected.why.startswith("bound-pool: the bound LS pods of node 'n' ask for 0.1 CPUs")
    (record,) = [r for r in caplog.records if r.name == "placer.search.rejected"]
    assert "'p'" in record.getMessage()
    assert rejected.why in record.getMessage()


@pytest.mark.usefixtures("fault")
@pytest.mark.parametrize("engine", ENGINES)
def test_without_another_node_the_pod_alone_is_left_out(engine: Engine) -> None:
    """
    Others of the batch have their places; its reasons name the rejected one.
    """
    idle = pod("idle", 0, LS)
    answer = expect(PartlyPlaced, answer_to(world(pod("p", 2), idle), engine))

    assert nodes_of(answer) == {"idle": LOST}
    (left_out,) = answer.unplaced
    (why,) = [reason for reason in left_out.why if isinstance(reason, RejectedPlaceReason)]
    assert (why.node, answer.rejected[0].node) == (LOST, LOST)
    assert any("defect of placer" in text for text in left_out.reasons)


@pytest.mark.usefixtures("fault")
def test_nothing_placed_is_an_answer_too() -> None:
    """
    With a single pod and a single node the greedy path places nothing.
    """
    answer = expect(GaveUp, answer_to(world(pod("p", 2))))

    assert [place.node for place in answer.rejected] == [LOST]


@pytest.mark.usefixtures("fault")
def test_of_several_pods_of_a_node_the_guilty_one_loses_it() -> None:
    """
    BE pods take nothing from the shared pool; they stay, and the owner among them goes.
    """
    others = [pod(f"b{i}", 0.5, QosClass.BE) for i in range(3)]
    answer = answer_to(world(*others[:2], pod("p", 2), others[2]))

    assert nodes_of(answer) == {"b0": LOST, "b1": LOST, "b2": LOST}
    assert [place.name for place in answer.rejected] == ["p"]


@pytest.mark.usefixtures("fault")
def test_a_gang_that_gathers_goes_elsewhere_as_one() -> None:
    """
    Its members are on one node, so all of them lose it.
    """
    members = tuple(pod(f"m{i}", 1) for i in range(3))
    gang = Gang("g", "default", members, 3, gather=GatherLevel.NODE)
    answer = answer_to(world(gang, nodes=(LOST, "free")))

    assert set(nodes_of(answer).values()) == {"free"}


@pytest.mark.usefixtures("fault")
def test_a_pod_that_finds_no_node_is_left_out_at_last() -> None:
    """
    Twelve nodes have the same fault. The others of the batch are placed all the same.
    """
    names = tuple(f"n{i}" for i in range(12))
    running = tuple(
        RunningPod(
            Pod(f"{one.pod.name}-{name}", "default", one.pod.spec),
            PodPlacement(
                f"{one.pod.name}-{name}",
                "default",
                None,
                name,
                one.placement.cpuset,
                cpu_milli=one.placement.cpu_milli,
            ),
        )
        for name in names
        for one in RUNNING
    )
    waiting = tuple(lone_gang(one) for one in (pod("p", 2), pod("q", 0.5, QosClass.BE)))
    answer = answer_to(Instance(tuple(map(node, names)), waiting, running=running))

    assert list(nodes_of(answer)) == ["q"]
    assert 1 < len(answer.rejected) < 12
    assert {place.name for place in answer.rejected} == {"p"}


@pytest.mark.usefixtures("fault")
def test_a_scheduler_takes_the_rest() -> None:
    """
    The decision has the rejected place as well, and the state holds what was placed.
    """
    scheduler = Scheduler((node(LOST), node("free")), RUNNING)
    batch = Batch((lone_gang(pod("p", 2)), lone_gang(pod("q", 1, LS))))
    decision = scheduler.place(batch, 60, options=SolveOptions(workers=1, seed=1))

    assert {place.node for place in decision.placement.pods} == {"free"}
    assert [place.node for place in decision.answer.rejected] == [LOST]
    assert scheduler.placement_of(("default", "p")).node == "free"


@pytest.mark.usefixtures("fault")
def test_the_command_says_so(tmp_path: Path, placer: Placer) -> None:
    """
    In the table and in JSON, which `placer verify` reads.
    """
    instance = world(pod("p", 2), nodes=(LOST, "free"))
    file, placement = tmp_path / "a.yaml", tmp_path / "p.json"
    file.write_text(instance_to_yaml(instance, lambda _: False))

    command = ["solve", str(file), "--engine", "greedy", "--output", str(placement)]
    shown = placer(*command).flat
    assert "1 of 1 pod placed" in shown
    assert "pod 'p' on node 'n' (bound-pool: the bound LS pods of node 'n' ask for" in shown
    assert "defect of placer" in shown
    printed = placer("solve", str(file), "--engine", "greedy", "--format", "json")
    assert "the judge rejected the place of pod 'p' on node 'n'" in printed.err
    (rejected,) = json.loads(placement.read_text())["rejected"]
    assert (rejected["name"], rejected["namespace"], rejected["node"]) == ("p", "default", "n")
    assert rejected["why"].startswith("bound-pool: ")
    placer("verify", str(file), str(placement))


def test_nothing_is_said_where_nothing_was_rejected(tmp_path: Path, placer: Placer) -> None:
    """
    The same without the fault.
    """
    instance = world(pod("p", 2), nodes=(LOST, "free"))
    file = tmp_path / "a.yaml"
    file.write_text(instance_to_yaml(instance, lambda _: False))

    answer = expect(Placed, answer_to(instance))
    assert answer.rejected == ()
    read = placer("solve", str(file), "--format", "json", "--workers", "1")
    assert json.loads(read.out)["rejected"] == []
    assert "defect" not in read.out + read.err


Realise = Callable[
    [Instance, Sequence[Account], Problem, Mapping[int, Choice]],
    Placement | NodeIdAssignmentFailure,
]


@pytest.mark.parametrize("engine", ENGINES)
def test_counts_without_ids_cost_their_node(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Nothing can be given ids on node n0: pods have the other node, in every engine.
    """

    def never_on_n0(
        instance: Instance,
        accounts: Sequence[Account],
        problem: Problem,
        choices: Mapping[int, Choice],
    ) -> Placement | NodeIdAssignmentFailure:
        if any(choice.node == 0 for choice in choices.values()):
            return NodeIdAssignmentFailure("n0", "no reason")
        return realise_choices(instance, accounts, problem, choices)

    monkeypatch.setattr("placer.search.judged.realise_choices", never_on_n0)
    instance = Instance((node("n0"), node("n1")), tuple(lone_gang(pod(n, 2)) for n in "ab"))
    answer = answer_to(instance, engine)

    assert set(nodes_of(answer).values()) == {"n1"}
    assert answer.rejected
    assert {place.node for place in answer.rejected} == {"n0"}


@pytest.mark.parametrize("engine", [Engine.AUTO, Engine.EXACT])
def test_what_a_search_finds_and_the_judge_rejects_is_no_answer(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A model without the rule would have the owner on the node; the answer before it stays.
    """
    rules = tuple(rule for rule in RULES if rule is not requests_of_bound_pods_fit_their_cells)
    monkeypatch.setattr(exact, "build_batch_model", partial(build_batch_model, rules=rules))
    instance = world(pod("p", 2), pod("q", 0, LS))
    answer = solve(instance, SolveOptions(engine=engine, workers=1, seed=1, work_limit=2))

    assert isinstance(answer, PartlyPlaced)
    assert nodes_of(answer) == {"q": LOST}
    assert answer.rejected == (PlaceRejectedByJudge("p", "default", LOST, answer.rejected[0].why),)
    assert not all(tier.proven for tier in answer.tiers)
