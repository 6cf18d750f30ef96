"""A node by its NUMA nodes, in counts: its words, and what hint providers say of it."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from alignment.hints import Hint, ProviderHints
from placer_models.alignment import fewest_cell_count_for_one_resource
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import GPU, Device
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import Container, ContainerRole, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, AlignmentScope, QosClass
from placer_models.topology import Cpu, NumaNode, Topology

GIB_BYTES = 1 << 30

Amounts = Mapping[str, int]
"""Counts of gpus and cpus, and memory_gib."""

Zones = Sequence[Amounts]
"""What each NUMA node has, by its id."""


def providers_of(has: Zones, free: Zones, need: Amounts) -> list[ProviderHints | None]:
    """Return what the kubelet's providers say: every set that is free holds the need.

    Preferred are the sets of the fewest NUMA nodes that could hold it by what the node
    HAS, so that a node that is full elsewhere does not lower anyone's sights. A resource
    of which no NUMA node has any is no provider's.
    """
    return [
        {name: _hints(has, free, name, amount)} if any(zone.get(name) for zone in has) else None
        for name, amount in need.items()
    ]


def _hints(has: Zones, free: Zones, name: str, amount: int) -> list[Hint]:
    fewest = fewest_cell_count_for_one_resource([zone.get(name, 0) for zone in has], amount)
    return [
        Hint(frozenset(mask), preferred=size == fewest)
        for size in range(1, len(free) + 1)
        for mask in combinations(range(len(free)), size)
        if sum(free[numa_node].get(name, 0) for numa_node in mask) >= amount
    ]


def take(free: Sequence[dict[str, int]], numa_nodes: frozenset[int], need: Amounts) -> bool:
    """Take the need from the NUMA nodes, the first first; return whether they had it all."""
    had_all = True
    for name, amount in need.items():
        if not any(name in zone for zone in free):
            continue
        for numa_node in sorted(numa_nodes):
            taken = min(amount, free[numa_node].get(name, 0))
            free[numa_node][name] = free[numa_node].get(name, 0) - taken
            amount -= taken
        had_all = had_all and amount == 0
    return had_all


def node_of(has: Zones) -> Node:
    """Return a node of these NUMA nodes: cores of one thread, and a reserved CPU more each.

    The reserved CPUs keep the shared pools from being empty, for pods without CPUs.
    """
    cpus = [numa_node for numa_node, zone in enumerate(has) for _ in range(zone.get("cpus", 0))]
    gpus = [numa_node for numa_node, zone in enumerate(has) for _ in range(zone.get("gpus", 0))]
    homes = [*cpus, *range(len(has))]
    machine = Machine(
        name="zones",
        title="",
        topology=Topology(
            architecture="x86_64",
            cpus=tuple(Cpu(i, core=i, package=0, numa_node=home) for i, home in enumerate(homes)),
            numa_nodes=tuple(
                NumaNode(i, zone.get("memory_gib", 0) * GIB_BYTES) for i, zone in enumerate(has)
            ),
        ),
        devices=tuple(Device(GPU, minor, numa_node=home) for minor, home in enumerate(gpus)),
    )
    return Node("n0", machine, reserved_cpus=frozenset(range(len(cpus), len(homes))))


def pod_of(
    name: str,
    policy: AlignmentPolicy,
    containers: Sequence[Amounts],
    init: Sequence[Amounts] = (),
    scope: AlignmentScope | None = None,
) -> Pod:
    """Return a pod that owns its CPUs, or asks for none; init containers may be sidecars."""
    parts = [
        *(
            Container(
                f"init-{i}",
                _requests(need),
                ContainerRole.RESTARTABLE_INIT if need.get("sidecar") else ContainerRole.INIT,
            )
            for i, need in enumerate(init)
        ),
        *(Container(f"app-{i}", _requests(need)) for i, need in enumerate(containers)),
    ]
    owns = any(part.requests.cpu_milli for part in parts)
    qos = QosClass.LSR if owns else QosClass.LS
    return Pod(name, "default", PodSpec(tuple(parts), qos=qos, alignment=policy, scope=scope))


def _requests(need: Amounts) -> Resources:
    gpus = need.get("gpus", 0)
    return Resources(
        cpu_milli=1000 * need.get("cpus", 0),
        memory_bytes=GIB_BYTES * need.get("memory_gib", 0),
        devices=(DeviceRequest(GPU, gpus),) if gpus else (),
    )


def homes_of(node: Node, pod: Pod, place: PodPlacement) -> frozenset[int]:
    """Return the NUMA nodes of the pod's own CPUs, its memory and its GPUs."""
    owned = place.cpuset if pod.spec.qos.owns_cpus else frozenset[int]()
    homes = {node.machine.topology.cpu[cpu].numa_node for cpu in owned}
    homes |= {d.numa_node for d in node.machine.devices if d.minor in place.minors(GPU)}
    homes |= {numa_node for numa_node, _ in place.memory_bytes}
    return frozenset(home for home in homes if home is not None)


def instance_of(has: Zones, free: Zones, pods: Sequence[Pod]) -> Instance:
    """Return pods, each by itself, that wait for a node on which others run already."""
    node = node_of(has)
    gangs = tuple(Gang(pod.name, pod.namespace, (pod,), minimum=1, lone=True) for pod in pods)
    return Instance((node,), gangs, running=runners_on(node, has, free))


def runners_on(node: Node, has: Zones, free: Zones) -> tuple[RunningPod, ...]:
    """Return running pods, one a NUMA node, that hold what is not free."""
    runners = []
    for i, zone in enumerate(has):
        held = {name: amount - free[i].get(name, 0) for name, amount in zone.items()}
        if not any(held.values()):
            continue
        pod = pod_of(f"runner-{i}", AlignmentPolicy.NONE, [held])
        own = [cpu.id for cpu in node.machine.topology.cpus if cpu.numa_node == i]
        cpus = frozenset(own[: held.get("cpus", 0)])  # the reserved CPU is the last of all
        gpus = [device.minor for device in node.machine.devices if device.numa_node == i]
        memory_bytes = held.get("memory_gib", 0) * GIB_BYTES
        place = PodPlacement(
            name=pod.name,
            namespace=pod.namespace,
            gang=None,
            node=node.name,
            cpuset=cpus,
            containers=(ContainerPlacement("app-0", cpus),),
            memory_bytes=((i, memory_bytes),) if memory_bytes else (),
            devices=tuple(DeviceGrant(GPU, minor) for minor in gpus[: held.get("gpus", 0)]),
        )
        runners.append(RunningPod(pod, place))
    return tuple(runners)
