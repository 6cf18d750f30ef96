"""The order of demands, in which what the rules ask for a pod on a node is always named."""

from collections.abc import Iterator

from placer.counting.node_resources import NODE_RESOURCES, wanted_by
from placer.search.reasons.question import Question, unwanted_there, wanted_where
from placer.state.fits import alignment_demanded, device_demanded
from placer_models.bound import bound_to
from placer_models.device import GPU
from placer_models.effective import effective_exclusive
from placer_models.node_rules import NODE_RULES
from placer_models.policy import (
    DeviceScope,
    ExclusivePolicy,
    NodeBindPolicy,
    QosClass,
    Strength,
)
from placer_models.reasons import Demand
from placer_models.topology import ARM

ORDER = (
    *NODE_RULES,
    "domain",
    "gather",
    "spread",
    "multiples",
    "affinity",
    "anti-affinity",
    "device-count",
    "mig",
    "device-share",
    "device-strategy",
    "device-functions",
    *NODE_RESOURCES,
    "cpu-count",
    "shared-pool",
    "be-pool",
    "memory",
    "hugepages",
    "device-scope",
    "partition",
    "joint",
    "cpu-bind",
    "node-cpu-bind",
    "exclusive-cores",
    "exclusive-numa-nodes",
    "affinity inside",
    "anti-affinity inside",
    "bound-pool",
    "constrained-burst",
    "arm-cpu-policy",
    "alignment",
    "topology-spread",
)
"""Every rule that can keep one pod off one node. First what the node is, and who is there;
then amounts, those that few nodes have before those that all have; then what is asked of
the devices, CPUs and places behind the amounts."""


def demands_of(asked: Question) -> tuple[Demand, ...]:
    """Return all that is asked, in ``ORDER``."""
    found = [
        *_of_the_node(asked),
        *_amounts(asked),
        *_of_devices(asked),
        *_of_cpus(asked),
        *_of_places(asked),
    ]
    return tuple(sorted(dict.fromkeys(found), key=lambda demand: ORDER.index(demand.rule)))


def _of_the_node(asked: Question) -> Iterator[Demand]:
    spec = asked.spec
    for rule in NODE_RULES.values():
        if rule.asked(spec, asked.node):
            yield Demand(rule.name, word=rule.word(spec, asked.node))
    missing = [level for level in asked.levels if asked.node.domain(level) is None]
    if missing:
        yield Demand("domain", word=" and no ".join(missing))
    if asked.crowd is None:
        return
    if any(term.required and not term.apart and not term.inside for term in spec.affinity):
        yield Demand("affinity")
    there = [runner for runner in asked.running if runner.pod.spec.affinity]
    if spec.affinity or there or asked.crowd.domains:
        yield Demand("anti-affinity", word=wanted_where(unwanted_there(asked)))


def _amounts(asked: Question) -> Iterator[Demand]:
    spec, requests = asked.spec, asked.spec.requests
    for request in requests.devices:
        yield device_demanded(spec, asked.node, request)
    for rule, name in wanted_by(spec):
        yield Demand(rule, name)
    beside = {runner.pod.spec.qos for runner in asked.running}
    if spec.qos.owns_cpus and requests.cpu_milli:
        yield Demand("cpu-count")
        if QosClass.LS in beside:
            yield Demand("shared-pool")
        if QosClass.BE in beside and spec.qos is QosClass.LSE:
            yield Demand("be-pool")
    if spec.qos is QosClass.LS:
        yield Demand("shared-pool")
    if spec.qos is QosClass.BE:
        yield Demand("be-pool")
    if requests.memory_bytes:
        yield Demand("memory")
    for pages in requests.hugepages:
        yield Demand("hugepages", str(pages.page_bytes))


def _of_devices(asked: Question) -> Iterator[Demand]:
    spec = asked.spec
    for kind, _ in spec.functions:
        yield Demand("device-functions", kind)
    for kind, scope in spec.scopes:
        if scope is not DeviceScope.NODE and spec.requests.count_of(kind) > 1:
            yield Demand("device-scope", kind, scope)
    if asked.node.honors_table and spec.requests.count_of(GPU):
        yield Demand("partition")
    if spec.joint and spec.joint.strength is Strength.REQUIRED:
        yield Demand("joint", word=spec.joint.scope)


def _of_cpus(asked: Question) -> Iterator[Demand]:
    spec, node = asked.spec, asked.node
    on_arm = node.machine.topology.architecture == ARM
    if on_arm and (spec.qos.owns_cpus or spec.constrained_burst):
        yield Demand("arm-cpu-policy")
    if not spec.qos.owns_cpus:
        return
    if node.cpu_bind is not NodeBindPolicy.NONE:
        yield Demand("node-cpu-bind", word=node.cpu_bind)
    if spec.bind_required:
        yield Demand("cpu-bind", word=spec.bind)
    match effective_exclusive(spec, node):
        case ExclusivePolicy.PCPU_LEVEL:
            yield Demand("exclusive-cores")
        case ExclusivePolicy.NUMA_NODE_LEVEL:
            yield Demand("exclusive-numa-nodes")
        case ExclusivePolicy.NONE:
            pass


def _of_places(asked: Question) -> Iterator[Demand]:
    spec, node = asked.spec, asked.node
    if asked.crowd is not None and any(t.inside and not t.apart for t in spec.affinity):
        yield Demand("affinity inside")
    if asked.crowd is not None and any(
        term.inside and term.apart
        for side in (spec, *(runner.pod.spec for runner in asked.running))
        for term in side.affinity
    ):
        yield Demand("anti-affinity inside")
    if spec.constrained_burst:
        yield Demand("constrained-burst")
    if spec.qos.owns_cpus:
        beside = [r for r in asked.running if bound_to(r.placement, r.pod.spec, node)]
        if not all(r.pod.spec.constrained_burst for r in beside):
            yield Demand("bound-pool")
        if any(r.pod.spec.constrained_burst for r in beside):
            yield Demand("constrained-burst")
    if (aligned := alignment_demanded(spec, node)) is not None:
        yield aligned
