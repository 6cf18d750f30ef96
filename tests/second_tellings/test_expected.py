"""Tier ``expected``, told a second time from the page: on small clusters with parts of GPUs.

What it tells again: ``ExpectedDemand.looks_at_memory`` and ``priced``,
``ExpectedNodeWorthCache.worth``, ``admitted_shape_mask``, ``expected_shape_prices``,
``group_equal_left_nodes``, ``given_or_learned_demand``.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from even_topologies import even_topology
from expected import slow_telling as slow
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.demand import ExpectedDemand, ExpectedShape
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.expected import ResourcesLeftForExpectedPods
from placer_models.goals import EXPECTED
from placer_models.node_affinity import NodeAffinity, NodeTerm
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import PartlyPlaced, Placed, PodPlacement
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources, pods_of_gangs
from placer_models.policy import QosClass
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.taints import Taint, TaintEffect, Toleration, TolerationOperator

GREEDY = SolveOptions(engine=Engine.GREEDY, workers=1, time_limit_s=2)
MEMORY = 64
"""Bytes of each node."""

ANY_TAINT = (Toleration(operator=TolerationOperator.EXISTS),)


def machine(cpus: int, gpus: int) -> Machine:
    topology = even_topology(cpus, MEMORY)
    devices = tuple(Device(GPU, minor, memory_bytes=1000) for minor in range(gpus))
    return Machine(f"c{cpus}-g{gpus}", "", topology, devices)


def drawn_spec(rng: Random) -> PodSpec:
    percent = rng.choice((13, 19, 50, 65, 81))
    memory = rng.choice((percent, percent, 30))
    share = DeviceShare(percent, memory_percent=memory)
    device = rng.choice(
        (None, DeviceRequest(GPU, rng.choice((1, 1, 2))), DeviceRequest(GPU, 1, share))
    )
    qos = rng.choice((QosClass.LS, QosClass.LS, QosClass.LS, QosClass.LSR, QosClass.BE))
    milli = 1000 * rng.randint(1, 3) if qos is QosClass.LSR else rng.choice((0, 500, 1500, 3000))
    term = NodeTerm((LabelExpression("zone", SelectorOperator.IN, ("a",)),))
    memory = rng.choice((1, 1, 8, 17))
    return PodSpec(
        (Container("main", Resources(milli, memory, devices=(device,) if device else ())),),
        qos,
        node_selector=(("zone", "b"),) if rng.random() < 0.15 else (),
        node_affinity=NodeAffinity(required=(term,)) if rng.random() < 0.2 else None,
        tolerations=ANY_TAINT if rng.random() < 0.5 else (),
    )


def drawn(seed: int) -> Instance:
    """Return up to four nodes, pods that wait and, now and then, a demand; some pods run."""
    rng = Random(f"expected-{seed}")
    machines = [machine(rng.randint(4, 9), rng.randint(0, 3)) for _ in range(2)]
    taint = Taint("dedicated", "ml", TaintEffect.NO_SCHEDULE)
    nodes = tuple(
        Node(
            f"n{i}",
            rng.choice(machines),
            labels=(("zone", rng.choice("ab")),),
            cordoned=rng.random() < 0.1,
            taints=(taint,) if rng.random() < 0.2 else (),
        )
        for i in range(rng.randint(1, 4))
    )
    specs = [drawn_spec(rng) for _ in range(4)]
    pods = [Pod(f"p{i}", "default", rng.choice(specs)) for i in range(7)]
    gangs = tuple(Gang(pod.name, "default", (pod,), 1, lone=True) for pod in pods)
    first = Instance(nodes, gangs[:3], strategy=NodeStrategy.EXPECTED)
    answer = solve(first, GREEDY)
    running = []
    if isinstance(answer, Placed | PartlyPlaced):
        spec_of = {pod.key: pod for pod in pods_of_gangs(first.gangs)}
        running = [RunningPod(spec_of[place.key], place) for place in answer.placement.pods]
    known = {runner.pod.key for runner in running}
    waiting = tuple(gang for gang in gangs if gang.pods[0].key not in known)
    found = replace(first, gangs=waiting, running=tuple(running))
    if rng.random() < 0.5:
        shapes = sorted(counted(found), key=lambda shape: shape.order)
        counts = tuple(rng.randint(1, 5) for _ in shapes)
        given = ExpectedDemand(tuple(shapes), counts, None, rng.randint(1, 5), rng.randint(1, 9))
        found = replace(found, demand=given)
    return found


def shape(spec: PodSpec) -> ExpectedShape | None:
    milli = count = 0
    for asked in spec.requests.devices:
        part = asked.share
        each = 1000 if part is None else 10 * max(part.percent or 0, part.memory_percent or 0)
        milli, count = max(milli, each), count + asked.count
    cpu = 0 if spec.qos is QosClass.BE else spec.requests.cpu_milli
    if count == 0 and cpu == 0:
        return None
    return ExpectedShape(
        cpu,
        count,
        milli,
        spec.node_selector,
        spec.node_affinity,
        spec.tolerations,
        spec.requests.memory_bytes,
    )


def counted(instance: Instance) -> Counter[ExpectedShape]:
    """All pods that wait and run, and those that want all of a node, for each type of node."""
    pods = [*pods_of_gangs(instance.gangs), *(runner.pod for runner in instance.running)]
    found = Counter(one for pod in pods if (one := shape(pod.spec)) is not None)
    cpu = sum(one.cpu_milli for one in found.elements())
    memory = sum(one.memory_bytes for one in found.elements())
    gpu = sum(one.gpus * one.gpu_milli for one in found.elements())
    cpus = sum(len(node.machine.topology.cpus) for node in instance.nodes)
    gpus = sum(len(node.machine.devices) for node in instance.nodes)
    # With the GPUs full, less than 98 % of the CPUs are asked for: of pods without GPUs there
    # is nothing to fear.
    if gpu == 0 or Fraction(cpu * gpus, gpu * cpus) < Fraction(98, 100):
        found = Counter({one: count for one, count in found.items() if one.gpus})
    # Nodes run out of GPUs before they run out of memory, but for less than 5 % of the GPUs.
    each_gpu = Fraction(1000 * memory, gpu) if gpu else Fraction(0)
    short = [
        len(node.machine.devices) - Fraction(MEMORY) / each_gpu if each_gpu else 0
        for node in instance.nodes
    ]
    memory_is_scarce = each_gpu > 0 and sum(max(0, one) for one in short) * 20 >= gpus > 0
    if not memory_is_scarce:
        anyhow: Counter[ExpectedShape] = Counter()
        for one, count in found.items():
            anyhow[replace(one, memory_bytes=0)] += count
        found = anyhow
    for node in instance.nodes:
        gpus = len(node.machine.devices)
        if gpus:
            whole = ExpectedShape(
                1000 * len(node.machine.topology.cpus),
                gpus,
                tolerations=ANY_TAINT,
                memory_bytes=MEMORY if memory_is_scarce else 0,
            )
            # Of equal nodes one counts, beside any pods that ask for the very same.
            found[whole] = max(1, min(8, len(pods) // 256))
    return found


def may_come(one: ExpectedShape, node: Node) -> bool:
    labels = dict(node.labels)
    if node.cordoned or (node.taints and not one.tolerations):
        return False
    if any(labels[key] != value for key, value in one.node_selector):
        return False
    return one.node_affinity is None or labels["zone"] == "a"


def left(node: Node, pods: list[tuple[PodSpec, PodPlacement]]) -> ResourcesLeftForExpectedPods:
    topology = node.machine.topology
    owned = sum(len(place.cpuset) for spec, place in pods if spec.qos.owns_cpus)
    milli = 1000 * (len(topology.cpus) - owned)
    milli -= sum(spec.requests.cpu_milli for spec, _ in pods if spec.qos is QosClass.LS)
    gpus = []
    for device in node.machine.devices:
        held = [g.share for _, p in pods for g in p.devices if g.minor == device.minor]
        if None in held:
            continue
        percent = 100 - sum(share.percent or 0 for share in held if share)
        memory = 100 - sum(share.memory_percent or 0 for share in held if share)
        if min(percent, memory) > 0:
            gpus.append(10 * min(percent, memory))
    held = sum(amount for _, place in pods for _, amount in place.memory_bytes)
    return ResourcesLeftForExpectedPods(milli, tuple(sorted(gpus)), MEMORY - held)


@pytest.mark.parametrize("batch", range(3))
def test_the_tier_is_what_the_page_counts(batch: int) -> None:
    """
    Nodes with new pods, before and after; prices are of the nodes before anything is placed.
    """
    lost = by_memory = 0
    for seed in range(16 * batch, 16 * batch + 16):
        instance = drawn(seed)
        answer = solve(instance, GREEDY)
        if not isinstance(answer, Placed | PartlyPlaced):
            continue
        demand = instance.demand
        if demand is None:
            counts = counted(instance)
            shapes = sorted(counts, key=lambda one: one.order)
            demand = ExpectedDemand(tuple(shapes), tuple(counts[one] for one in shapes))
        there = {
            node.name: [
                (r.pod.spec, r.placement) for r in instance.running if r.placement.node == node.name
            ]
            for node in instance.nodes
        }
        may = {n.name: tuple(may_come(one, n) for one in demand.shapes) for n in instance.nodes}
        before = {node.name: left(node, there[node.name]) for node in instance.nodes}
        prices = slow.prices(demand, [(may[name], before[name]) for name in before])
        priced = replace(demand, prices=prices)
        spec_of = {pod.key: pod.spec for pod in pods_of_gangs(instance.gangs)}
        expected = 0
        for node in instance.nodes:
            name = node.name
            new = [(spec_of[p.key], p) for p in answer.placement.pods if p.node == name]
            if new:
                after = left(node, there[name] + new)
                expected += slow.worth(priced, may[name], before[name])
                expected -= slow.worth(priced, may[name], after)
        lost += expected != 0
        by_memory += expected != 0 and any(one.memory_bytes for one in demand.shapes)

        assert dict(measure(instance, answer.placement))[EXPECTED] == expected, seed
        assert answer.tiers[-1].value == expected
    assert lost > 4
    assert by_memory > 0
