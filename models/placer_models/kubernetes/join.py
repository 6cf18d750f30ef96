"""Join of the objects of one node into a Node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from placer_models.annotations.node_topology import CpuManagerPolicyAnnotation
from placer_models.cluster import Machine, Node
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.defaults import NO_DEFAULTS, Defaults
from placer_models.device import GPU, Device
from placer_models.device_request import WHOLE_GPUS
from placer_models.kubernetes.device import KubeKoordinatorDevice
from placer_models.kubernetes.insides import OBJECTS
from placer_models.kubernetes.names import (
    INSTANCE_TYPES,
    KNOWS_CPUS,
    KNOWS_NUMA_NODES,
    TAKES_DEFAULT_ALIGNMENT,
)
from placer_models.kubernetes.node import KubeNode
from placer_models.kubernetes.numa_memory import memory_by_numa_node
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.resources import PODS
from placer_models.kubernetes.topology import (
    KubeNodeResourceTopology,
    device_counts_of_topology_zone,
)
from placer_models.policy import BINDING, CpuLocalityWish, NodeBindPolicy, NumaStrategy
from placer_models.topology import Cpu, NumaNode, Topology
from placer_models.visible_devices import UNNAMED_GPUS

MOST_CPUS = 65_536
"""The most CPUs that a machine may have."""

MOST_ZONE_DEVICES = 1024
"""The most devices of one type that a NUMA node may have."""

ARCHITECTURES: Mapping[str, str] = {"amd64": "x86_64", "arm64": "aarch64"}
"""Architecture as Kubernetes calls it -> as Linux does."""

MAX_PODS = 110
"""The most pods on a node that does not say how many it takes: the kubelet's own default."""


@dataclass(frozen=True, slots=True)
class NodeFromObjects:
    """A node made of everything known about it.

    Attributes:
        node: The node. Its machine has the memory that pods can have, and the name of its
            instance type or none: machines get distinct names when the instance is made.
        kept_milli: CPUs that the system keeps beside the reserved ones, in milli.
        taken: (Type, minor) of devices of which pods hold as many as they ask for, whichever
            they are: those that are held according to the zones, and those only counted.
        counted: (Type, resource) of devices that are only counted, ascending.
        assumed: Assumptions that were made, in texts that are the same for many nodes.
        kubelet_is_static: Whether Guaranteed pods own CPUs there.

    """

    node: Node
    kept_milli: int = 0
    taken: tuple[tuple[str, int], ...] = ()
    counted: tuple[tuple[str, str], ...] = ()
    assumed: tuple[str, ...] = ()
    kubelet_is_static: bool = False


def node_from_joined_objects(
    node: KubeNode,
    topology: KubeNodeResourceTopology | None = None,
    devices: KubeKoordinatorDevice | None = None,
    listed: Sequence[Device] = (),
    offered: CpuSet | None = None,
    defaults: Defaults = NO_DEFAULTS,
) -> NodeFromObjects:
    """Return the node that the objects of a node describe together.

    Without a NodeResourceTopology the node has a single NUMA node, no pod may own CPUs there, and
    nothing can be aligned. Without a Device object or ResourceSlices its GPUs are an extended
    resource.

    Args:
        node: The node.
        topology: Its NodeResourceTopology.
        devices: Its Device object.
        listed: Devices that drivers publish in ResourceSlices; for one that the Device object
            has as well, this entry takes precedence.
        offered: CPUs that a driver gives out, so that all others are reserved; None if there
            is no such driver.
        defaults: What the scheduler of the cluster is set to.

    Raises:
        KubernetesObjectError: The objects contradict each other.

    """
    assumed: list[str] = []
    cpus = _cpus(node, topology, assumed)
    layout = _layout(node, topology, cpus, assumed)
    reserved = _reserved(node, topology, layout)
    if offered is not None:
        reserved |= layout.online - offered
    found, taken = _devices(topology, devices, listed, layout)
    labels = {**node.identity.labels, **dict(node.features)}
    labels.update([KNOWS_NUMA_NODES] if topology else [])
    labels.update([KNOWS_CPUS] if topology and topology.knows_cpus else [])
    named = (*(devices.devices if devices else ()), *listed)
    if _only_counts_gpus(named, found):
        labels.update([UNNAMED_GPUS])
    if defaults.alignment in BINDING and (topology or node.alignment is not None):
        labels.update([TAKES_DEFAULT_ALIGNMENT])
    kubelet = (topology.policy if topology else None) or CpuManagerPolicyAnnotation()
    kept = kubelet.reserved.intersection(layout.cpu)
    policy = node.partition_policy or (devices.partition_policy if devices else None)
    table = devices.partitions if devices else None
    if policy is not None and not table:
        assumed.append("with a GPU partition policy but no partition table: any GPUs go together")
        policy = None
    name = next((labels[key] for key in INSTANCE_TYPES if labels.get(key)), "")
    alignment, scope = node.alignment, None
    if alignment is None and topology is not None:
        alignment, scope = topology.alignment, topology.scope
    joined = Node(
        node.identity.name,
        Machine(name, name, layout, found, sources=(OBJECTS,)),
        labels=tuple(sorted(labels.items())),
        taints=tuple(sorted(node.taints, key=str)),
        reserved_cpus=reserved,
        unpooled_cpus=kept if kubelet.has("strict-cpu-reservation") else frozenset(),
        alignment=alignment,
        # Kept on the node, so that machines that differ in nothing else are one.
        unhealthy=frozenset((one.type, one.minor) for one in named if not one.healthy),
        closed=_closed(node, topology, assumed),
        cpu_bind=_bind(node, kubelet),
        partitions=table,
        partition_policy=policy,
        locality=_locality(kubelet),
        numa_strategy=node.numa_strategy or _even(kubelet),
        extended=_extended(node, found),
        scope=scope,
        max_pods=node.allocatable.other.get(PODS, MAX_PODS),
        milli_per_cpu=node.milli_per_cpu,
        defaults=defaults,
    )
    room_milli = node.milli_per_cpu * len(layout.online - reserved)
    allocatable = (node.allocatable.cpu_milli or 0) - node.reserved_milli
    if topology is None:
        assumed.append("without a NodeResourceTopology: one NUMA node, CPUs not known by id")
    elif not topology.cpus:
        assumed.append("whose NodeResourceTopology names no CPUs: they are not known by id")
    elif topology.doubted:
        assumed.append(
            f"with CPUs in {' and '.join(topology.doubted)} that cpu-topology lacks: set aside, "
            "and no CPUs are given out by id there"
        )
    return NodeFromObjects(
        joined,
        kept_milli=max(0, room_milli - max(0, allocatable)),
        taken=taken,
        assumed=tuple(assumed),
        kubelet_is_static=kubelet.is_static,
    )


def _cpus(
    node: KubeNode, topology: KubeNodeResourceTopology | None, assumed: list[str]
) -> tuple[Cpu, ...]:
    # A part of a CPU counts as a whole one here. What it lacks is kept for the system, like all
    # else that is not allocatable.
    capacity = -(-(node.capacity.cpu_milli or 0) // 1000)
    if topology is not None and topology.cpus:
        cores = sorted({(cpu.package, cpu.core) for cpu in topology.cpus})
        key = {core: i for i, core in enumerate(cores)}
        if capacity and capacity != len(topology.cpus):
            assumed.append("with another number of CPUs than its NodeResourceTopology: the latter")
        return tuple(
            Cpu(cpu.id, key[cpu.package, cpu.core], cpu.package, cpu.numa_node)
            for cpu in topology.cpus
        )
    counts = {0: capacity if node.says_cpus else 1}
    if topology is not None and any(zone.capacity.cpu_milli for zone in topology.zones.values()):
        counts = {n: (z.capacity.cpu_milli or 0) // 1000 for n, z in topology.zones.items()}
    if not 0 < sum(counts.values()) <= MOST_CPUS:
        raise KubernetesObjectError(
            node.identity.title,
            ("status", "capacity", "cpu"),
            f"got {sum(counts.values())} CPUs; expected 1 to {MOST_CPUS:,}",
        )
    places = [numa for numa, count in sorted(counts.items()) for _ in range(count)]
    return tuple(Cpu(i, i, 0, numa) for i, numa in enumerate(places))


def _layout(
    node: KubeNode,
    topology: KubeNodeResourceTopology | None,
    cpus: tuple[Cpu, ...],
    assumed: list[str],
) -> Topology:
    ids = sorted({cpu.numa_node or 0 for cpu in cpus} | set(topology.zones if topology else ()))
    zones = topology.zones if topology else {}
    rooms = memory_by_numa_node(node, zones, ids, assumed)
    distances = tuple(
        tuple(zones[a].distances[b] for b in ids)
        for a in ids
        if a in zones and zones[a].distances.keys() >= set(ids)
    )
    architecture = node.identity.labels.get("kubernetes.io/arch", "amd64")
    try:
        return Topology(
            ARCHITECTURES.get(architecture, architecture),
            cpus,
            tuple(NumaNode(n, rooms[n][0], rooms[n][1]) for n in ids),
            distances if len(distances) == len(ids) else (),
        )
    except ValueError as error:
        title = topology.identity.title if topology else node.identity.title
        raise KubernetesObjectError(title, (), str(error)) from None


def _reserved(
    node: KubeNode, topology: KubeNodeResourceTopology | None, layout: Topology
) -> CpuSet:
    """Return the CPUs that are kept for the system."""
    if topology is None or not topology.cpus:
        # The ids are made up here: in each zone, as many CPUs are reserved as it keeps.
        found: set[int] = set()
        for numa, zone in topology.zones.items() if topology else ():
            kept = (zone.capacity.cpu_milli or 0) - (zone.allocatable.cpu_milli or 0)
            here = sorted(cpu.id for cpu in layout.cpus if cpu.numa_node == numa)
            found.update(here[: max(0, kept // 1000)])
        return frozenset(found)
    policy = topology.policy
    reserved = node.reserved_cpus
    if policy is not None:
        reserved |= policy.reserved.intersection(layout.cpu)
    if unknown := reserved - layout.cpu.keys():
        raise KubernetesObjectError(
            node.identity.title,
            ("metadata", "annotations"),
            f"CPUs {format_cpu_list(unknown)} are reserved, which the node does not have; it has "
            f"{format_cpu_list(layout.cpu)}",
        )
    return reserved


def _devices(
    topology: KubeNodeResourceTopology | None,
    devices: KubeKoordinatorDevice | None,
    listed: Sequence[Device],
    layout: Topology,
) -> tuple[tuple[Device, ...], tuple[tuple[str, int], ...]]:
    """Return the devices of a node, and those that are held according to the zones."""
    numa_nodes = {numa.id for numa in layout.numa_nodes}
    packages = {cpu.package for cpu in layout.cpus}
    found = []
    of_object = {(one.type, one.minor): one for one in (devices.devices if devices else ())}
    by_driver = {(one.type, one.minor): one for one in listed}
    for key, device in {**of_object, **by_driver}.items():
        if device.numa_node is not None and device.numa_node not in numa_nodes:
            if topology is not None and devices is not None and key in of_object:
                raise KubernetesObjectError(
                    devices.identity.title,
                    ("spec", "devices"),
                    f"{device.type} {device.minor} is on NUMA node {device.numa_node}; "
                    f"the NodeResourceTopology has {format_cpu_list(numa_nodes)}",
                )
            device = replace(device, numa_node=None)
        known = device.package if device.package in packages and topology else None
        found.append(replace(device, package=known, healthy=True))
    by_object = {device.type for device in found}
    counts: dict[str, int] = {}
    taken: list[tuple[str, int]] = []
    for numa, zone in topology.zones.items() if topology else ():
        for name, count in device_counts_of_topology_zone(zone.allocatable):
            kind = GPU if name in WHOLE_GPUS else name
            if kind in by_object:
                continue
            if count > MOST_ZONE_DEVICES and topology:
                raise KubernetesObjectError(
                    topology.identity.title,
                    ("zones",),
                    f"NUMA node {numa} has {count} of {name}; "
                    f"a type has {MOST_ZONE_DEVICES} devices at most",
                )
            first = counts.get(kind, 0)
            counts[kind] = first + count
            found += [Device(kind, first + i, numa_node=numa) for i in range(count)]
            held = count - min(count, zone.available.other.get(name, count))
            taken += [(kind, first + i) for i in range(held)]
    return tuple(sorted(found, key=lambda device: (device.type, device.minor))), tuple(taken)


def _only_counts_gpus(named: Sequence[Device], found: Sequence[Device]) -> bool:
    """Return whether the node's GPUs are only known from zones, which have no names for them."""
    return any(one.type == GPU for one in found) and all(one.type != GPU for one in named)


def _closed(node: KubeNode, topology: KubeNodeResourceTopology | None, assumed: list[str]) -> bool:
    """Return whether no new pod may come to the node; the reason is added to ``assumed``."""
    for condition in node.untainted:
        assumed.append(f"with the condition {condition} and no taint for it: pods may come")
    for name, ratio in node.amplified:
        assumed.append(
            f"with {name} amplified by {ratio}, for which there is no word: nothing new comes there"
        )
    if not node.says_cpus:
        assumed.append("that say of no CPUs yet, taken as one: nothing new comes there")
    unknown = topology is None and node.alignment in BINDING
    if unknown:
        assumed.append(
            f"with the NUMA policy {node.alignment} and no NodeResourceTopology: "
            "nothing new comes there"
        )
    return not node.says_cpus or bool(node.amplified) or unknown


def _bind(node: KubeNode, kubelet: CpuManagerPolicyAnnotation) -> NodeBindPolicy:
    """Return the bind policy: the kubelet's, if it admits nothing else, or the label's (C10)."""
    if kubelet.has("full-pcpus-only"):
        return NodeBindPolicy.FULL_PCPUS_ONLY
    return node.bind or NodeBindPolicy.NONE


def _even(kubelet: CpuManagerPolicyAnnotation) -> NumaStrategy | None:
    even = kubelet.has("distribute-cpus-across-numa")
    return NumaStrategy.DISTRIBUTE_EVENLY if even else None


def _locality(kubelet: CpuManagerPolicyAnnotation) -> tuple[CpuLocalityWish, ...]:
    told = {
        CpuLocalityWish.PACKAGE: "align-by-socket",
        CpuLocalityWish.LLC: "prefer-align-cpus-by-uncorecache",
    }
    return tuple(wish for wish, option in told.items() if kubelet.has(option))


def _extended(node: KubeNode, found: tuple[Device, ...]) -> tuple[tuple[str, int], ...]:
    """Return the node's extended resources: all but the devices that are known one by one."""
    types = {device.type for device in found}
    gone = types | {PODS} | (frozenset(WHOLE_GPUS) if GPU in types else frozenset())
    other = node.allocatable.other
    return tuple(sorted((name, n) for name, n in other.items() if n and name not in gone))
