"""Tiny instances with LS and BE pods that a policy binds to the pool of NUMA nodes (C12)."""

from dataclasses import replace
from random import Random

from features.burst import some_of, with_burst
from features.feature import with_pods_alike
from features.moves import with_moves
from features.numa import with_aligned_containers
from placer_models.bound import is_bound_by_policy
from placer_models.cluster import Instance, RunningPod
from placer_models.pod import Container, Pod, Resources
from placer_models.policy import AlignmentPolicy, ExclusivePolicy, QosClass
from worlds import tiny_instance

POLICIES = (
    AlignmentPolicy.SINGLE_NUMA_NODE,
    AlignmentPolicy.SINGLE_NUMA_NODE,
    AlignmentPolicy.RESTRICTED,
    AlignmentPolicy.RESTRICTED,
    AlignmentPolicy.BEST_EFFORT,
)


def with_bound(rng: Random, instance: Instance) -> Instance:
    """Give nodes policies, and pods of pools requests that bind; running ones have homes."""
    nodes = tuple(
        replace(node, alignment=rng.choice(POLICIES)) if rng.random() < 0.8 else node
        for node in instance.nodes
    )
    by_name = {node.name: node for node in nodes}

    def wanting(pod: Pod) -> Pod:
        if pod.spec.qos.owns_cpus or pod.spec.constrained_burst or rng.random() < 0.3:
            return pod
        first, *others = pod.spec.containers
        milli = rng.choice((0, 500, 1000, 1500, 2000, 2500, 3500, 4500, 5000))
        containers = (replace(first, requests=replace(first.requests, cpu_milli=milli)), *others)
        return replace(pod, spec=replace(pod.spec, containers=containers))

    running = []
    for runner in instance.running:
        node, place = by_name[runner.placement.node], runner.placement
        if is_bound_by_policy(runner.pod.spec, node) and rng.random() < 0.8:
            cpus = some_of(rng, place.cpuset, node)
            if cpus or rng.random() < 0.5:
                place = replace(place, cpuset=cpus)
            else:
                place = replace(place, cpu_milli=())
        running.append(RunningPod(runner.pod, place, runner.movable))
    return replace(
        instance,
        nodes=nodes,
        gangs=tuple(with_pods_alike(gang, wanting) for gang in instance.gangs),
        running=tuple(running),
        name=f"{instance.name}, bound",
    )


def bound_instance(seed: int) -> Instance:
    """Draw a tiny instance with bound pods, mostly with owners beside them."""
    rng = Random(f"bound-{seed}")
    instance = tiny_instance(seed)
    if rng.random() < 0.7:
        instance = _crowded(rng, instance)
    if rng.random() < 0.25:
        instance = with_aligned_containers(rng, instance)
    if rng.random() < 0.2:
        instance = with_burst(rng, instance)
    instance = with_bound(rng, instance)
    if rng.random() < 0.25:
        instance = with_moves(rng, instance)
    return instance


def _crowded(rng: Random, instance: Instance) -> Instance:
    """Let the pods want a few CPUs and little else, owned or of a pool."""

    def modest(pod: Pod) -> Pod:
        qos = rng.choice((QosClass.LS, QosClass.LS, QosClass.BE, QosClass.LSR, QosClass.LSE))
        milli = rng.choice((1000, 2000, 3000)) if qos.owns_cpus else rng.choice((500, 1500, 2500))
        memory = pod.spec.requests.memory_bytes if rng.random() < 0.3 else 0
        spec = replace(
            pod.spec,
            containers=(Container("app", Resources(milli, memory)),),
            qos=qos,
            alignment=rng.choice((AlignmentPolicy.NONE, AlignmentPolicy.NONE, *POLICIES)),
            exclusive=ExclusivePolicy.NONE,
            node_selector=(),
            constrained_burst=False,
        )
        return replace(pod, spec=spec)

    gangs = tuple(with_pods_alike(gang, modest) for gang in instance.gangs)
    return replace(instance, gangs=gangs)
