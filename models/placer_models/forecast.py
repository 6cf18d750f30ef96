"""Forecasts: from pods that have arrived, or are listed, to the demand that is expected."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from placer_models.cluster import Instance, Node
from placer_models.demand import (
    WHOLE_MILLI,
    ExpectedDemand,
    ExpectedShape,
    expected_demand_from_counts,
)
from placer_models.device import GPU
from placer_models.illegal_running import running_pod_counted_as_legal
from placer_models.legal import first_spec_fault
from placer_models.node_affinity import NodeAffinity
from placer_models.pod import PodSpec, pods_of_gangs
from placer_models.policy import QosClass
from placer_models.taints import Toleration, TolerationOperator


def expected_shape_of(spec: PodSpec) -> ExpectedShape | None:
    """Return the shape of a pod of the spec; None if it is illegal, or asks for shares in bytes.

    None, too, if it has neither GPUs nor CPUs of others: BE pods take no CPU from those. A share
    counts by its larger percentage, of compute or of memory. Of a pod with variants the first one
    counts.
    """
    if first_spec_fault(spec) is not None:
        return None
    spec = spec.resolved[0] if spec.variants else spec
    cpu_milli = 0 if spec.qos is QosClass.BE else spec.requests.cpu_milli
    gpus, milli = 0, 0
    for request in spec.requests.devices:
        if request.type != GPU:
            continue
        share = request.share
        each = WHOLE_MILLI
        if share is not None:
            each = 10 * max(share.percent or 0, share.memory_percent or 0)
        gpus, milli = gpus + request.count, max(milli, min(WHOLE_MILLI, each))
    if (gpus and not milli) or not (gpus or cpu_milli):
        return None
    affinity = spec.node_affinity
    required = affinity.required if affinity is not None else ()
    return ExpectedShape(
        cpu_milli,
        gpus,
        milli,
        spec.node_selector,
        NodeAffinity(required) if required else None,
        spec.tolerations,
        spec.requests.memory_bytes,
    )


def whole_node_shape(node: Node) -> ExpectedShape | None:
    """Return the shape of a pod that has all CPUs and GPUs of the empty node, and any will do.

    None for nodes without GPUs.
    """
    has = _capacity(node)
    if not has.gpu_milli:
        return None
    anywhere = (Toleration(operator=TolerationOperator.EXISTS),)
    gpus = has.gpu_milli // WHOLE_MILLI
    return ExpectedShape(has.cpu_milli, gpus, tolerations=anywhere, memory_bytes=has.memory_bytes)


class _Amounts(NamedTuple):
    """What nodes have when they are empty, or what pods ask for."""

    cpu_milli: int
    memory_bytes: int
    gpu_milli: int


def _capacity(node: Node) -> _Amounts:
    """Return what the empty node has; of its GPUs the healthy ones count."""
    cpus = len(node.machine.topology.online - node.reserved_cpus)
    gpus = sum(d.type == GPU and node.is_healthy(d) for d in node.devices)
    memory_bytes = sum(node.memory_bytes_in().values())
    return _Amounts(node.milli_per_cpu * cpus, memory_bytes, gpus * WHOLE_MILLI)


def _type_of(node: Node) -> Hashable:
    """Return what is the same for nodes of the same capacity."""
    facts = (id(node.machine), node.reserved_cpus, node.unhealthy, node.hugepages)
    return *facts, node.mig, node.milli_per_cpu


def _sum_of(rows: Iterable[tuple[int, _Amounts]]) -> _Amounts:
    """Return what so many nodes or pods of each kind have, or ask for, together."""
    cpu = memory = gpu = 0
    for count, each in rows:
        cpu += count * each.cpu_milli
        memory += count * each.memory_bytes
        gpu += count * each.gpu_milli
    return _Amounts(cpu, memory, gpu)


SCARCE_CPU_PERCENT = 98
"""Pods without GPUs are expected where all pods ask for at least so much of the nodes' CPUs by
the time that the GPUs are full. Elsewhere they find CPUs that nobody misses, and to keep some for
them costs about a tenth of a percent of the GPUs."""

SCARCE_MEMORY_PERCENT = 5
"""Memory is looked at where at least so much of all GPUs would be left on nodes whose memory has
ended, if pods come to each node in the same mix. Elsewhere it would only tell nodes apart that are
alike."""


def expected_counts_from_known_pods(
    pods: Mapping[ExpectedShape, int], nodes: Iterable[Node]
) -> Mapping[ExpectedShape, int]:
    """Return what of the pods that are known is expected.

    Pods without GPUs are expected if CPU is scarce, and memory is looked at if that is scarce.

    Args:
        pods: How many pods of each shape are known.
        nodes: The nodes. Whether pods may come there is not looked at.

    """
    asked = _sum_of(
        (count, _Amounts(shape.cpu_milli, shape.memory_bytes, shape.size_milli))
        for shape, count in pods.items()
    )
    if not asked.gpu_milli:
        return {}
    nodes = tuple(nodes)
    of_type = {_type_of(node): node for node in nodes}
    types = Counter(map(_type_of, nodes))
    rows = [(count, _capacity(of_type[key])) for key, count in types.items()]
    all_pods, with_memory = _is_cpu_scarce(asked, rows), _is_memory_scarce(asked, rows)
    expected: Counter[ExpectedShape] = Counter()
    for shape, count in pods.items():
        if shape.gpus or all_pods:
            expected[shape if with_memory else shape.without_memory] += count
    return expected


def _is_cpu_scarce(asked: _Amounts, rows: Iterable[tuple[int, _Amounts]]) -> bool:
    """Return whether all pods ask for most CPUs by the time that the GPUs are full."""
    has = _sum_of(rows)
    asks, there = asked.cpu_milli * has.gpu_milli, asked.gpu_milli * has.cpu_milli
    return 100 * asks >= SCARCE_CPU_PERCENT * there


def _is_memory_scarce(asked: _Amounts, rows: Sequence[tuple[int, _Amounts]]) -> bool:
    """Return whether some nodes, with enough of the GPUs, run out of memory before GPUs."""
    without_memory = sum(
        count * max(0, has.gpu_milli * asked.memory_bytes - has.memory_bytes * asked.gpu_milli)
        for count, has in rows
    )
    of = asked.memory_bytes * _sum_of(rows).gpu_milli
    return without_memory > 0 and 100 * without_memory >= SCARCE_MEMORY_PERCENT * of


ARRIVALS_A_WHOLE_NODE, MOST_WHOLE_NODES = 256, 8
"""For so many pods that arrive, one more for each type of node is imagined that wants all of it;
never fewer than one, nor more than so many."""


def learned_demand(
    arrived: Mapping[ExpectedShape, int],
    arrivals: int,
    nodes: Iterable[Node],
    known: ExpectedDemand | None = None,
) -> ExpectedDemand:
    """Return the demand learned from the pods that arrived.

    To these come imaginary pods for each type of node, which want all of it: so there is some
    demand from the first pod on, and whole nodes stay whole while pods that need them are few.
    With a single one of each type, some draws of the streams let smaller pods take them all.

    Args:
        arrived: How many pods of each shape arrived.
        arrivals: How many pods arrived in all, those without GPUs among them.
        nodes: The nodes.
        known: The demand before, whose streams, length and seed are kept.

    """
    nodes = tuple(nodes)
    counts = Counter(expected_counts_from_known_pods(arrived, nodes))
    imagined = max(1, min(MOST_WHOLE_NODES, arrivals // ARRIVALS_A_WHOLE_NODE))
    types = {_type_of(node): node for node in nodes}
    whole = {shape for node in types.values() if (shape := whole_node_shape(node)) is not None}
    if not any(shape.memory_bytes for shape in counts):
        whole = {shape.without_memory for shape in whole}
    counts.update(dict.fromkeys(whole, imagined))
    demand = expected_demand_from_counts(counts)
    if known is None:
        return demand
    return replace(demand, streams=known.streams, length=known.length, seed=known.seed)


def given_or_learned_demand(instance: Instance) -> ExpectedDemand:
    """Return the demand that an instance gives, else that of all pods that run or wait in it.

    Illegal pods that run are as they are counted.
    """
    if instance.demand is not None:
        return instance.demand
    specs = [pod.spec for pod in pods_of_gangs(instance.gangs)]
    specs += [running_pod_counted_as_legal(runner).pod.spec for runner in instance.running]
    shapes = Counter(shape for spec in specs if (shape := expected_shape_of(spec)) is not None)
    return learned_demand(shapes, len(specs), instance.nodes)
