"""Tiny instances whose running LS and BE pods are bound to NUMA nodes that have no CPU left."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from features.bound import bound_instance, with_bound
from features.burst import with_burst
from features.moves import with_moves
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.placement import ContainerPlacement, PodPlacement
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import BINDING, AlignmentPolicy, QosClass
from placer_models.topology import NumaNode
from worlds import pooled, tiny_instance

OWNERS = (QosClass.LSR, QosClass.LSR, QosClass.LSE)


def with_emptied_pools(rng: Random, instance: Instance) -> Instance:
    """Take all CPUs of some NUMA nodes out of the pools, and leave bound pods running there.

    They are owned by a running pod, or reserved, or there is a NUMA node without any.
    """
    nodes, running = list(instance.nodes), list(instance.running)
    for at, node in enumerate(nodes):
        if rng.random() < 0.2:
            continue
        if node.alignment not in BINDING and rng.random() < 0.8:
            node = replace(
                node,
                alignment=rng.choice(
                    (AlignmentPolicy.SINGLE_NUMA_NODE, AlignmentPolicy.RESTRICTED)
                ),
            )
        if rng.random() < 0.2:
            node, home = _with_bare_numa_node(rng, node)
        else:
            home = rng.choice(node.machine.topology.numa_nodes).id
            node, owners = _emptied(rng, node, home, running)
            running += owners
        nodes[at] = node
        for number in range(rng.choice((1, 1, 1, 2))):
            running.append(_stranded(rng, node, home, f"s{at}{number}"))
    return replace(
        instance,
        nodes=tuple(nodes),
        running=tuple(_in_pools(nodes, running)),
        name=f"{instance.name}, emptied",
    )


def emptied_instance(seed: int) -> Instance:
    """Draw a tiny instance with running pods whose NUMA nodes have no CPU of their pool."""
    rng = Random(f"emptied-{seed}")
    instance = bound_instance(seed) if rng.random() < 0.5 else tiny_instance(seed)
    if rng.random() < 0.2:
        instance = with_burst(rng, instance)
    elif rng.random() < 0.3:
        instance = with_bound(rng, instance)
    instance = with_emptied_pools(rng, instance)
    if rng.random() < 0.25:
        instance = with_moves(rng, instance)
    return instance


def _emptied(
    rng: Random, node: Node, home: int, running: Sequence[RunningPod]
) -> tuple[Node, list[RunningPod]]:
    """Return the node with a NUMA node that has no CPU left, and who owns its CPUs."""
    here = [r for r in running if r.placement.node == node.name and r.pod.spec.qos.owns_cpus]
    owned: CpuSet = frozenset().union(*(r.placement.cpuset for r in here))
    topology = node.machine.topology
    inside = frozenset(c for c in topology.online if topology.cpu[c].numa_node == home)
    left = inside - owned - node.reserved_cpus
    unpooled = node.unpooled_cpus | (inside & node.reserved_cpus)
    if not left or rng.random() < 0.25:  # the system's own, every one
        reserved = node.reserved_cpus | (inside - owned)
        return replace(node, reserved_cpus=reserved, unpooled_cpus=unpooled | inside), []
    name = f"o-{node.name}"
    spec = PodSpec((Container("app", Resources(1000 * len(left))),), qos=rng.choice(OWNERS))
    place = PodPlacement(name, "default", None, node.name, left)
    return replace(node, unpooled_cpus=unpooled), [RunningPod(Pod(name, "default", spec), place)]


def _with_bare_numa_node(rng: Random, node: Node) -> tuple[Node, int]:
    """Return the node with a NUMA node more that has memory alone."""
    topology = node.machine.topology
    home = 1 + max(numa.id for numa in topology.numa_nodes)
    size = max(numa.memory_bytes for numa in topology.numa_nodes) or rng.randint(1, 4)
    bare = replace(topology, numa_nodes=(*topology.numa_nodes, NumaNode(home, size)))
    machine = replace(node.machine, name=f"{node.machine.name}+", topology=bare)
    return replace(node, machine=machine), home


def _stranded(rng: Random, node: Node, home: int, name: str) -> RunningPod:
    """Return a pod of a pool that runs on that NUMA node, mostly of a policy of its own."""
    milli = rng.choice((0, 100, 100, 500, 1000, 1500))
    qos = rng.choice((QosClass.LS, QosClass.LS, QosClass.BE))
    burst = qos is QosClass.LS and node.alignment is AlignmentPolicy.NONE and rng.random() < 0.5
    app = Container("app", Resources(milli), cpu_limit_milli=milli + 1000 if burst else None)
    own = AlignmentPolicy.SINGLE_NUMA_NODE
    policy = own if node.alignment is AlignmentPolicy.NONE and not burst else AlignmentPolicy.NONE
    spec = PodSpec((app,), qos=qos, alignment=policy, constrained_burst=burst)
    homes = {home: milli}
    if rng.random() < 0.2:
        homes |= {rng.choice(node.machine.topology.numa_nodes).id: 0}
        homes[home] = milli
    place = PodPlacement(
        name,
        "default",
        None,
        node.name,
        frozenset(),
        (ContainerPlacement("app", frozenset()),),
        cpu_milli=tuple(sorted(homes.items())),
    )
    return RunningPod(Pod(name, "default", spec), place, movable=rng.random() < 0.7)


def _in_pools(nodes: Sequence[Node], running: Sequence[RunningPod]) -> list[RunningPod]:
    """Let each pod that floats run on the whole of its pool as it is now."""
    floating = pooled(nodes, running)
    return [
        old if old.placement.cpu_milli is not None or old.pod.spec.qos.owns_cpus else new
        for old, new in zip(running, floating, strict=True)
    ]
