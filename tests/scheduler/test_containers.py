"""Containers in the Scheduler: what each has is kept, used again and given back."""

from dataclasses import replace

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer_models.cluster import Machine, Node, RunningPod
from placer_models.placement import PodPlacement
from placer_models.pod import Container, ContainerRole, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import AlignmentPolicy, AlignmentScope, QosClass
from placer_models.topology import Cpu, NumaNode, Topology
from scheduler.cluster import BOX, DEADLINE_S, EXACT, GIB, QUICK

SINGLE_SOCKET = Machine(
    "single-socket",
    "",
    Topology(
        "x86_64",
        tuple(Cpu(i, core=i % 4, package=0, numa_node=0) for i in range(8)),
        (NumaNode(0, 8 * GIB),),
    ),
)
"""Four cores of two threads, as the kubelet's own tests have it."""


def owning(name: str, *parts: tuple[ContainerRole, int]) -> Pod:
    """Return a pod that owns CPUs: so many for each of its containers."""
    containers = tuple(
        Container(f"c{i}", Resources(1000 * cpus), role) for i, (role, cpus) in enumerate(parts)
    )
    return Pod(name, "default", PodSpec(containers, qos=QosClass.LSR))


def test_a_sidecar_keeps_its_cpus() -> None:
    """
    Row of the kubelet: a sidecar of 4 CPUs and a container of 2 leave 2 of 8; an init
    container that ends would leave 4.
    """
    left = []
    for role in (ContainerRole.RESTARTABLE_INIT, ContainerRole.INIT):
        scheduler = Scheduler([Node("n", SINGLE_SOCKET)])
        pod = owning("a", (role, 4), (ContainerRole.APP, 2))
        scheduler.place(Batch((lone_gang(pod),)), DEADLINE_S, options=QUICK)
        left.append(len(scheduler.account_of("n").pools.shared.cpus))

    assert left == [2, 4]


def test_a_container_that_goes_gives_its_cpus_back() -> None:
    """
    Row of the kubelet: CPUs 1 to 3 come back to 4 to 7.
    """
    pod = owning("c1", (ContainerRole.APP, 3))
    place = PodPlacement("c1", "default", None, "n", frozenset({1, 2, 3}))
    node = Node("n", SINGLE_SOCKET, reserved_cpus=frozenset({0}))
    scheduler = Scheduler([node], [RunningPod(pod, place)])

    before = scheduler.account_of("n").cores.free_cpus
    scheduler.release([("default", "c1")])

    assert before == {4, 5, 6, 7}
    assert scheduler.account_of("n").cores.free_cpus == {1, 2, 3, 4, 5, 6, 7}


APART = Pod(
    "apart",
    "default",
    PodSpec(
        tuple(Container(f"c{i}", Resources(memory_bytes=6 * GIB)) for i in range(2)),
        alignment=AlignmentPolicy.SINGLE_NUMA_NODE,
        scope=AlignmentScope.CONTAINER,
    ),
)
"""Two containers of 6 GiB: no NUMA node of 8 GiB holds both."""


def test_parts_of_containers_survive_a_change_of_the_pool() -> None:
    """
    The pool shrinks, the containers follow on their NUMA nodes, and what they hold stays said.
    """
    scheduler = Scheduler([Node("n", BOX)])
    scheduler.place(Batch((lone_gang(APART),)), DEADLINE_S, options=EXACT)
    taker = Batch((lone_gang(owning("taker", (ContainerRole.APP, 4))),))
    scheduler.place(taker, DEADLINE_S, options=QUICK)

    place = scheduler.placement_of(APART.key)

    assert len(place.cpuset) == len(BOX.topology.online) - 4
    cpu = BOX.topology.cpu
    for part in place.containers:
        ((home, _),) = part.memory_bytes
        assert part.cpuset == {c for c in place.cpuset if cpu[c].numa_node == home}
    assert {part.memory_bytes for part in place.containers} == {((0, 6 * GIB),), ((1, 6 * GIB),)}
    assert scheduler.misfits() == ()


def test_a_pod_that_was_found_running_does_not_say_whose_its_memory_is() -> None:
    """
    So containers that are aligned each for themselves are no reason to call it a misfit.
    """
    place = PodPlacement(
        "apart", "default", None, "n", BOX.topology.online,
        memory_bytes=((0, 6 * GIB), (1, 6 * GIB)),
    )  # fmt: skip
    whole = replace(APART, spec=replace(APART.spec, scope=AlignmentScope.POD))

    found = Scheduler([Node("n", BOX)], [RunningPod(APART, place)]).misfits()
    told = Scheduler([Node("n", BOX)], [RunningPod(whole, place)]).misfits()

    assert found == ()
    assert [misfit.rule for misfit in told] == ["alignment"]
