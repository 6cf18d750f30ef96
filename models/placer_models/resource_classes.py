"""Resource classes of a node, and what pods ask of them (B1), as node strategies count them.

What a pod asks for counts, not which devices it was given, so the requested share of a class
follows from which pods are on a node. A device counts 100 in the class of its type, and a share its
percent. Its memory and each of its other quantities are classes of their own, in amounts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from placer_models.capacity import MEMORY
from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.device_share import WHOLE_PERCENT
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.node_strategy import NodeStrategy, StrategyNodeLoad, StrategyPodRequest
from placer_models.pod import DeviceRequest, PodSpec
from placer_models.policy import QosClass
from placer_models.quantity import format_bytes

CPU = "cpu"
"""Thousandths of a CPU, of LSE, LSR and LS pods."""

BEST_EFFORT_CPU = "best-effort-cpu"
"""Thousandths of a CPU of BE pods, which use what others leave."""


def resource_class_totals_of_node(node: Node) -> dict[str, int]:
    """Return resource class -> what the node has of it when nothing runs there."""
    cpu_milli = node.milli_per_cpu * len(node.machine.topology.online - node.reserved_cpus)
    found = Counter({CPU: cpu_milli, BEST_EFFORT_CPU: cpu_milli})
    found[MEMORY] = sum(node.memory_bytes_in().values())
    for (_, size), count in node.pages_in().items():
        found[_pages(size)] += count
    found.update({_extended(name): amount for name, amount in node.extended})
    for device in node.devices:
        if node.is_healthy(device):
            found[device.type] += WHOLE_PERCENT
            found[_of(device.type) + MEMORY] += device.memory_bytes
            found.update({_of(device.type) + q.name: q.amount for q in device.capacity})
    return {name: total for name, total in found.items() if total > 0}


def resource_class_amounts_taken_by_pod(spec: PodSpec, totals: Mapping[str, int]) -> dict[str, int]:
    """Return resource class -> what a pod takes of it on a node with these totals.

    A pod that asks only for a part of a GPU's compute takes nothing else of the GPU. A pod that
    asks only for amounts takes the largest part of a device that any of them is. Parts are parts
    of the node's mean device.
    """
    requests = spec.requests
    cpu = BEST_EFFORT_CPU if spec.qos is QosClass.BE else CPU
    taken = Counter({cpu: requests.cpu_milli, MEMORY: requests.memory_bytes})
    taken.update({_pages(pages.page_bytes): pages.count for pages in requests.hugepages})
    taken.update({_extended(name): amount for name, amount in requests.extended})
    strategies = dict(spec.strategies)
    for request in requests.devices:
        kind, count = request.type, request.count
        devices = totals.get(kind, 0) // WHOLE_PERCENT
        if strategies.get(kind) is DeviceCountStrategy.APPLY_FOR_ALL:
            count *= max(1, devices)
        each = {
            name.removeprefix(_of(kind)): total // devices
            for name, total in totals.items()
            if devices and name.startswith(_of(kind))
        }
        percent, amounts = _part(request, each)
        taken[kind] += count * percent
        taken.update({_of(kind) + name: count * amount for name, amount in amounts.items()})
    return {name: amount for name, amount in taken.items() if amount}


def scored_resource_classes_asked_by(spec: PodSpec) -> frozenset[str]:
    """Return the resource classes that a pod asks for; its score looks at these."""
    requests = spec.requests
    asked = {_pages(pages.page_bytes) for pages in requests.hugepages}
    asked.update(_extended(name) for name, _ in requests.extended)
    if requests.cpu_milli:
        asked.add(BEST_EFFORT_CPU if spec.qos is QosClass.BE else CPU)
    if requests.memory_bytes:
        asked.add(MEMORY)
    for request in requests.devices:
        share = request.share
        if share is None or share.percent is not None:
            asked.add(request.type)
        if share is not None:
            of_memory = {MEMORY} if share.memory_percent else set()
            asked.update(_of(request.type) + name for name in of_memory | share.amounts.keys())
    return frozenset(asked)


def scored_resource_classes_asked_by_any(specs: Iterable[PodSpec]) -> tuple[str, ...]:
    """Return the resource classes that any of the pods asks for, ascending."""
    return tuple(
        sorted({name for spec in specs for name in scored_resource_classes_asked_by(spec)})
    )


def resource_class_request_of_pod(
    spec: PodSpec, classes: Sequence[str], totals: Mapping[str, int]
) -> StrategyPodRequest:
    """Return what a pod asks of a node with these totals."""
    taken = resource_class_amounts_taken_by_pod(spec, totals)
    asked = scored_resource_classes_asked_by(spec)
    return StrategyPodRequest(
        tuple(taken.get(name, 0) for name in classes),
        tuple(i for i, name in enumerate(classes) if name in asked and name in totals),
    )


def node_load_before_new_pods(
    strategy: NodeStrategy,
    classes: Sequence[str],
    totals: Mapping[str, int],
    running: Sequence[PodSpec],
) -> StrategyNodeLoad:
    """Return the load of a node on which these pods run and none is new."""
    used: Counter[str] = Counter()
    for spec in running:
        used.update(resource_class_amounts_taken_by_pod(spec, totals))
    return StrategyNodeLoad(
        strategy,
        len(running),
        tuple(used[name] for name in classes),
        tuple(totals.get(name, 0) for name in classes),
    )


def _part(request: DeviceRequest, each: Mapping[str, int]) -> tuple[int, dict[str, int]]:
    """Return what is taken of one device: percent of it, and amounts of its quantities.

    Args:
        request: The request for it.
        each: What the node's mean device has of each quantity.

    """
    share = request.share
    if share is None:
        return WHOLE_PERCENT, dict(each)
    amounts = share.amounts
    if share.memory_percent is not None:
        amounts[MEMORY] = each.get(MEMORY, 0) * share.memory_percent // WHOLE_PERCENT
    if share.percent is not None:
        of_all = {} if request.type == GPU else each
        rest = {name: all_ * share.percent // WHOLE_PERCENT for name, all_ in of_all.items()}
        return share.percent, rest | amounts
    parts = (WHOLE_PERCENT * a // each[name] for name, a in amounts.items() if each.get(name))
    return max(parts, default=0), amounts


def _pages(page_bytes: int) -> str:
    return f"hugepages-{format_bytes(page_bytes)}"


def _extended(name: str) -> str:
    return f"extended/{name}"


def _of(device_type: str) -> str:
    """Return the prefix of the classes for a device type's quantities."""
    return f"{device_type}."
