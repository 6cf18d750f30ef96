"""The words of NUMA alignment, for tiny instances: hugepages."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.pod import Pod
from placer_models.policy import AlignmentPolicy
from placer_models.topology import Hugepages
from worlds import tiny_instance

PAGE_SIZES_BYTES = (2, 3)
"""Sizes of hugepages; so small that a machine of a few bytes of memory has some."""


def numa_spice(rng: Random, instance: Instance) -> Instance:
    """Let machines set hugepages aside, and pods ask for them."""
    return hugepages_spice(rng, instance)


def paged_instance(seed: int) -> Instance:
    """Draw a tiny instance in which hugepages are always on."""
    return hugepages_spice(Random(f"paged-{seed}"), tiny_instance(seed))


def hugepages_spice(rng: Random, instance: Instance) -> Instance:
    """Give machines, and some nodes, hugepages beside their memory, and pods a wish for them."""
    machines: dict[int, Machine] = {}
    sizes = rng.choice((PAGE_SIZES_BYTES[:1], PAGE_SIZES_BYTES))

    def paged(node: Node) -> Node:
        machine = machines.setdefault(id(node.machine), _with_pages(rng, node.machine, sizes))
        if rng.random() < 0.3:
            numa = rng.choice(machine.topology.numa_nodes)
            count = rng.randint(0, sum(h.count for h in numa.hugepages if h.page_bytes == sizes[0]))
            return replace(node, machine=machine, hugepages=((numa.id, sizes[0], count),))
        return replace(node, machine=machine)

    def asking(pod: Pod) -> Pod:
        if rng.random() < 0.35:
            return pod
        wish = tuple(Hugepages(s, n) for s in sizes if (n := rng.choice((0, 1, 1, 2, 3))))
        at = rng.randrange(len(pod.spec.containers))
        containers = list(pod.spec.containers)
        asked = replace(containers[at].requests, hugepages=wish)
        containers[at] = replace(containers[at], requests=asked)
        alignment = pod.spec.alignment
        if alignment is AlignmentPolicy.NONE and rng.random() < 0.6:
            alignment = rng.choice(tuple(AlignmentPolicy))
        spec = replace(pod.spec, containers=tuple(containers), alignment=alignment)
        return replace(pod, spec=spec)

    dressed = _changed(instance, paged, asking)
    return replace(dressed, running=_holding(rng, dressed))


def _holding(rng: Random, instance: Instance) -> tuple[RunningPod, ...]:
    """Let some of the running pods hold hugepages that no other holds."""
    left = {node.name: node.pages_in() for node in instance.nodes}
    running = []
    for runner in instance.running:
        here = left[runner.placement.node]
        free = [at for at, count in sorted(here.items()) if count]
        if free and rng.random() < 0.6:
            numa, size = rng.choice(free)
            here[numa, size] -= 1
            spec = runner.pod.spec
            first = spec.containers[0]
            asked = replace(first.requests, hugepages=(Hugepages(size, 1),))
            containers = (replace(first, requests=asked), *spec.containers[1:])
            runner = RunningPod(
                replace(runner.pod, spec=replace(spec, containers=containers)),
                replace(runner.placement, hugepages=((numa, size, 1),)),
            )
        running.append(runner)
    return tuple(running)


def _with_pages(rng: Random, machine: Machine, sizes: tuple[int, ...]) -> Machine:
    """Add hugepages on top of the memory, so that as much of it is left as before."""
    numa_nodes = []
    for numa in machine.topology.numa_nodes:
        pages = tuple(Hugepages(s, n) for s in sizes if (n := rng.choice((0, 1, 1, 2, 2, 3))))
        extra = sum(kind.page_bytes * kind.count for kind in pages)
        numa_nodes.append(replace(numa, memory_bytes=numa.memory_bytes + extra, hugepages=pages))
    return replace(machine, topology=replace(machine.topology, numa_nodes=tuple(numa_nodes)))


def _changed(
    instance: Instance, node: Callable[[Node], Node], pod: Callable[[Pod], Pod]
) -> Instance:
    """Change every node and every pod that waits; equal specs may come to differ."""
    return replace(
        instance,
        nodes=tuple(map(node, instance.nodes)),
        gangs=tuple(replace(gang, pods=tuple(map(pod, gang.pods))) for gang in instance.gangs),
    )
