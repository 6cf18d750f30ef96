"""Resource classes and node strategies, told a second time from docs/rules (B12, B13).

What strategies.md counts is counted here in fractions, from specs and nodes alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import floor
from random import Random

import pytest

from judge.hand import node, world
from placer.judge.measure import measure
from placer_models.capacity import DeviceQuantity
from placer_models.cluster import Instance, Node
from placer_models.device import Device
from placer_models.device_share import DeviceShare
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.goals import TIERS_OF
from placer_models.illegal_running import illegality_text
from placer_models.node_strategy import (
    LOOK_AT_WHAT_IS_LEFT,
    NodeStrategy,
    StrategyNodeLoad,
    StrategyPodRequest,
)
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources, pods_of_gangs
from placer_models.policy import QosClass
from placer_models.resource_classes import (
    node_load_before_new_pods,
    resource_class_request_of_pod,
    resource_class_totals_of_node,
    scored_resource_classes_asked_by_any,
)
from placer_models.topology import Hugepages
from placer_models.variants import spec_on
from second_tellings.drawing import all_pods, mixed_worlds

MIB, GIB = 2**20, 2**30


def pages_class(size: int) -> str:
    """Return the class of hugepages of a size; tiny worlds have pages of a few bytes, too."""
    for unit, name in ((GIB, "Gi"), (MIB, "Mi"), (1024, "Ki"), (1, "")):
        if size % unit == 0:
            return f"hugepages-{size // unit}{name}"
    raise AssertionError(size)


def totals(node: Node) -> dict[str, int]:
    """Return what is healthy and not reserved, by class."""
    topology = node.machine.topology
    cpus = [cpu for cpu in topology.cpus if cpu.online and cpu.id not in node.reserved_cpus]
    found = dict.fromkeys(("cpu", "best-effort-cpu"), node.milli_per_cpu * len(cpus))

    def add(name: str, amount: int) -> None:
        found[name] = found.get(name, 0) + amount

    for numa, amount in node.memory_bytes_in().items():
        assert numa in {one.id for one in topology.numa_nodes}
        add("memory", amount)
    for (_, size), count in node.pages_in().items():
        add(pages_class(size), count)
    for name, amount in node.extended:
        add(f"extended/{name}", amount)
    for device in filter(node.is_healthy, node.devices):
        add(device.type, 100)
        add(f"{device.type}.memory", device.memory_bytes)
        for quantity in device.capacity:
            add(f"{device.type}.{quantity.name}", quantity.amount)
    return {name: amount for name, amount in found.items() if amount}


def taken(spec: PodSpec, has: Mapping[str, int]) -> dict[str, int]:
    """Return what a pod takes, by class; parts of devices are of the node's mean device."""
    asked = spec.requests
    found = {"best-effort-cpu" if spec.qos is QosClass.BE else "cpu": asked.cpu_milli}
    found["memory"] = asked.memory_bytes
    found |= {pages_class(pages.page_bytes): pages.count for pages in asked.hugepages}
    found |= {f"extended/{name}": amount for name, amount in asked.extended}
    for request in asked.devices:
        kind, share = request.type, request.share or DeviceShare()
        there = has.get(kind, 0) // 100
        every = dict(spec.strategies).get(kind) is DeviceCountStrategy.APPLY_FOR_ALL
        count = request.count * (max(there, 1) if every else 1)
        mean = {
            name.removeprefix(f"{kind}."): amount // there if there else 0
            for name, amount in has.items()
            if name.startswith(f"{kind}.") and there
        }
        own = {one.name: one.amount for one in share.capacity}
        if share.memory_bytes is not None:
            own["memory"] = share.memory_bytes
        if share.memory_percent is not None:
            own["memory"] = mean.get("memory", 0) * share.memory_percent // 100
        if request.share is None:
            percent, own = 100, mean
        elif share.percent is None:
            parts = [100 * own[name] // mean[name] for name in own if mean.get(name)]
            percent = max([0, *parts])
        else:
            percent = share.percent
            if kind != "gpu":
                of_all = {name: amount * percent // 100 for name, amount in mean.items()}
                own = {**of_all, **own}
        for name, amount in {"": percent, **own}.items():
            named = f"{kind}.{name}" if name else kind
            found[named] = found.get(named, 0) + count * amount
    return found


def asks_for(spec: PodSpec) -> set[str]:
    """Return the classes that a pod asks for, whatever it takes of others besides."""
    asked = spec.requests
    found = {pages_class(pages.page_bytes) for pages in asked.hugepages}
    found |= {f"extended/{name}" for name, _ in asked.extended}
    found |= {"memory"} if asked.memory_bytes else set()
    if asked.cpu_milli:
        found.add("best-effort-cpu" if spec.qos is QosClass.BE else "cpu")
    for request in asked.devices:
        share = request.share
        if share is None or share.percent is not None:
            found.add(request.type)
        if share is not None:
            found |= {f"{request.type}.{one.name}" for one in share.capacity}
            if share.memory_bytes is not None or share.memory_percent:
                found.add(f"{request.type}.memory")
    return found


def shares(spec: PodSpec, node: Node, takers: Sequence[PodSpec]) -> list[Fraction]:
    """Return, for the classes that a pod asks for, what the takers use of each."""
    has = totals(node)
    return [
        Fraction(sum(taken(other, has).get(name, 0) for other in takers), has[name])
        for name in sorted(asks_for(spec))
        if name in has
    ]


def millionths(parts: Sequence[Fraction]) -> int:
    """Return the mean in millionths, rounded down; 0 of nothing."""
    return floor(1_000_000 * sum(parts) / len(parts)) if parts else 0


def variance(parts: Sequence[Fraction]) -> int:
    """Return the variance in millionths, rounded down; 0 of fewer than two."""
    if len(parts) < 2:
        return 0
    mean = sum(parts) / len(parts)
    return floor(1_000_000 * sum((part - mean) ** 2 for part in parts) / len(parts))


def tiers(instance: Instance, where: Mapping[int, Sequence[PodSpec]]) -> tuple[int, ...]:
    """Return what the page's table says of a strategy; ``where``: index of a node -> new specs."""
    runs = {
        i: [r.pod.spec for r in instance.running if r.placement.node == node.name]
        for i, node in enumerate(instance.nodes)
    }
    own = added = varied = pairs = 0
    for i, there in enumerate(instance.nodes):
        here = where.get(i, ())
        pairs += len(here) * len(runs[i]) + len([*combinations(here, 2)])
        for at, spec in enumerate(here):
            own += millionths(shares(spec, there, [*runs[i], spec]))
            others = [other for j, other in enumerate(here) if j != at]
            added += sum(millionths(shares(spec, there, [other])) for other in others)
            varied += variance(shares(spec, there, [*runs[i], *here]))
    used = sum(bool(runs[i] or where.get(i)) for i in runs)
    match instance.strategy.value:
        case "pack":
            return used, own
        case "spread":
            return pairs, own
        case "least-requested":
            return (own + added,)
        case _:
            return (varied,)


@pytest.mark.parametrize("strategy", [s for s in NodeStrategy if s not in LOOK_AT_WHAT_IS_LEFT])
def test_tiers_of_strategies_are_what_the_page_counts(strategy: NodeStrategy) -> None:
    """
    Of pods sent to nodes at random, on tiny worlds of all families and on nodes with shares.
    """
    rng = Random(strategy.value)
    told = set()
    for drawn in (*mixed_worlds(), *(shared_world(seed) for seed in range(20))):
        instance = replace(drawn, strategy=strategy, move_budget=0)
        where: dict[int, list[PodSpec]] = {}
        places = []
        for pod in pods_of_gangs(instance.gangs):
            i = rng.randrange(len(instance.nodes) + 1)
            if i < len(instance.nodes):
                there = spec_on(pod.spec, instance.nodes[i])
                where.setdefault(i, []).append(there)
                on = instance.nodes[i].name
                places.append(PodPlacement(pod.name, pod.namespace, None, on, frozenset()))
        said = dict(measure(instance, Placement(tuple(places))))
        expected = tiers(instance, where)
        told.add(expected)

        assert tuple(said[tier] for tier in TIERS_OF[strategy]) == expected, instance.name
    assert len(told) > 20


def test_classes_are_those_of_the_page() -> None:
    """
    What a node has, what pods ask for, what they take, and what runs there already.
    """
    for instance in (*mixed_worlds(), *(shared_world(seed) for seed in range(40))):
        specs = [pod.spec for pod in all_pods(instance)]
        classes = scored_resource_classes_asked_by_any(specs)
        assert classes == tuple(sorted({name for spec in specs for name in asks_for(spec)}))
        for there in instance.nodes:
            has = totals(there)
            load = node_load_before_new_pods(NodeStrategy.PACK, classes, has, specs)
            used = [sum(taken(spec, has).get(name, 0) for spec in specs) for name in classes]

            assert resource_class_totals_of_node(there) == has
            assert load.used == tuple(used)
            assert load.total == tuple(has.get(name, 0) for name in classes)
            assert (load.running, load.new) == (len(specs), ())
            for spec in specs:
                ask = resource_class_request_of_pod(spec, classes, has)
                assert ask.amounts == tuple(taken(spec, has).get(name, 0) for name in classes)
                assert {classes[i] for i in ask.classes} == asks_for(spec) & has.keys()


def test_a_load_counts_the_pods_that_come() -> None:
    """
    Equal ones together, in whatever order they come.
    """
    load = StrategyNodeLoad(NodeStrategy.SPREAD, 2, (0,), (9,))
    small, large = StrategyPodRequest((1,), (0,)), StrategyPodRequest((2,), (0,))
    three = load.with_pod(large).with_pod(small).with_pod(large)

    assert three == load.with_pod(small).with_pod(large).with_pod(large)
    assert three.new == ((small, 1), (large, 2))
    assert [one.newcomers for one in (load, load.with_pod(small), three)] == [0, 1, 3]


def shared_world(seed: int) -> Instance:
    """Draw a node whose devices have memory and quantities, and pods with parts of them."""
    rng = Random(f"classes-{seed}")
    bandwidth = (
        DeviceQuantity("bandwidth", rng.choice((7, 100))),
        DeviceQuantity("space", 3 * GIB),
    )
    devices = [
        Device(kind, minor, memory_bytes=rng.choice((0, 7, GIB)), capacity=capacity)
        for kind, capacity in (("disk", bandwidth), ("gpu", ()), ("nic", bandwidth[:1]))
        for minor in range(rng.randrange(4))
    ]
    there = node()
    machine = replace(there.machine, devices=tuple(devices), gpu_links=None)
    broken = frozenset((d.type, d.minor) for d in devices if rng.random() < 0.2)
    there = replace(
        there, machine=machine, unhealthy=broken, milli_per_cpu=rng.choice((1000, 1500))
    )
    specs = [drawn_spec(rng) for _ in range(4)]
    drawn = world_of(there, specs)
    # What counts of an illegal pod that runs is told elsewhere.
    legal = tuple(one for one in drawn.running if not illegality_text(one))
    return replace(drawn, running=legal, name=f"classes {seed}")


def drawn_spec(rng: Random) -> PodSpec:
    """Draw a pod that asks for devices, whole or in part."""
    kind, count = rng.choice(("disk", "gpu", "nic")), rng.choice((1, 1, 2))
    memory = rng.choice((None, None, "bytes", "percent"))
    share = DeviceShare(
        rng.choice((None, 1, 30, 100)),
        rng.choice((1, GIB // 3)) if memory == "bytes" else None,
        rng.choice((0, 1, 50, 100)) if memory == "percent" else None,
        tuple(
            DeviceQuantity(name, rng.choice((1, 33, GIB)))
            for name in ("bandwidth", "space")
            if kind == "disk" and rng.random() < 0.4
        ),
    )
    part = None if share == DeviceShare() or rng.random() < 0.3 else share
    every = (("nic", DeviceCountStrategy.APPLY_FOR_ALL),) if kind == "nic" and count == 1 else ()
    return PodSpec(
        (
            Container(
                "app",
                Resources(
                    rng.choice((0, 500)),
                    rng.choice((0, MIB)),
                    (Hugepages(2 * MIB, 3),) if rng.random() < 0.3 else (),
                    (DeviceRequest(kind, count, part),),
                    (("licences", 2),) if rng.random() < 0.3 else (),
                ),
            ),
        ),
        rng.choice((QosClass.LS, QosClass.BE)),
        strategies=every if rng.random() < 0.5 else (),
    )


def world_of(there: Node, specs: Sequence[PodSpec]) -> Instance:
    """Return a world where the first pod runs and the others wait."""
    first, *others = (Pod(f"p{i}", "default", spec) for i, spec in enumerate(specs))
    place = PodPlacement(first.name, "default", None, there.name, frozenset())
    return world(*others, nodes=(there,), running=[(first, place)])
