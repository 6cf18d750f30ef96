"""Random tiny instances in which every rule can bind."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from placer.judge.breaches import breaches
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.placement import DeviceGrant, Placement, PodPlacement
from placer_models.pod import Pod
from placer_models.policy import AlignmentPolicy
from pools import pools
from tiny_machines import tiny_machine
from tiny_pods import Scale, lone, scale_of, tiny_alignment, tiny_gangs, tiny_groups, tiny_spec

UNITS_BYTES = (1, 1 << 20, 1 << 30)
"""What memory is counted in; a world of single bytes shows every rounding."""

STATE_RULES = {
    "cpu-count",
    "cpu-allocatable",
    "cpu-exclusive",
    "shared-pool",
    "be-pool",
    "memory",
    "device-known",
    "device-exclusive",
    "device-count",
}
"""What holds of pods that run; the rest may have changed under them since."""


def tiny_instances() -> st.SearchStrategy[Instance]:
    """Return a Hypothesis strategy of tiny instances."""
    return st.integers(0, 2**32 - 1).map(tiny_instance)


def tiny_instance(seed: int) -> Instance:
    """Draw an instance of at most 2 nodes, 4 waiting pods and 2 running ones."""
    rng = Random(seed)
    unit_bytes = rng.choice(UNITS_BYTES)
    scarce = rng.choice(("all", "all", "cpus", "gpus", "gpus", "numa"))
    nodes = _nodes(rng, unit_bytes, least_gpus=4 if scarce == "gpus" else 0)
    scale = scale_of(nodes, unit_bytes)
    match scarce:
        case "cpus":  # what the pods want decides who competes: here only for cores
            scale = replace(scale, gpus=0, nics=0, memory_units=0)
        case "gpus":
            scale = replace(scale, cpus=1, nics=0, memory_units=0, gpu_counts=(1, 1, 2, 2, 3, 3))
        case "numa":
            nodes = tuple(replace(n, alignment=AlignmentPolicy.BEST_EFFORT) for n in nodes)
            scale = replace(scale, gpus=1)
        case _:
            pass
    gangs = tiny_gangs(rng, scale)
    return Instance(
        nodes=nodes,
        gangs=gangs,
        groups=tiny_groups(rng, gangs),
        running=_running(rng, nodes, scale),
        name=f"tiny-{seed}",
    )


def _nodes(rng: Random, unit_bytes: int, least_gpus: int) -> tuple[Node, ...]:
    machine = tiny_machine(rng, "m0", unit_bytes, least_gpus)
    nodes = [_node(rng, "n0", machine)]
    if rng.random() < 0.5:
        if rng.random() < 0.6:
            machine = tiny_machine(rng, "m1", unit_bytes, least_gpus)
        nodes.append(_node(rng, "n1", machine))
    return tuple(nodes)


def _node(rng: Random, name: str, machine: Machine) -> Node:
    cpus = sorted(machine.topology.cpu)
    broken = [(d.type, d.minor) for d in machine.devices if d.healthy]
    return Node(
        name=name,
        machine=machine,
        labels=(("zone", rng.choice("aab")),) if rng.random() < 0.8 else (),
        reserved_cpus=frozenset(rng.sample(cpus, rng.choice((0, 0, 0, 0, 1, 2)))),
        alignment=tiny_alignment(rng, unset=0.65),
        unhealthy=frozenset(rng.sample(broken, 1) if broken and rng.random() < 0.15 else ()),
        cordoned=rng.random() < 0.04,
    )


def _running(rng: Random, nodes: Sequence[Node], scale: Scale) -> tuple[RunningPod, ...]:
    """Draw pods that run; one that does not fit beside the others is left out."""
    half = replace(scale, gpus=scale.gpus // 3, memory_units=scale.memory_units // 2)
    running: list[RunningPod] = []
    for i in range(rng.choice((0, 0, 1, 1, 2))):
        pod = Pod(f"r{i}", "default", tiny_spec(rng, half))
        place = _settle(rng, pod, rng.choice(nodes), running)
        together = pooled(nodes, [*running, RunningPod(pod, place)])
        if _is_sound(nodes, together):
            running = together
    return tuple(running)


def _settle(rng: Random, pod: Pod, node: Node, running: Sequence[RunningPod]) -> PodPlacement:
    """Put the pod on CPUs, memory and devices that are free there, or as many as are."""
    here = [runner for runner in running if runner.placement.node == node.name]
    owned = frozenset[int]().union(*(r.placement.cpuset for r in here if r.pod.spec.qos.owns_cpus))
    requests = pod.spec.requests
    cpus = sorted(node.machine.topology.online - node.reserved_cpus - owned)
    count = min(len(cpus), requests.cpu_milli // 1000)
    held = {grant for runner in here for grant in runner.placement.devices}
    devices = rng.sample(node.machine.devices, len(node.machine.devices))
    free = [g for d in devices if (g := DeviceGrant(d.type, d.minor)) not in held]
    return PodPlacement(
        name=pod.name,
        namespace=pod.namespace,
        gang=None,
        node=node.name,
        cpuset=frozenset(rng.sample(cpus, count) if pod.spec.qos.owns_cpus else cpus),
        memory_bytes=_pour(rng, node, requests.memory_bytes, here),
        devices=tuple(
            grant
            for asked in requests.devices
            for grant in sorted(
                [g for g in free if g.type == asked.type][: asked.count],
                key=lambda grant: grant.minor,
            )
        ),
    )


def _pour(
    rng: Random, node: Node, need_bytes: int, here: Sequence[RunningPod]
) -> tuple[tuple[int, int], ...]:
    """Fill NUMA nodes, in a random order, with what the pod needs."""
    taken: Counter[int] = Counter()
    for runner in here:
        taken.update(dict(runner.placement.memory_bytes))
    poured: dict[int, int] = {}
    for numa in rng.sample(node.machine.topology.numa_nodes, len(node.machine.topology.numa_nodes)):
        if amount := min(need_bytes, numa.memory_bytes - taken[numa.id]):
            poured[numa.id] = amount
            need_bytes -= amount
    return tuple(sorted(poured.items()))


def pooled(nodes: Sequence[Node], running: Sequence[RunningPod]) -> list[RunningPod]:
    """Let each LS and BE pod run on the whole of its pool."""
    tenants = [(runner.pod, runner.placement) for runner in running]
    pools_of = {node.name: pools(node, tenants) for node in nodes}
    return [
        RunningPod(pod, replace(place, cpuset=pools_of[place.node].get(pod.spec.qos, place.cpuset)))
        for pod, place in tenants
    ]


def _is_sound(nodes: Sequence[Node], running: Sequence[RunningPod]) -> bool:
    """Return whether the pods could be where they are, as if they had just come."""
    arriving = Instance(tuple(nodes), tuple(lone(runner.pod) for runner in running))
    placement = Placement(tuple(runner.placement for runner in running))
    return not any(breach.rule in STATE_RULES for breach in breaches(arriving, placement))
