"""LS and BE pods under NUMA policies: by hand, and worlds against brute force (C12)."""

import pytest

from brute_force import best_placement
from even_topologies import even_topology
from exact_checks import brute_force_is_right, check_exact
from features.bound import bound_instance
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.device import GPU, Device
from placer_models.placement import PartlyPlaced, Placed, PodPlacement
from placer_models.pod import Container, ContainerRole, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, AlignmentScope, QosClass
from worlds import tiny_instance

GIB = 2**30
LOW, HIGH = frozenset(range(8)), frozenset(range(8, 16))
SINGLE, RESTRICTED = AlignmentPolicy.SINGLE_NUMA_NODE, AlignmentPolicy.RESTRICTED
BOX = Machine(
    "box",
    "two NUMA nodes of 8 CPUs and 32Gi, a GPU on the first",
    even_topology(16, 32 * GIB, 32 * GIB, threads=2, packages=2),
    devices=(Device(GPU, 0, numa_node=0),),
)


def lone(name: str, cpu: float, qos: QosClass = QosClass.LS, gib: int = 0, gpus: int = 0) -> Gang:
    devices = (DeviceRequest(GPU, gpus),) if gpus else ()
    asked = Resources(round(1000 * cpu), gib * GIB, devices=devices)
    pod = Pod(name, "default", PodSpec((Container("app", asked),), qos=qos))
    return Gang(name, "default", (pod,), 1, lone=True)


def parted(name: str, *containers: tuple[ContainerRole, float]) -> Gang:
    parts = tuple(
        Container(f"c{i}", Resources(round(1000 * cpu)), role)
        for i, (role, cpu) in enumerate(containers)
    )
    spec = PodSpec(parts, scope=AlignmentScope.CONTAINER)
    return Gang(name, "default", (Pod(name, "default", spec),), 1, lone=True)


def placed(
    policy: AlignmentPolicy,
    *gangs: Gang,
    running: tuple[RunningPod, ...] = (),
    greedy: bool = False,
) -> dict[str, PodPlacement]:
    """Return the places in one box by name, which the judge has found nothing wrong with."""
    instance = Instance((Node("n", BOX, alignment=policy),), gangs, running=running)
    engine = Engine.GREEDY if greedy else Engine.EXACT
    answer = solve(instance, SolveOptions(engine=engine, workers=1, seed=1))
    if not isinstance(answer, Placed | PartlyPlaced):
        return {}
    assert breaches(instance, answer.placement) == ()
    return {place.name: place for place in answer.placement.pods}


def running(gang: Gang, cpus: CpuSet, memory: tuple[tuple[int, int], ...] = ()) -> RunningPod:
    place = PodPlacement(gang.name, "default", None, "n", cpus, memory_bytes=memory)
    return RunningPod(gang.pods[0], place)


@pytest.mark.slow
def test_brute_force_is_right_about_bound_pods() -> None:
    """
    Where the plainest enumeration can be done, the shortcuts of brute force change nothing.
    """

    def is_plain(instance: Instance) -> bool:
        scopes = [pod.spec.scope for gang in instance.gangs for pod in gang.pods]
        scopes += [node.scope for node in instance.nodes]
        return AlignmentScope.CONTAINER not in scopes and not instance.move_budget

    plain = filter(is_plain, map(bound_instance, range(200)))

    assert brute_force_is_right(plain, most_leaves=300) > 15


@pytest.mark.parametrize("qos", [QosClass.LS, QosClass.BE])
def test_twelve_cpus_are_of_no_single_numa_node(qos: QosClass) -> None:
    """
    8 CPUs are; the pod then runs in the pool of that NUMA node, not in all of it.
    """
    assert placed(SINGLE, lone("a", 12, qos)) == {}
    place = placed(SINGLE, lone("a", 8, qos))["a"]
    assert (place.cpuset, place.cpu_milli) in [(LOW, ((0, 8000),)), (HIGH, ((1, 8000),))]


@pytest.mark.parametrize("greedy", [False, True])
def test_cpus_are_where_gpu_and_memory_are(greedy: bool) -> None:
    """
    The only GPU is of NUMA node 0, so are 4Gi and the pool of the pod.
    """
    place = placed(SINGLE, lone("a", 2, gib=4, gpus=1), greedy=greedy)["a"]

    assert place.memory_bytes == ((0, 4 * GIB),)
    assert (place.cpuset, place.cpu_milli) == (LOW, ((0, 2000),))


def test_restricted_counts_the_cpus_of_an_ls_pod() -> None:
    """
    12 CPUs need both NUMA nodes, as 40Gi do; 12 CPUs and 4Gi do not agree on a width.
    """
    assert placed(RESTRICTED, lone("a", 12, gib=4)) == {}
    place = placed(RESTRICTED, lone("a", 12, gib=40))["a"]

    assert place.cpuset == LOW | HIGH
    assert place.cpu_milli is not None
    assert [numa for numa, _ in place.cpu_milli] == [0, 1]
    assert sum(milli for _, milli in place.cpu_milli) == 12_000


def test_a_wide_pod_makes_room_on_one_numa_node() -> None:
    """
    12 CPUs over both NUMA nodes and 4 on one of them are 16: the wide pod has 4 and 8.
    """
    places = placed(RESTRICTED, lone("wide", 12), lone("small", 4))

    (home, milli), *others = places["small"].cpu_milli or ()
    assert (milli, others) == (4000, [])
    assert places["wide"].cpu_milli == tuple(
        (numa, 4000 if numa == home else 8000) for numa in (0, 1)
    )


@pytest.mark.parametrize("policy", [AlignmentPolicy.NONE, AlignmentPolicy.BEST_EFFORT])
def test_without_such_a_policy_the_share_floats(policy: AlignmentPolicy) -> None:
    """
    12 CPUs are asked of the pool as a whole, which is all 16; nothing says a NUMA node.
    """
    place = placed(policy, lone("a", 12))["a"]

    assert (place.cpuset, place.cpu_milli) == (LOW | HIGH, None)


def test_owners_leave_what_running_pods_are_bound_to() -> None:
    """
    6 CPUs of NUMA node 0 are asked for, so an owner of 3 goes to NUMA node 1.
    """
    pods = (running(lone("r", 6), LOW),)

    assert placed(SINGLE, lone("a", 3, QosClass.LSR), running=pods)["a"].cpuset < HIGH
    assert "a" in placed(SINGLE, lone("a", 8, QosClass.LSR), running=pods)
    both = placed(SINGLE, lone("a", 8, QosClass.LSR), lone("b", 2, QosClass.LSR), running=pods)
    assert both["a"].cpuset == HIGH
    assert both["b"].cpuset < LOW


def test_a_running_pod_is_bound_to_where_its_memory_is() -> None:
    """
    It names no CPU; with 1 CPU and memory on NUMA node 0 it keeps an owner of 8 off there.
    """
    pods = (running(lone("r", 1, gib=1), frozenset(), ((0, GIB),)),)

    owners = placed(SINGLE, lone("a", 8, QosClass.LSR), lone("b", 8, QosClass.LSR), running=pods)

    assert [place.cpuset for place in owners.values()] == [HIGH]


def test_lsr_pods_take_nothing_from_the_pool_that_be_pods_are_bound_to() -> None:
    """
    8 CPUs of a BE pod fit beside 8 owned by an LSR pod on one NUMA node, not by an LSE pod.
    """
    lse, lsr = lone("e", 8, QosClass.LSE), lone("r", 8, QosClass.LSR)
    be = lone("b", 8, QosClass.BE)

    assert set(placed(SINGLE, lse, lsr, be)) == {"e", "r", "b"}
    assert len(placed(SINGLE, lse, lone("f", 8, QosClass.LSE), be)) == 2


@pytest.mark.parametrize("greedy", [False, True])
def test_each_container_has_a_pool_of_its_own(greedy: bool) -> None:
    """
    6 and 5 CPUs are on different NUMA nodes; 9 are on none. An init container's 8 are used
    again by the app container.
    """
    app, init = ContainerRole.APP, ContainerRole.INIT
    place = placed(SINGLE, parted("a", (app, 6), (app, 5)), greedy=greedy)["a"]

    assert {part.cpuset for part in place.containers} == {LOW, HIGH}
    assert sorted(milli for _, milli in place.cpu_milli or ()) == [5000, 6000]
    assert placed(SINGLE, parted("a", (app, 9)), greedy=greedy) == {}
    again = placed(SINGLE, parted("a", (init, 8), (app, 8)), greedy=greedy)["a"]
    assert len(again.cpu_milli or ()) == 1


def test_an_init_container_counts_beside_the_sidecar_before_it() -> None:
    """
    8 CPUs do not fit on the NUMA node of the sidecar's 3; on the other the app's 5 are in them.
    """
    app, init, sidecar = ContainerRole.APP, ContainerRole.INIT, ContainerRole.RESTARTABLE_INIT
    place = placed(SINGLE, parted("a", (sidecar, 3), (init, 8), (app, 5)))["a"]

    assert sorted(milli for _, milli in place.cpu_milli or ()) == [3000, 8000]


def test_a_device_alone_binds_its_pod_on_a_node_of_one_numa_node() -> None:
    """
    A BE pod of no CPUs with a GPU, under Restricted: the model said no cell, so it floated.
    """
    world = tiny_instance(20_076)

    check_exact(world, best_placement(world))


def test_a_bound_pool_has_packages_too() -> None:
    """
    LS pods under SingleNUMANode with GPUs of no NUMA node: judge and model count one package.
    """
    world = tiny_instance(268)

    check_exact(world, best_placement(world))
