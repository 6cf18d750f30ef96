"""Tiny instances with LS pods in the shared pool of some NUMA nodes (C8)."""

from dataclasses import replace
from random import Random

from features.feature import Feature, with_pods, with_pods_alike
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.pod import Container, Pod, Resources
from placer_models.policy import AlignmentPolicy, ExclusivePolicy, QosClass
from worlds import tiny_instance


def with_burst(rng: Random, instance: Instance) -> Instance:
    """Put LS pods under ConstrainedBurst, running ones too, with limits that bind."""
    share = rng.choice((0.4, 0.8, 1.0))

    def bound(pod: Pod) -> Pod:
        if pod.spec.qos is not QosClass.LS or rng.random() > share:
            return pod
        containers = tuple(
            replace(c, cpu_limit_milli=c.requests.cpu_milli + rng.choice((0, 500, 1000, 2000)))
            for c in pod.spec.containers
        )
        return replace(pod, spec=replace(pod.spec, containers=containers, constrained_burst=True))

    nodes = {node.name: node for node in instance.nodes}
    running = []
    for runner in instance.running:
        pod, node = bound(runner.pod), nodes[runner.placement.node]
        place = runner.placement
        if pod.spec.constrained_burst:
            cpus = some_of(rng, place.cpuset, node)
            if not cpus:
                pod = runner.pod
            else:
                parts = tuple(replace(part, cpuset=cpus) for part in place.containers)
                place = replace(place, cpuset=cpus, containers=parts)
        running.append(RunningPod(pod, place))
    return replace(
        instance,
        gangs=tuple(with_pods_alike(gang, bound) for gang in instance.gangs),
        running=tuple(running),
        name=f"{instance.name}, burst",
    )


def burst_instance(seed: int) -> Instance:
    """Draw a tiny instance with constrained pods, mostly with owners beside them."""
    rng = Random(f"burst-{seed}")
    instance = tiny_instance(seed)
    if rng.random() < 0.8:
        instance = _crowded(rng, instance)
    return with_burst(rng, instance)


def some_of(rng: Random, pool: CpuSet, node: Node) -> CpuSet:
    """Return the CPUs of a pool on some of the NUMA nodes."""
    cpu = node.machine.topology.cpu
    homes = sorted({n for c in pool if (n := cpu[c].numa_node) is not None})
    kept = set(rng.sample(homes, rng.randint(min(1, len(homes)), len(homes))))
    return frozenset(c for c in pool if cpu[c].numa_node in kept)


def _crowded(rng: Random, instance: Instance) -> Instance:
    """Let the pods want a few CPUs, owned or of the pool, and mostly little else.

    In most worlds they have memory too, which may be far from the CPUs of the pool.
    """
    most = max(numa.memory_bytes for n in instance.nodes for numa in n.machine.topology.numa_nodes)
    memories = rng.choice(((0,), (0, most // 2, most), (most // 2, most, most + most // 4)))
    with_policies = rng.random() < 0.5

    def modest(pod: Pod) -> Pod:
        owns = rng.random() < 0.4
        milli = rng.choice((1000, 2000, 3000)) if owns else rng.choice((0, 500, 1500, 2000, 2500))
        memory = rng.choice(memories)
        spec = replace(
            pod.spec,
            containers=(Container("app", Resources(milli, memory)),),
            qos=rng.choice((QosClass.LSR, QosClass.LSE)) if owns else QosClass.LS,
            alignment=pod.spec.alignment if owns or with_policies else AlignmentPolicy.NONE,
            exclusive=ExclusivePolicy.NONE,
            node_selector=(),
        )
        return replace(pod, spec=spec)

    return replace(
        instance,
        nodes=tuple(
            replace(n, alignment=n.alignment if with_policies else AlignmentPolicy.NONE)
            for n in instance.nodes
        ),
        gangs=tuple(with_pods(gang, modest) for gang in instance.gangs),
    )


FEATURE = Feature("burst", with_burst)
