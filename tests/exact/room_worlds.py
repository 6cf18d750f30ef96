"""Tiny instances in which rooms decide: pods take parts of what nodes of several sizes have."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from features.affinity import with_affinity
from features.burst import with_burst
from features.extended import with_extended
from features.moves import with_moves
from features.numa import with_numa_words
from features.opened import with_offers
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.placement import PodPlacement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from tiny_machines import tiny_machine
from tiny_pods import lone
from worlds import pooled

UNITS_BYTES = (1, 1 << 20, 1 << 30)
EIGHTHS = (0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 6)
"""How much of a node a pod asks for: rooms are quarters, so what is between them is cut off."""

OTHER_WORDS = (with_affinity, with_extended, with_offers, with_numa_words, with_burst, with_moves)
"""Other families whose words come in now and then."""


def room_instance(seed: int) -> Instance:
    """Draw up to 3 nodes and 5 waiting pods, most of the shared pool; often all are alike."""
    rng = Random(f"rooms-{seed}")
    unit_bytes = rng.choice(UNITS_BYTES)
    nodes = _nodes(rng, unit_bytes)
    kinds = [_spec(rng, rng.choice(nodes)) for _ in range(rng.choice((1, 1, 2, 3)))]
    pods = [Pod(f"p{i}", "default", rng.choice(kinds)) for i in range(rng.randint(1, 5))]
    instance = Instance(nodes, _gangs(rng, pods), running=_running(rng, nodes, kinds))
    if rng.random() < 0.3:
        instance = rng.choice(OTHER_WORDS)(rng, instance)
    return replace(instance, name=f"rooms-{seed}")


def _nodes(rng: Random, unit_bytes: int) -> tuple[Node, ...]:
    """Draw nodes, equal ones among them, without devices."""
    machines = [_machine(rng, f"m{i}", unit_bytes) for i in range(rng.choice((1, 1, 2)))]
    return tuple(
        Node(
            name=f"n{i}",
            machine=machine,
            reserved_cpus=frozenset(
                rng.sample(sorted(machine.topology.cpu), rng.choice((0, 0, 1)))
            ),
        )
        for i in range(rng.choice((2, 2, 3, 3)))
        for machine in [rng.choice(machines)]
    )


def _machine(rng: Random, name: str, unit_bytes: int) -> Machine:
    """Draw a machine whose memory is many times that of other worlds, or a machine without any."""
    machine = tiny_machine(rng, name, unit_bytes, least_gpus=0)
    scale = rng.choice((1, 8, 8, 8, 8, 0))
    cells = [replace(n, memory_bytes=scale * n.memory_bytes) for n in machine.topology.numa_nodes]
    topology = replace(machine.topology, numa_nodes=tuple(cells))
    return replace(machine, topology=topology, devices=(), gpu_links=None)


def _spec(rng: Random, node: Node) -> PodSpec:
    """Draw a pod that asks for eighths of a node, or a little more or less."""
    qos = rng.choice((*[QosClass.LS] * 6, QosClass.BE, QosClass.LSR))
    total_milli = 1000 * len(node.machine.topology.online - node.reserved_cpus)
    milli = max(0, rng.choice(EIGHTHS) * total_milli // 8 + rng.choice((0, 0, 0, 1, -1)))
    if qos.owns_cpus:
        milli = 1000 * max(1, milli // 2000)
    amount = rng.choice(EIGHTHS) * node.machine.topology.memory_bytes // 8
    amount = max(0, amount + rng.choice((0, 0, 0, 1, -1)))
    return PodSpec((Container("app", Resources(cpu_milli=milli, memory_bytes=amount)),), qos=qos)


def _gangs(rng: Random, pods: Sequence[Pod]) -> tuple[Gang, ...]:
    """Make the pods one gang, or leave them alone; at most one has another priority."""
    if len(pods) > 1 and rng.random() < 0.3:
        return (Gang("g", "default", tuple(pods), minimum=rng.randint(1, len(pods))),)
    last = rng.choice((0, 0, 0, 5))
    return tuple(lone(pod, priority=last if pod is pods[-1] else 0) for pod in pods)


def _running(
    rng: Random, nodes: Sequence[Node], kinds: Sequence[PodSpec]
) -> tuple[RunningPod, ...]:
    """Draw pods that run beside each other, perhaps more than there is memory for."""
    running = []
    for i in range(rng.choice((0, 0, 1, 2, 3))):
        node = rng.choice(nodes)
        spec = rng.choice((_spec(rng, node), rng.choice(kinds)))
        if spec.qos.owns_cpus:
            continue
        numa = rng.choice(node.machine.topology.numa_nodes).id
        held = ((numa, spec.requests.memory_bytes),) if spec.requests.memory_bytes else ()
        place = PodPlacement(f"r{i}", "default", None, node.name, frozenset(), memory_bytes=held)
        running.append(RunningPod(Pod(f"r{i}", "default", spec), place))
    return tuple(pooled(nodes, running))
