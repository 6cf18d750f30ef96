"""Running pods bound to NUMA nodes that have no CPU of their pool, and who comes beside them."""

from dataclasses import replace
from pathlib import Path

import pytest

from answers import expect
from commands import Placer
from even_topologies import even_topology
from features.emptied_pools import emptied_instance
from placer.judge.breaches import breaches
from placer.judge.misfits import misfits_of_instance
from placer.load import load_instance
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_cli.exits import ExitCode
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpuset import CpuSet, parse_cpu_list
from placer_models.placement import Answer, Infeasible, PartlyPlaced, Placed, PodPlacement
from placer_models.pod import Container, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import AlignmentPolicy, QosClass
from placer_models.reasons import Blocked

GIB = 2**30
LS, BE, LSR, LSE = QosClass.LS, QosClass.BE, QosClass.LSR, QosClass.LSE
BOX = Machine(
    "box",
    "two NUMA nodes of 8 CPUs and 64Gi",
    even_topology(16, 64 * GIB, 64 * GIB, packages=2),
)
NODE = Node("n", BOX, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)
FREE = replace(NODE, name="free")
ENGINES = (Engine.GREEDY, Engine.AUTO, Engine.EXACT)


def pod(name: str, milli: int, qos: QosClass = LS, gib: int = 0) -> Pod:
    return Pod(name, "default", PodSpec((Container("app", Resources(milli, gib * GIB)),), qos=qos))


def runs(name: str, milli: int, qos: QosClass, gib: int, home: int, cpus: str = "") -> RunningPod:
    """Return a pod on node n whose memory is on a NUMA node; owners have CPUs."""
    cpuset: CpuSet = parse_cpu_list(cpus)
    place = PodPlacement(name, "default", None, "n", cpuset, memory_bytes=((home, gib * GIB),))
    return RunningPod(pod(name, milli, qos, gib), place)


RUNNING = (
    runs("a", 2000, LSR, 8, 0, "0-1"),
    runs("b", 8000, LSR, 4, 1, "8-15"),
    runs("c", 100, LS, 1, 1),
)
"""All CPUs of NUMA node 1 are owned, and a pod of 100m is bound there by its memory."""


def asked(*pods: Pod, nodes: tuple[Node, ...] = (NODE,)) -> Instance:
    return Instance(nodes, tuple(map(lone_gang, pods)), running=RUNNING)


def answer_to(instance: Instance, engine: Engine) -> Answer:
    return solve(instance, SolveOptions(engine=engine, workers=1, seed=1))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_owner_is_left_out_with_its_reason(engine: Engine) -> None:
    """
    100m of a pod on NUMA node 1 find no CPU, so nobody new owns CPUs of the node: not 2 of 6.
    """
    answer = answer_to(asked(pod("p", 2000, LSR)), engine)

    assert not isinstance(answer, Placed | PartlyPlaced)
    (left_out,) = answer.unplaced
    (verdict, *_) = left_out.why
    assert isinstance(verdict, Blocked)
    assert [blocker.demand.rule for blocker, _ in verdict.nodes] == ["bound-pool"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("qos", [LSR, LSE])
def test_an_owner_goes_to_the_free_node(engine: Engine, qos: QosClass) -> None:
    """
    One node has such a pod, the other is empty: it is taken.
    """
    instance = asked(pod("p", 2000, qos), pod("q", 3000, qos), nodes=(NODE, FREE))
    answer = expect(Placed, answer_to(instance, engine))

    assert breaches(instance, answer.placement) == ()
    assert {place.node for place in answer.placement.pods} == {"free"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bound_pod_is_left_out_too(engine: Engine) -> None:
    """
    Of the shared pool nothing new is counted by NUMA node; the BE pool lacks nothing.
    """
    instance = asked(pod("p", 1000), pod("q", 1000, BE), pod("r", 0, gib=1))
    answer = expect(PartlyPlaced, answer_to(instance, engine))

    assert {place.name for place in answer.placement.pods} == {"q", "r"}


@pytest.mark.parametrize("engine", ENGINES)
def test_who_lacks_cpus_of_the_be_pool_keeps_no_lsr_pod_off(engine: Engine) -> None:
    """
    An LSE pod owns NUMA node 1, where a BE pod of 100m is: LSR pods and LS pods may come.
    """
    running = (runs("b", 8000, LSE, 4, 1, "8-15"), runs("c", 100, BE, 1, 1))
    instance = replace(
        asked(pod("p", 2000, LSR), pod("q", 1000), pod("r", 1000, LSE)), running=running
    )
    answer = expect(PartlyPlaced, answer_to(instance, engine))

    assert breaches(instance, answer.placement) == ()
    assert {place.name for place in answer.placement.pods} == {"p", "q"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pod_that_asks_for_no_cpu_keeps_owners_off_its_numa_node_alone(engine: Engine) -> None:
    """
    It lacks no CPU that anyone could count: owners have the other NUMA node, as before.
    """
    *others, _ = RUNNING
    instance = replace(asked(pod("p", 5000, LSR)), running=(*others, runs("c", 0, LS, 1, 1)))
    answer = expect(Placed, answer_to(instance, engine))

    assert answer.placement.pods[0].cpuset == frozenset(range(2, 7))


@pytest.mark.parametrize("engine", ENGINES)
def test_with_a_move_the_owner_has_a_place(engine: Engine) -> None:
    """
    Whoever cannot be where it is may go elsewhere: then all requests fit again.
    """
    instance = replace(asked(pod("p", 2000, LSR)), move_budget=1)
    answer = answer_to(instance, engine)

    if engine is Engine.GREEDY:
        assert not isinstance(answer, Placed)  # the greedy path moves nobody
    else:
        assert isinstance(answer, Placed)
        (move,) = answer.moves
        assert move.mends == ("bound-pool",)


def test_a_burst_pod_that_is_bound_nowhere_is_no_riddle() -> None:
    """
    Owners have every CPU of the node, so its CPUs name no NUMA node; reasons look past it.
    """
    app = Container("app", Resources(100), cpu_limit_milli=1000)
    burst = Pod("burst", "default", PodSpec((app,), constrained_burst=True))
    instance = Instance(
        (replace(NODE, alignment=AlignmentPolicy.NONE),),
        (lone_gang(pod("p", 2000, LSR)),),
        running=(
            runs("a", 8000, LSR, 1, 0, "0-7"),
            runs("b", 7000, LSR, 1, 1, "8-14"),
            RunningPod(burst, PodPlacement("burst", "default", None, "n", frozenset())),
        ),
    )
    answer = expect(Infeasible, answer_to(instance, Engine.AUTO))

    assert "cpu-count" in answer.unplaced[0].reasons[0]


@pytest.mark.parametrize("nodes", [(NODE,), (NODE, FREE)], ids=["alone", "beside a free node"])
def test_a_scheduler_goes_on(nodes: tuple[Node, ...]) -> None:
    """
    In a Scheduler as in a single question: left out, or on the free node.
    """
    scheduler = Scheduler(nodes, RUNNING)
    decision = scheduler.place(
        Batch((lone_gang(pod("p", 2000, LSR)),)), 60, options=SolveOptions(workers=1, seed=1)
    )

    assert [place.node for place in decision.placement.pods] == ["free"] * (len(nodes) - 1)
    assert isinstance(decision.answer, Placed if len(nodes) == 2 else Infeasible)


FILE = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes:
      - {id: 0, package: 0, memory: 64Gi, cpus: "0-7"}
      - {id: 1, package: 1, memory: 64Gi, cpus: "8-15"}
nodes:
  - {name: n, machine: box, numaPolicy: SingleNUMANode}
running:
  - {name: a, qos: LSR, requests: {cpu: 2, memory: 8Gi}, node: n, cpuset: 0-1, memory: {"0": 8Gi}}
  - {name: b, qos: LSR, requests: {cpu: 8, memory: 4Gi}, node: n, cpuset: 8-15, memory: {"1": 4Gi}}
  - {name: c, requests: {cpu: 100m, memory: 1Gi}, node: n, memory: {"1": 1Gi}}
pods:
  - {name: p, qos: LSR, requests: {cpu: 2}}
"""


def test_a_file_is_answered(tmp_path: Path, placer: Placer) -> None:
    """
    The command says why the pod is left out; with a free node it is placed there.
    """
    alone, beside = tmp_path / "alone.yaml", tmp_path / "beside.yaml"
    alone.write_text(FILE)
    beside.write_text(FILE.replace("nodes:\n  - {name: n,", 'nodes:\n  - {name: "f,n",'))

    assert "bound-pool" in placer("solve", str(alone), "--workers", "1", code=ExitCode.NOT_ALL).out
    placer("solve", str(beside), "--workers", "1")


def test_only_the_pod_without_a_cpu_is_a_misfit(tmp_path: Path) -> None:
    """
    It is named once; the owners of the CPUs keep every rule of their own.
    """
    file = tmp_path / "a.yaml"
    file.write_text(FILE)

    for instance in (asked(), load_instance([file])):
        (misfit,) = misfits_of_instance(instance)

        assert (misfit.pod, misfit.node, misfit.rule) == (("default", "c"), "n", "bound-pool")
        assert "'c' has no CPU on NUMA node 1" in misfit.message


def test_worlds_with_emptied_pools_are_as_their_name_says() -> None:
    """
    Most of them have a running pod that has no CPU of its pool on a NUMA node.
    """
    worlds = [emptied_instance(seed) for seed in range(100)]
    emptied = [
        world
        for world in worlds
        if any(m.rule in ("bound-pool", "constrained-burst") for m in misfits_of_instance(world))
    ]

    assert len(emptied) > 60
