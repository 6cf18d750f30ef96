"""The edges of what containers hold where each is aligned for itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, asks, node, put, world
from placer_models.bound import numa_nodes_of_memory_and_devices
from placer_models.cpuset import parse_cpu_list
from placer_models.device_share import DeviceShare
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import Container, ContainerRole, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, AlignmentScope, QosClass
from placer_models.topology import Hugepages

APP, INIT, SIDECAR = ContainerRole.APP, ContainerRole.INIT, ContainerRole.RESTARTABLE_INIT
SINGLE, RESTRICTED = AlignmentPolicy.SINGLE_NUMA_NODE, AlignmentPolicy.RESTRICTED
LS, LSR = QosClass.LS, QosClass.LSR


def apart(
    *containers: tuple[ContainerRole, Resources],
    qos: QosClass = LS,
    policy: AlignmentPolicy = SINGLE,
    scope: AlignmentScope | None = AlignmentScope.CONTAINER,
) -> Pod:
    """Return a pod ``a`` whose containers ``c0``, ``c1``, … are aligned each for itself."""
    parts = tuple(Container(f"c{i}", asked, role) for i, (role, asked) in enumerate(containers))
    return Pod("a", "default", PodSpec(parts, qos=qos, alignment=policy, scope=scope))


def part(
    cpus: str = ALL_CPUS, memory: Mapping[int, int] | None = None, gpus: Sequence[int] = ()
) -> ContainerPlacement:
    """Return what one container has."""
    return ContainerPlacement(
        "",
        parse_cpu_list(cpus),
        memory_bytes=tuple(sorted((memory or {}).items())),
        devices=tuple(DeviceGrant("gpu", minor) for minor in gpus),
    )


Milli = Mapping[int, int]
"""NUMA node -> what is counted there of a CPU request."""


def holding(
    place: PodPlacement,
    *parts: ContainerPlacement,
    milli: Sequence[Milli] = ({}, {}, {}),
    counted: Milli | None = None,
) -> PodPlacement:
    """Return the place with the parts of its containers.

    A pod that has all CPUs is bound to the pool of the NUMA nodes of what it holds and of
    what it counts; so are its containers, each for itself.
    """
    named = [replace(each, name=f"c{i}") for i, each in enumerate(parts)]
    if place.cpuset != parse_cpu_list(ALL_CPUS):
        return replace(place, containers=tuple(named))
    own = [
        (each, numa_nodes_of_memory_and_devices(each, node()).union(count), count)
        for each, count in zip(named, milli, strict=False)
    ]
    homes = numa_nodes_of_memory_and_devices(place, node()).union(*(at for _, at, _ in own))
    return replace(
        place,
        cpuset=_cpus(homes),
        cpu_milli=_counts(homes, counted or {}),
        containers=tuple(
            replace(each, cpuset=_cpus(at or homes), cpu_milli=_counts(at, count))
            for each, at, count in own
        ),
    )


def _cpus(numa_nodes: Iterable[int]) -> frozenset[int]:
    return frozenset(cpu for numa in numa_nodes for cpu in range(4 * numa, 4 * numa + 4))


def _counts(numa_nodes: Iterable[int], milli: Milli) -> tuple[tuple[int, int], ...]:
    return tuple((numa, milli.get(numa, 0)) for numa in sorted(numa_nodes))


TWO = apart((APP, asks(memory=3)), (APP, asks(memory=3)))
SPREAD = put("a", ALL_CPUS, memory={0: 3, 1: 3})
SMALL = apart((APP, asks(memory=2)), (APP, asks(memory=2)))
NEAR = put("a", ALL_CPUS, memory={0: 4})
HALF = DeviceShare(percent=50, memory_percent=50)
SHARING = Resources(devices=(DeviceRequest("gpu", 1, HALF),))
SHARED = replace(put("a", ALL_CPUS), devices=(DeviceGrant("gpu", 0, share=HALF),))
OWNERS = apart((APP, asks(2)), (APP, asks(2)), qos=LSR)
REUSE = apart((INIT, asks(gpus=2)), (APP, asks(gpus=2)))
GUARDED = apart((SIDECAR, asks(gpus=1)), (INIT, asks(gpus=1)), (APP, asks(gpus=1)))

ALL_GPUS = put("a", ALL_CPUS, gpus=range(4))
PAGED = node(hugepages=((0, 1, 2), (1, 1, 2)))
PAGES = apart(
    (APP, Resources(hugepages=(Hugepages(1, 2),))), (APP, Resources(hugepages=(Hugepages(1, 1),)))
)


IDLE = holding(put("a", ALL_CPUS), part(), part(), milli=({0: 1000}, {}), counted={0: 1000})
ELSEWHERE = replace(IDLE.containers[1], cpuset=_cpus([1]), cpu_milli=((1, 0),))


def paged(*held: tuple[int, int, int]) -> PodPlacement:
    """Return the pod with 2 pages and 1, of which each container has what is given here."""
    place = replace(put("a", ALL_CPUS), hugepages=((0, 1, 2), (1, 1, 1)))
    return holding(place, *(replace(part(), hugepages=(pages,)) for pages in held))


CONTAINER_PART_EDGES = {
    "alignment: containers of one pod are on NUMA nodes of their own": Edge(
        world(TWO),
        good=holding(SPREAD, part(memory={0: 3}), part(memory={1: 3})),
        bad=holding(SPREAD, part(memory={0: 2, 1: 1}), part(memory={0: 1, 1: 2})),
    ),
    "alignment: the CPUs of each container are on one NUMA node": Edge(
        world(OWNERS),
        good=holding(put("a", "2-5"), part("2-3"), part("4-5")),
        bad=holding(put("a", "2-5"), part("2,4"), part("3,5")),
    ),
    "alignment: Restricted: each container has a width of its own": Edge(
        world(apart((APP, asks(gpus=3)), (APP, asks(gpus=1)), policy=RESTRICTED)),
        good=holding(put("a", ALL_CPUS, gpus=range(4)), part(gpus=range(3)), part(gpus=[3])),
        bad=holding(
            put("a", ALL_CPUS, memory={0: 1}, gpus=range(4)),
            part(gpus=range(3)),
            part(memory={0: 1}, gpus=[3]),
        ),
        bad_world=world(
            apart((APP, asks(gpus=3)), (APP, asks(memory=1, gpus=1)), policy=RESTRICTED)
        ),
    ),
    "alignment: pod and node agree on the scope": Edge(
        world(TWO, nodes=[replace(node(), scope=AlignmentScope.CONTAINER)]),
        good=holding(SPREAD, part(memory={0: 3}), part(memory={1: 3})),
        bad_world=world(TWO, nodes=[replace(node(), scope=AlignmentScope.POD)]),
    ),
    "alignment: they agree on it even where both scopes would do": Edge(
        world(SMALL, nodes=[replace(node(), scope=AlignmentScope.CONTAINER)]),
        good=holding(NEAR, part(memory={0: 2}), part(memory={0: 2})),
        bad_world=world(SMALL, nodes=[replace(node(), scope=AlignmentScope.POD)]),
    ),
    "alignment: where no policy holds they need not": Edge(
        world(
            apart((APP, asks(memory=2)), (APP, asks(memory=2)), policy=AlignmentPolicy.NONE),
            nodes=[replace(node(), scope=AlignmentScope.POD)],
        ),
        good=put("a", ALL_CPUS, memory={0: 4}, parts={"c0": ALL_CPUS, "c1": ALL_CPUS}),
        bad=holding(NEAR, part(memory={0: 2}), part(memory={0: 2})),
        bad_world=world(SMALL, nodes=[replace(node(), scope=AlignmentScope.POD)]),
    ),
    "alignment: containers of an LS pod run in the pools of NUMA nodes of their own": Edge(
        world(apart((APP, asks(1, memory=1)), (APP, asks(3, memory=1)))),
        good=holding(
            put("a", ALL_CPUS, memory={0: 1, 1: 1}),
            part(memory={0: 1}),
            part(memory={1: 1}),
            milli=({0: 1000}, {1: 3000}),
            counted={0: 1000, 1: 3000},
        ),
        bad=holding(
            put("a", ALL_CPUS, memory={0: 1, 1: 1}),
            part(memory={0: 1}),
            part(memory={1: 1}),
            milli=({0: 1000}, {0: 500, 1: 2500}),
            counted={0: 1500, 1: 2500},
        ),
    ),
    "alignment: a container that asks for no CPU runs on all of its pod's": Edge(
        world(apart((APP, asks(2)), (APP, asks(2)), (APP, asks()), qos=LSR)),
        good=holding(put("a", "2-5"), part("2-3"), part("4-5"), part("2-5")),
        bad=holding(put("a", "2-5"), part("2,4"), part("3,5"), part("2-5")),
    ),
    "alignment: shares of devices are not parted among containers": Edge(
        world(apart((APP, SHARING), scope=AlignmentScope.POD)),
        good=holding(SHARED, replace(part(), devices=SHARED.devices)),
        bad_world=world(apart((APP, SHARING))),
    ),
    "container-parts: a container has the memory that it asks for": Edge(
        world(TWO),
        good=holding(SPREAD, part(memory={0: 3}), part(memory={1: 3})),
        bad=holding(SPREAD, part(memory={0: 3}), part(memory={1: 2})),
    ),
    "container-parts: none of a NUMA node's memory is no amount below 0": Edge(
        world(TWO),
        good=holding(SPREAD, part(memory={0: 3, 1: 0}), part(memory={1: 3})),
        bad=holding(
            put("a", ALL_CPUS, memory={0: 4, 1: 2}), part(memory={0: 4, 1: -1}), part(memory={1: 3})
        ),
    ),
    "container-parts: a container has the hugepages that it asks for": Edge(
        world(PAGES, nodes=[PAGED]),
        good=paged((0, 1, 2), (1, 1, 1)),
        bad=paged((0, 1, 1), (1, 1, 1)),
    ),
    "container-parts: containers have the hugepages of their pod": Edge(
        world(PAGES, nodes=[PAGED]),
        good=paged((0, 1, 2), (1, 1, 1)),
        bad=paged((0, 1, 2), (0, 1, 1)),
    ),
    "container-parts: a container has as many devices as it asks for": Edge(
        world(apart((APP, asks(gpus=2)), (APP, asks(gpus=2)))),
        good=holding(ALL_GPUS, part(gpus=[0, 1]), part(gpus=[2, 3])),
        bad=holding(ALL_GPUS, part(gpus=[0]), part(gpus=[2, 3])),
    ),
    "container-parts: an init container has the CPUs that it asks for": Edge(
        world(apart((INIT, asks(2)), (INIT, asks()), (APP, asks(2)), qos=LSR)),
        good=holding(put("a", "2-3"), part("2-3"), part("3"), part("2-3")),
        bad=holding(put("a", "2-3"), part("2"), part("3"), part("2-3")),
    ),
    "containers: an app container's count of CPUs is looked at once": Edge(
        world(OWNERS),
        good=holding(put("a", "2-5"), part("2-3"), part("4-5")),
        bad=holding(put("a", "2-5"), part("2-3"), part("4")),
    ),
    "container-parts: what an LS pod's init container counts its app containers count again": Edge(
        world(apart((INIT, asks(4, memory=1)), (APP, asks(4, memory=1)))),
        good=holding(
            put("a", ALL_CPUS, memory={0: 1}),
            part(memory={0: 1}),
            part(memory={0: 1}),
            milli=({0: 4000}, {0: 4000}),
            counted={0: 4000},
        ),
        bad=holding(
            put("a", ALL_CPUS, memory={0: 1}),
            part(memory={0: 1}),
            part(memory={0: 1}),
            milli=({0: 4000}, {0: 2000}),
            counted={0: 4000},
        ),
    ),
    "container-parts: an LS pod's containers that run together count no more than it does": Edge(
        world(apart((APP, asks(1)), (APP, asks(2)))),
        good=holding(
            put("a", ALL_CPUS),
            part(),
            part(),
            milli=({0: 1000}, {1: 2000}),
            counted={0: 1000, 1: 2000},
        ),
        bad=holding(
            put("a", ALL_CPUS),
            part(),
            part(),
            milli=({0: 1000}, {1: 2000}),
            counted={0: 2000, 1: 1000},
        ),
    ),
    (
        "container-parts: a container that asks for nothing is bound as its "
        "pod is, and counts nothing"
    ): Edge(
        world(apart((APP, asks(1)), (APP, asks()))),
        good=IDLE,
        bad=replace(IDLE, containers=(IDLE.containers[0], ELSEWHERE)),
    ),
    (
        "container-parts: an init container that asks for CPUs has none of the sidecars before it"
    ): Edge(
        world(apart((SIDECAR, asks(1)), (INIT, asks(1)), (APP, asks(1)), qos=LSR)),
        good=holding(put("a", "2-3"), part("2"), part("3"), part("3")),
        bad=holding(put("a", "2-3"), part("2"), part("2"), part("3")),
    ),
    "container-parts: one that asks for none may run where they do": Edge(
        world(apart((SIDECAR, asks(1)), (INIT, asks()), (APP, asks(1)), qos=LSR)),
        good=holding(put("a", "2-3"), part("2"), part("2-3"), part("3")),
        bad=holding(put("a", "2-3"), part("2"), part("2-3", memory={0: 1}), part("3")),
    ),
    "container-parts: what containers have together their pod has": Edge(
        world(TWO),
        good=holding(SPREAD, part(memory={1: 3}), part(memory={0: 3})),
        bad=holding(SPREAD, part(memory={0: 3}), part(memory={0: 3})),
    ),
    "container-parts: an init container has a part of what the pod holds": Edge(
        world(REUSE),
        good=holding(put("a", ALL_CPUS, gpus=[2, 3]), part(gpus=[2, 3]), part(gpus=[2, 3])),
        bad=holding(put("a", ALL_CPUS, gpus=[2, 3]), part(gpus=[0, 1]), part(gpus=[2, 3])),
    ),
    "container-parts: an init container has nothing of the sidecars before it": Edge(
        world(GUARDED),
        good=holding(
            put("a", ALL_CPUS, gpus=[0, 2]), part(gpus=[0]), part(gpus=[2]), part(gpus=[2])
        ),
        bad=holding(
            put("a", ALL_CPUS, gpus=[0, 2]), part(gpus=[0]), part(gpus=[0]), part(gpus=[2])
        ),
    ),
}
