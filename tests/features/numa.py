"""The words of NUMA alignment, for tiny instances: hugepages."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import gcd
from random import Random

from features.feature import Feature, with_pods
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.pod import Container, ContainerRole, DeviceRequest, Pod, Resources
from placer_models.policy import AlignmentPolicy, AlignmentScope
from placer_models.topology import Hugepages
from worlds import tiny_instance

PAGE_SIZES_BYTES = (2, 3)
"""Sizes of hugepages; so small that a machine of a few bytes of memory has some."""


def with_numa_words(rng: Random, instance: Instance) -> Instance:
    """Let machines set hugepages aside, and pods ask for them."""
    for dress in rng.choice(
        ((with_hugepages,), (with_aligned_containers,), (with_hugepages, with_aligned_containers))
    ):
        instance = dress(rng, instance)
    return instance


def paged_instance(seed: int) -> Instance:
    """Draw a tiny instance in which hugepages are always on."""
    return with_hugepages(Random(f"paged-{seed}"), tiny_instance(seed))


def with_hugepages(rng: Random, instance: Instance) -> Instance:
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


def container_instance(seed: int) -> Instance:
    """Draw a tiny instance in which containers are aligned each for itself."""
    return with_aligned_containers(Random(f"containers-{seed}"), tiny_instance(seed))


ROLES = (
    (ContainerRole.APP, ContainerRole.APP),
    (ContainerRole.RESTARTABLE_INIT, ContainerRole.APP),
    (ContainerRole.INIT, ContainerRole.APP),
    (ContainerRole.RESTARTABLE_INIT, ContainerRole.INIT, ContainerRole.APP),
    (ContainerRole.APP, ContainerRole.APP, ContainerRole.APP),
)


def with_aligned_containers(rng: Random, instance: Instance) -> Instance:
    """Part what pods ask for among containers, with a policy for each container."""
    unit_bytes = gcd(
        *(numa.memory_bytes for n in instance.nodes for numa in n.machine.topology.numa_nodes)
    )
    scopes = (None, AlignmentScope.CONTAINER, AlignmentScope.POD)

    def scoped(node: Node) -> Node:
        return replace(node, scope=rng.choices(scopes, (6, 4, 1))[0])

    def parted(pod: Pod) -> Pod:
        spec = pod.spec
        if rng.random() < 0.2:
            return pod
        roles = rng.choice(ROLES)
        init = ContainerRole.INIT in roles
        parts = _parts(rng, spec.requests, len(roles) - init, unit_bytes)
        # Shares of a type are asked for by one container alone (D4), so parts are of whole devices.
        kinds = sorted({asked.type for asked in spec.requests.devices})
        devices = tuple(DeviceRequest(kind, spec.requests.count_of(kind)) for kind in kinds)
        whole = replace(spec.requests, devices=devices)
        containers = []
        for i, role in enumerate(roles):
            asked = rng.choice((parts[-1], parts[0], whole))
            if role is not ContainerRole.INIT:
                asked = parts.pop(0)
            containers.append(Container(f"c{i}", asked, role))
        owns = spec.qos.owns_cpus
        if owns and not any(c.requests.cpu_milli for c in containers):
            return pod
        alignment = spec.alignment
        if alignment is AlignmentPolicy.NONE and rng.random() < 0.7:
            alignment = rng.choice(tuple(AlignmentPolicy))
        scope = rng.choices(scopes, (3, 6, 1))[0]
        spec = replace(spec, containers=tuple(containers), alignment=alignment, scope=scope)
        return replace(pod, spec=spec)

    return _changed(instance, scoped, parted)


def _parts(rng: Random, whole: Resources, number: int, unit_bytes: int) -> list[Resources]:
    """Part an amount of everything at random."""
    cpus, memory, devices = [0] * number, [0] * number, [Counter[str]() for _ in range(number)]
    for _ in range(whole.cpu_milli // 1000):
        cpus[rng.randrange(number)] += 1000
    step = unit_bytes if 0 < unit_bytes * 12 >= whole.memory_bytes else max(1, whole.memory_bytes)
    for _ in range(whole.memory_bytes // step):
        memory[rng.randrange(number)] += step
    for asked in whole.devices:
        for _ in range(asked.count):
            devices[rng.randrange(number)][asked.type] += 1
    cpus[0] += whole.cpu_milli % 1000
    memory[0] += whole.memory_bytes % step
    return [
        Resources(
            cpus[i],
            memory[i],
            whole.hugepages if i == 0 else (),
            tuple(DeviceRequest(kind, n) for kind, n in sorted(devices[i].items())),
        )
        for i in range(number)
    ]


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
        gangs=tuple(with_pods(gang, pod) for gang in instance.gangs),
    )


FEATURE = Feature("numa", with_numa_words)
