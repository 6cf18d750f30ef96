"""Tiny markets in words, and the cheapest mix of each by trying every mix and every place.

It knows LS pods that ask for CPUs, memory, whole GPUs or a share of one, on nodes of one
NUMA node, and nothing of the planner.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import ceil
from random import Random

from even_topologies import even_topology
from placer.plan.question import FailureTolerance, NodeOffer, PlanQuestion, PlanScenario
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass

GIB = 2**30
ZONE = "topology.kubernetes.io/zone"

Left = tuple[int, int, tuple[int, ...]]
"""CPUs in milli, memory in bytes, percent of each GPU."""


def machine(name: str, cpus: int, memory_gib: int, gpus: int) -> Machine:
    """Return a machine of one NUMA node."""
    return Machine(
        name,
        name,
        even_topology(cpus, memory_gib * GIB),
        tuple(Device(GPU, minor) for minor in range(gpus)),
    )


def spec(cpu_milli: int, memory_gib: int, gpus: int = 0, percent: int | None = None) -> PodSpec:
    """Return the spec of an LS pod."""
    share = None if percent is None else DeviceShare(percent, memory_percent=percent)
    devices = (DeviceRequest(GPU, gpus, share),) if gpus else ()
    requests = Resources(cpu_milli, memory_gib * GIB, devices=devices)
    return PodSpec((Container("main", requests),), QosClass.LS)


def lone(name: str, of: PodSpec) -> Gang:
    """Return a pod that waits by itself."""
    return Gang(name, "default", (Pod(name, "default", of),), 1, lone=True)


def tiny_question(seed: int) -> PlanQuestion:
    """Draw at most 6 pods of at most 3 shapes, 1 to 3 offers, sometimes a node that is there."""
    rng = Random(f"plan-{seed}")
    with_gpus = rng.random() < 0.6
    offers = []
    for number in range(rng.randint(1, 3)):
        gpus = rng.choice((0, 1, 2)) if with_gpus else 0
        node = Node(
            f"offer{number}",
            machine(f"m{number}", rng.choice((2, 4, 6, 8)), rng.randint(2, 8), gpus),
        )
        price = Decimal(rng.randint(2, 12)) / rng.choice((1, 2, 4))
        most = rng.choice((None, None, None, 1, 2))
        pack = 2 if most is None and rng.random() < 0.2 else 1
        offers.append(NodeOffer(node, price, most, pack))
    there = ()
    if rng.random() < 0.3:
        there = (Node("there", machine("old", 4, 4, 1 if with_gpus else 0)),)
    gangs = []
    for shape in range(rng.randint(1, 3)):
        gpus, percent = 0, None
        if with_gpus and rng.random() < 0.6:
            gpus = rng.choice((1, 1, 2))
            percent = rng.choice((None, 30, 50, 60)) if gpus == 1 else None
        of = spec(rng.choice((500, 1000, 1500, 2000, 3000)), rng.randint(1, 4), gpus, percent)
        gangs += [lone(f"s{shape}-{i}", of) for i in range(rng.randint(1, 2))]
    scenarios = [PlanScenario("now")]
    if rng.random() < 0.4:
        scale = Fraction(rng.choice((1, 3)), 2)
        scenarios.append(PlanScenario("later", scale, (("default", "s0", Fraction(2)),)))
    return PlanQuestion(Instance(there, tuple(gangs)), tuple(offers), tuple(scenarios))


def tiny_survival(seed: int) -> PlanQuestion:
    """Draw a tiny question that is to survive a node or a zone; some pods need not."""
    rng = Random(f"survival-{seed}")
    question = tiny_question(seed)
    zones = rng.choice((2, 3))

    def zoned(node: Node, number: int) -> Node:
        return replace(node, labels=((ZONE, f"zone-{number % zones}"),))

    offers = tuple(
        replace(offer, node=zoned(offer.node, i)) for i, offer in enumerate(question.offers)
    )
    nodes = tuple(zoned(node, 1) for node in question.instance.nodes)
    gangs = tuple(
        replace(gang, priority=rng.choice((0, 5)) if rng.random() < 0.3 else 5)
        for gang in question.instance.gangs
    )
    instance = replace(question.instance, nodes=nodes, gangs=gangs)
    survive = FailureTolerance(
        domain=rng.choice((ZONE, "")), priority=rng.choice((None, 5)), count=1
    )
    headroom = (lone("spare", spec(1000, 1)),) if rng.random() < 0.3 else ()
    scenarios = question.scenarios[:1]
    return replace(
        question,
        instance=instance,
        offers=offers,
        survive=survive,
        headroom=headroom,
        scenarios=scenarios,
    )


def surviving(question: PlanQuestion) -> Decimal | None:
    """Return the price of the cheapest mix that survives each loss, or None, by trying all."""
    assert question.survive is not None
    everyone = [gang.pods[0].spec for gang in (*question.instance.gangs, *question.headroom)]
    least = question.survive.priority
    kept = [
        gang.pods[0].spec
        for gang in question.instance.gangs
        if least is None or gang.priority >= least
    ]
    # Twice as many nodes as pods are never needed: each pod alone, and once more.
    most = len(everyone) + 1
    for mix in _mixes(question, most):
        nodes = [(node, "") for node in question.instance.nodes]
        for offer, count in zip(question.offers, mix, strict=True):
            nodes += [(offer.node, offer.name)] * count
        if not _all_fit([node for node, _ in nodes], everyone):
            continue
        if all(_all_fit(left, kept) for left in _after_losses(question, nodes)):
            return _price(question.offers, mix)
    return None


def _mixes(question: PlanQuestion, most: int) -> list[tuple[int, ...]]:
    """Return how many nodes of each offer may be bought, up to so many, the cheapest mix first."""
    ranges = []
    for offer in question.offers:
        packs = most + (-most % offer.pack)
        top = packs if offer.most is None else min(offer.most, packs)
        ranges.append(range(0, top + 1, offer.pack))
    return sorted(product(*ranges), key=lambda mix: _price(question.offers, mix))


def _after_losses(
    question: PlanQuestion, nodes: Sequence[tuple[Node, str]]
) -> Iterator[list[Node]]:
    assert question.survive is not None
    if not question.survive.domain:
        for lost in {node.name: i for i, (node, _) in enumerate(nodes)}.values():
            yield [node for i, (node, _) in enumerate(nodes) if i != lost]
        return
    for zone in {dict(node.labels)[ZONE] for node, _ in nodes}:
        yield [node for node, _ in nodes if dict(node.labels)[ZONE] != zone]


def _all_fit(nodes: Sequence[Node], demand: Sequence[PodSpec]) -> bool:
    left = [_empty(node) for node in nodes]
    if sum(cpu for cpu, _, _ in left) < sum(pod.requests.cpu_milli for pod in demand):
        return False
    if sum(memory for _, memory, _ in left) < sum(pod.requests.memory_bytes for pod in demand):
        return False
    return _place(sorted(demand, key=lambda one: -one.requests.cpu_milli), tuple(sorted(left)))


def cheapest(question: PlanQuestion) -> Decimal | None:
    """Return the price of the cheapest mix, or None if no mix has room for all pods."""
    demands = [_specs(question, scenario) for scenario in question.scenarios]
    # More nodes than pods are never needed.
    most = max(map(len, demands))
    for mix in _mixes(question, most):
        if all(_fits(question, mix, demand) for demand in demands):
            return _price(question.offers, mix)
    return None


def _price(offers: Sequence[NodeOffer], mix: Sequence[int]) -> Decimal:
    return sum((n * offer.price for n, offer in zip(mix, offers, strict=True)), Decimal(0))


def _specs(question: PlanQuestion, scenario: PlanScenario) -> list[PodSpec]:
    """Return the specs of all pods of a scenario; series are told by their names here."""
    by_series: dict[str, list[PodSpec]] = {}
    for gang in question.instance.gangs:
        by_series.setdefault(gang.name.split("-")[0], []).append(gang.pods[0].spec)
    own = {name: scale for _, name, scale in scenario.scales}
    found: list[PodSpec] = []
    for name, specs in by_series.items():
        found += [specs[0]] * ceil(len(specs) * own.get(name, scenario.scale))
    return found


def _fits(question: PlanQuestion, mix: Sequence[int], demand: Sequence[PodSpec]) -> bool:
    nodes = [_empty(node) for node in question.instance.nodes]
    for offer, count in zip(question.offers, mix, strict=True):
        nodes += [_empty(offer.node)] * count
    if sum(cpu for cpu, _, _ in nodes) < sum(pod.requests.cpu_milli for pod in demand):
        return False
    if sum(memory for _, memory, _ in nodes) < sum(pod.requests.memory_bytes for pod in demand):
        return False
    order = sorted(demand, key=lambda one: -one.requests.cpu_milli)
    return _place(order, tuple(sorted(nodes)))


def _empty(node: Node) -> Left:
    topology = node.machine.topology
    memory = sum(numa.memory_bytes for numa in topology.numa_nodes)
    return 1000 * len(topology.cpus), memory, (100,) * len(node.machine.devices)


def _place(pods: Sequence[PodSpec], nodes: tuple[Left, ...]) -> bool:
    if not pods:
        return True
    tried: set[Left] = set()
    for at, node in enumerate(nodes):
        if node in tried:
            continue
        tried.add(node)
        for after in _after(pods[0], node):
            if _place(pods[1:], tuple(sorted((*nodes[:at], after, *nodes[at + 1 :])))):
                return True
    return False


def _after(pod: PodSpec, node: Left) -> Iterator[Left]:
    """Yield what the node has left, for each way to give the pod its GPUs."""
    cpu, memory, gpus = node
    cpu -= pod.requests.cpu_milli
    memory -= pod.requests.memory_bytes
    if cpu < 0 or memory < 0:
        return
    if not pod.requests.devices:
        yield cpu, memory, gpus
        return
    (asked,) = pod.requests.devices
    if asked.share is None:
        whole = [i for i, left in enumerate(gpus) if left == 100]
        if len(whole) >= asked.count:
            taken = whole[: asked.count]
            yield (
                cpu,
                memory,
                tuple(sorted(0 if i in taken else left for i, left in enumerate(gpus))),
            )
        return
    percent = asked.share.percent or 0
    for i, left in enumerate(gpus):
        if left >= percent:
            yield cpu, memory, tuple(sorted((*gpus[:i], left - percent, *gpus[i + 1 :])))
