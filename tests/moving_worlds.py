"""Tiny instances in which a large pod waits and small running ones are in its way."""

from collections import Counter
from dataclasses import replace
from random import Random

from features.moves import scattered, tied
from features.network import in_domains
from judge.hand import node, pod, put, world
from mixed_worlds import mixed
from placer_models.cluster import Instance, Node, RunningGang, RunningPod
from placer_models.device import GPU
from placer_models.network import GangNetworkLevelRule
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass
from tiny_pods import lone, scale_of, tiny_spec
from worlds import tiny_instance


def moving_instance(seed: int) -> Instance:
    """Draw nodes, small running pods scattered over them, and one or two large ones."""
    rng = Random(f"moving-{seed}")
    base = tiny_instance(seed)
    first = replace(base.nodes[0], cordoned=False, reserved_cpus=frozenset())
    nodes = (first, replace(first, name="n1"))[: rng.choice((1, 2, 2))]
    unit_bytes = max(1, min(n.memory_bytes for n in first.machine.topology.numa_nodes))
    scale = replace(scale_of(nodes, unit_bytes), cpus=1, gpu_counts=(0, 0, 1, 1), memory_units=1)
    early = [tiny_spec(rng, scale) for _ in range(rng.choice((2, 2, 3)))]
    large = [_large(rng, first) for _ in range(rng.choice((1, 1, 2)))]
    gangs = tuple(
        lone(Pod(f"large-{i}", "default", spec), priority=rng.choice((0, 0, 5)))
        for i, spec in enumerate(large)
    )
    world = Instance(nodes, gangs, name=f"moving-{seed}", move_budget=rng.choice((1, 2, 2)))
    return scattered(rng, world, early)


def tied_instance(seed: int) -> Instance:
    """Draw the same with gangs of running pods, which ask for racks, blocks and nodes."""
    rng = Random(f"tied-{seed}")
    base = moving_instance(seed)
    nodes = tuple(in_domains(rng, node) for node in base.nodes)
    return tied(rng, replace(base, nodes=nodes, name=f"tied-{seed}"))


def mixed_moving_instance(seed: int) -> Instance:
    """Draw a world with moves, and dress it with the words of some families."""
    return mixed(Random(f"mixed-moving-{seed}"), moving_instance(seed))


def crowded_instance(seed: int) -> Instance:
    """Draw two nodes, small running pods scattered over them by hand, and large ones."""
    rng = Random(f"crowded-{seed}")
    free = {
        (on, kind): ids for on in "nm" for kind, ids in (("cpu", [*range(9)]), ("gpu", [*range(4)]))
    }
    running = []
    for i in range(rng.choice((2, 3, 3))):
        on, cpus, gpus = rng.choice("nnm"), rng.choice((1, 1, 2)), rng.choice((0, 1, 1, 1))
        held = {}
        for kind, count in (("cpu", cpus), ("gpu", gpus)):
            held[kind] = rng.sample(free[on, kind], min(count, len(free[on, kind])))
            free[on, kind] = [each for each in free[on, kind] if each not in held[kind]]
        memory = rng.choice((0, 0, 1))
        place = put(
            f"r{i}",
            ",".join(map(str, held["cpu"])),
            on=on,
            memory={rng.choice((0, 1)): 1} if memory else {},
            gpus=held["gpu"],
        )
        asked = pod(f"r{i}", len(held["cpu"]), memory=memory, gpus=len(held["gpu"]))
        running.append(RunningPod(asked, place))
    large = [
        pod(f"large-{i}", cpu, gpus=gpus)
        for i in range(rng.choice((1, 2)))
        for cpu, gpus in [rng.choice(((8, 0), (2, 3), (2, 4)))]
    ]
    waiting = world(*large, nodes=[node("n"), node("m")])
    return replace(
        waiting, name=f"crowded-{seed}", running=tuple(running), move_budget=rng.choice((1, 2, 2))
    )


def crowded(budget: int) -> Instance:
    """Return two nodes with a small pod on each half of one, one on the other, and a large one.

    One move empties the second node, two the first.
    """
    small = [
        RunningPod(pod(name, 1, gpus=1), put(name, cpu, on=on, gpus=[gpu]))
        for name, cpu, on, gpu in (("a", "0", "n", 0), ("b", "4", "n", 2), ("c", "2", "m", 1))
    ]
    asked = world(pod("large", 2, gpus=4), nodes=[node("n"), node("m")])
    return replace(asked, running=tuple(small), move_budget=budget)


def pinned_crowd(budget: int) -> Instance:
    """Return the same where the pod of the second node may not move: it takes two moves."""
    instance = crowded(budget)
    *others, last = instance.running
    return replace(instance, running=(*others, replace(last, movable=False)))


def tied_crowd(names: str, instance: Instance, *asked: GangNetworkLevelRule) -> Instance:
    """Return the instance where the running pods of those names are a gang that asks for that."""
    running = tuple(
        replace(r, placement=replace(r.placement, gang="tied")) if r.pod.name in names else r
        for r in instance.running
    )
    gang = RunningGang("tied", "default", levels=asked)
    return replace(instance, running=running, running_gangs=(gang,))


def memory_in_the_way() -> Instance:
    """Return a node where the memory of a pod without a policy is all of a NUMA node's.

    A pod waits for the GPUs of that NUMA node, and for memory and CPUs beside them.
    """
    runner = RunningPod(pod("r", 1, memory=4, qos=QosClass.LS), put("r", "0-8", memory={0: 4}))
    waiting = pod("a", 2, memory=4, gpus=2, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)
    instance = world(waiting, nodes=[node("n", broken_gpus=[2, 3])])
    return replace(instance, running=(runner,), move_budget=1)


def _large(rng: Random, on: Node) -> PodSpec:
    """Draw what a pod wants that takes all of a NUMA node, or of the node."""
    topology = on.machine.topology
    free = topology.online - on.reserved_cpus
    homes = Counter(topology.cpu[cpu].numa_node for cpu in free)
    numa_node = rng.choice(sorted(homes, key=str) or [None])
    gpus = [d for d in on.machine.devices if d.type == GPU and on.is_healthy(d)]
    near = sum(gpu.numa_node == numa_node for gpu in gpus)
    single = rng.random() < 0.6 and numa_node is not None
    cpus, most = (homes[numa_node], near) if single else (len(free), len(gpus))
    wanted = 0 if rng.random() < 0.5 else most
    cpu_milli = 1000 * (1 if wanted else max(1, cpus - rng.choice((0, 0, 1))))
    return PodSpec(
        containers=(
            Container(
                "app",
                Resources(cpu_milli, devices=(DeviceRequest(GPU, wanted),) if wanted else ()),
            ),
        ),
        qos=rng.choice((QosClass.LSR, QosClass.LSR, QosClass.LSE)),
        alignment=AlignmentPolicy.SINGLE_NUMA_NODE if single else AlignmentPolicy.NONE,
    )
