"""Small documents of nodes, made by hand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from placer_models.cluster import Machine, Node
from placer_models.cpuset import parse_cpu_list
from placer_models.files.documents import documents_in_text
from placer_models.instance.node_file import read_node_placement_document
from placer_models.limits import NO_LIMITS, ContainerLimits
from placer_models.node_placement import NodePlacement, NodePlacementPod
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.topology import Cpu, Hugepages, NumaNode, Topology

GIB = 1 << 30


def document_of_tree(tree: object) -> NodePlacement:
    """Return the document of a JSON tree."""
    return read_node_placement_document(documents_in_text(json.dumps(tree), Path("a.json"))[0])


def a_node(
    cpus: int = 8, numa_nodes: int = 2, name: str = "n0", pages: Mapping[int, int] | None = None
) -> Node:
    """A node of cores with one thread, the same number on each NUMA node.

    Args:
        cpus: Of all NUMA nodes together.
        numa_nodes: How many.
        name: Of the node.
        pages: Page size in bytes -> hugepages on each NUMA node.

    """
    hugepages = tuple(Hugepages(size, count) for size, count in sorted((pages or {}).items()))
    each = cpus // numa_nodes
    topology = Topology(
        "x86_64",
        tuple(Cpu(i, core=i, package=0, numa_node=i // each) for i in range(cpus)),
        tuple(NumaNode(i, 16 * GIB, hugepages) for i in range(numa_nodes)),
    )
    return Node(name, Machine("small", "A small machine", topology))


def a_pod(
    name: str,
    qos: QosClass = QosClass.LS,
    cpus: str = "",
    *,
    node: str = "n0",
    milli: int | None = None,
    limits: ContainerLimits = NO_LIMITS,
    memory: Mapping[int, int] | None = None,
    uid: str = "",
    container_ids: Mapping[str, str] | None = None,
    parts: Sequence[tuple[str, str]] = (),
    pages: Mapping[int, int] | None = None,
) -> NodePlacementPod:
    """A pod of one container, or of the parts: (container, its CPUs).

    Args:
        name: Of the pod.
        qos: LSE and LSR pods own the CPUs, others run in a pool.
        cpus: The list of them.
        node: The name of its node.
        milli: CPU request; None: all of its CPUs, or 500.
        limits: Of its only container.
        memory: NUMA node -> bytes.
        uid: Of the pod, where the kubelet runs it.
        container_ids: Container -> id.
        parts: Containers with CPUs of their own.
        pages: Page size in bytes -> hugepages, on NUMA node 0, of its only container.

    """
    owned = parse_cpu_list(cpus)
    held = tuple(sorted((memory or {}).items()))
    size = sum(amount for _, amount in held)
    if milli is None:
        milli = 1000 * len(owned) if owned else 500
    asked = tuple(Hugepages(size, count) for size, count in sorted((pages or {}).items()))
    containers = [Container("main", Resources(milli, size, asked))]
    placed = [ContainerPlacement("main", owned)]
    on_zero = tuple((0, one.page_bytes, one.count) for one in asked)
    if parts:
        sets = [(part, parse_cpu_list(text)) for part, text in parts]
        containers = [Container(part, Resources(1000 * len(own))) for part, own in sets]
        placed = [ContainerPlacement(part, own) for part, own in sets]
    return NodePlacementPod(
        Pod(
            name,
            "default",
            PodSpec(tuple(containers), qos),
            (("main", limits),) if limits != NO_LIMITS else (),
            uid,
        ),
        PodPlacement(name, "default", None, node, owned, tuple(placed), held, on_zero),
        tuple(sorted((container_ids or {}).items())),
    )


def holding(pod: NodePlacementPod, **minors: tuple[int, ...]) -> NodePlacementPod:
    """The pod with devices: minors by type."""
    grants = tuple(
        DeviceGrant(kind, minor) for kind, held in sorted(minors.items()) for minor in held
    )
    spec = pod.pod.spec
    asked = tuple(DeviceRequest(kind, len(held)) for kind, held in sorted(minors.items()))
    container = replace(
        spec.containers[0], requests=replace(spec.containers[0].requests, devices=asked)
    )
    return replace(
        pod,
        pod=replace(pod.pod, spec=replace(spec, containers=(container,))),
        placement=replace(pod.placement, devices=grants),
    )


def a_document(
    *pods: NodePlacementPod, generation: int = 1, node: Node | None = None
) -> NodePlacement:
    """The document of a node with these pods."""
    return NodePlacement(node or a_node(), pods, generation)
