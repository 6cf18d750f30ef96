"""The best placement by the plainest enumeration there is: no shortcut, other order.

It exists to catch the mistakes of ``brute_force``. Every set of CPUs is tried by its ids,
every set of devices, every set of NUMA nodes for memory, pods last to first, all nodes
together, and each leaf is judged. So it can be used on the smallest worlds only.
"""

from collections.abc import Iterator
from itertools import chain, combinations, product
from math import prod

from leaves import Held, Stay, homes_tried, may_be_bound, needs_of, pour_all, settled, there
from placer.judge.breaches import breaches
from placer.judge.measure import Worth, are_tier_values_better, measure
from placer_models.cluster import Instance, Node
from placer_models.placement import DeviceGrant, Placement
from placer_models.pod import DeviceRequest, Gang, Pod

Option = tuple[Stay, tuple[int, ...]]
"""A pod's place and the NUMA nodes that its memory may be on."""


def best_vector_plainly(instance: Instance, most_leaves: int) -> Worth | None:
    """Return the best vector, or None where there are more leaves than may be tried."""
    options: list[list[Option | None]] = []
    for gang in instance.gangs:
        for pod in gang.pods:
            found = (_options(gang, there(pod, node), node) for node in instance.nodes)
            options.append([*chain.from_iterable(found), None])
    options.reverse()
    if prod(map(len, options)) > most_leaves:
        return None
    best = None
    for choice in product(*options):
        placement = _placement(instance, [option for option in choice if option])
        if placement is None or breaches(instance, placement):
            continue
        vector = measure(instance, placement)
        if best is None or are_tier_values_better(vector, best):
            best = vector
    return best


def _options(gang: Gang, pod: Pod, node: Node) -> Iterator[Option]:
    requests = pod.spec.requests
    count = requests.cpu_milli // 1000 if pod.spec.qos.owns_cpus else 0
    choices = [
        [
            devices
            for count in _counts(pod, asked, node)
            for devices in combinations(
                [
                    DeviceGrant(d.type, d.minor, d.id, asked.share)
                    for d in node.devices
                    if d.type == asked.type
                ],
                count,
            )
        ]
        for asked in requests.devices
    ]
    device_sets = [tuple(chain.from_iterable(choice)) for choice in product(*choices)]
    numa_nodes = [n.id for n in node.machine.topology.numa_nodes if n.memory_bytes]
    sizes = range(1, len(numa_nodes) + 1) if needs_of(pod) else (0,)
    masks = list(chain.from_iterable(combinations(numa_nodes, size) for size in sizes))
    cpus = sorted(node.machine.topology.cpu)
    owned = homes_tried(pod, node) if may_be_bound(pod, node) else combinations(cpus, count)
    for own, devices, mask in product(owned, device_sets, masks):
        grants = tuple(sorted(devices, key=lambda grant: (grant.type, grant.minor)))
        yield Stay(gang, pod, node, frozenset(own), grants), mask


def _counts(pod: Pod, asked: DeviceRequest, node: Node) -> range:
    """Return how many devices of a type to try: any number where a strategy says how many."""
    if asked.type in dict(pod.spec.strategies):
        return range(1 + sum(device.type == asked.type for device in node.devices))
    return range(asked.count, asked.count + 1)


def _placement(instance: Instance, chosen: list[Option]) -> Placement | None:
    """Return the choice with its memory shared out; None: there is not enough."""
    memory: dict[tuple[str, str], Held] = {}
    for node in instance.nodes:
        here = [(stay, mask) for stay, mask in chosen if stay.node is node]
        poured = pour_all(instance, node, [stay for stay, _ in here], [mask for _, mask in here])
        if poured is None:
            return None
        memory |= {stay.pod.key: held for (stay, _), held in zip(here, poured, strict=True)}
    stays = [stay for stay, _ in chosen]
    return Placement(settled(instance, stays, [memory[stay.pod.key] for stay in stays]))
