"""Questions with less asked: each rule taken out of the words of pods and nodes."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from placer.counting.node_resources import NODE_RESOURCES
from placer.search.reasons.question import Question
from placer_models.affinity import AffinityTerm
from placer_models.bound import bound_to, naming_homes
from placer_models.cluster import RunningPod
from placer_models.cpuset import CpuSet
from placer_models.device_strategy import DeviceStrategy
from placer_models.node_rules import NODE_RULES
from placer_models.pod import DeviceRequest, PodSpec, Resources
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    NodeBindPolicy,
    QosClass,
    Strength,
)
from placer_models.reasons import Demand

_NOWHERE: CpuSet = frozenset()


def without(asked: Question, demands: Iterable[Demand]) -> Question:
    """Return the question without what the demands ask for.

    A pod that fits a question also fits it with less asked. What means nothing without a
    demand is dropped along with it.
    """
    for demand in reversed(list(demands)):  # the limit of a burst goes before its pool
        asked = _WITHOUT[demand.rule](asked, demand)
    return asked


def _no_node_rule(asked: Question, demand: Demand) -> Question:
    spec, node = NODE_RULES[demand.rule].dropped(asked.spec, asked.node)
    return replace(asked, spec=spec, node=node)


def _no_levels(asked: Question, _: Demand) -> Question:
    return replace(asked, levels=())


def _no_affinity(asked: Question, drops: Callable[[AffinityTerm], bool]) -> Question:
    """Drop terms of the pod, and of the pods that run there as well."""

    def kept(spec: PodSpec) -> PodSpec:
        terms = tuple(term for term in spec.affinity if not drops(term))
        return spec if terms == spec.affinity else replace(spec, affinity=terms)

    running = tuple(
        replace(runner, pod=replace(runner.pod, spec=kept(runner.pod.spec)))
        for runner in asked.running
    )
    return replace(asked, spec=kept(asked.spec), running=running)


def _with_amounts(asked: Question, change: Callable[[Resources], Resources]) -> Question:
    containers = tuple(
        replace(container, requests=change(container.requests))
        for container in asked.spec.containers
    )
    return replace(asked, spec=replace(asked.spec, containers=containers))


def _no_devices(asked: Question, demand: Demand) -> Question:
    """Drop what the demand asks of a type of device."""
    whole = demand.rule in ("device-count", "mig")

    def stays(request: DeviceRequest) -> bool:
        parted = demand.rule != "device-strategy" and (request.share is None) is not whole
        return request.type != demand.subject or parted

    return replace(asked, spec=_with_devices(asked.spec, stays))


def _with_devices(spec: PodSpec, stays: Callable[[DeviceRequest], bool]) -> PodSpec:
    """Return the spec with less asked of devices; devices that follow others go with them."""
    asked = [r for container in spec.containers for r in container.requests.devices if stays(r)]
    left = {request.type for request in asked}
    leads = spec.joint is not None and spec.joint.types[0] in left
    gone = {
        kind
        for kind, strategy in spec.strategies
        if strategy is DeviceStrategy.APPLY_FOR_EACH_GROUP and not leads
    }
    left -= gone
    shared = {request.type for request in asked if request.share} - gone
    containers = tuple(
        replace(
            container,
            requests=replace(
                container.requests,
                devices=tuple(
                    r for r in container.requests.devices if stays(r) and r.type not in gone
                ),
            ),
        )
        for container in spec.containers
    )
    return replace(
        spec,
        containers=containers,
        strategies=tuple(item for item in spec.strategies if item[0] in left),
        scopes=tuple(item for item in spec.scopes if item[0] in left),
        functions=tuple(item for item in spec.functions if item[0] in shared),
    )


def _no_functions(asked: Question, demand: Demand) -> Question:
    functions = tuple(wish for wish in asked.spec.functions if wish[0] != demand.subject)
    return replace(asked, spec=replace(asked.spec, functions=functions))


def _no_resource(asked: Question, demand: Demand) -> Question:
    dropped = NODE_RESOURCES[demand.rule].dropped
    spec, node = dropped(asked.spec, asked.node, demand.subject)
    return replace(asked, spec=spec, node=node)


def _no_cpus(asked: Question, _: Demand) -> Question:
    return _with_amounts(asked, lambda r: replace(r, cpu_milli=0))


def _no_shared_pool(asked: Question, _: Demand) -> Question:
    return _no_pool(asked, QosClass.LS)


def _no_best_effort_pool(asked: Question, _: Demand) -> Question:
    return _no_pool(asked, QosClass.BE)


def _no_pool(asked: Question, qos: QosClass) -> Question:
    """Drop the need for a pool: of the pod itself, or of the pods that run there.

    A pod without that need counts as an owner of no CPUs instead. Bound pods keep theirs.
    """
    if asked.spec.qos is qos:
        asked = _no_cpus(asked, Demand("cpu-count"))
        if asked.spec.constrained_burst:
            return asked
        none = replace(
            asked.spec,
            qos=QosClass.LSR,
            bind=BindPolicy.DEFAULT,
            exclusive=ExclusivePolicy.NONE,
        )
        return replace(asked, spec=none, node=replace(asked.node, cpu_bind=NodeBindPolicy.NONE))

    def freed(runner: RunningPod) -> RunningPod:
        spec = runner.pod.spec
        if spec.qos is not qos or bound_to(runner.placement, spec, asked.node):
            return runner
        return replace(
            runner,
            pod=replace(runner.pod, spec=replace(spec, qos=QosClass.LSR, constrained_burst=False)),
            placement=replace(runner.placement, cpuset=_NOWHERE),
        )

    return replace(asked, running=tuple(map(freed, asked.running)))


def _no_memory(asked: Question, _: Demand) -> Question:
    return _with_amounts(asked, lambda r: replace(r, memory_bytes=0))


def _no_pages(asked: Question, demand: Demand) -> Question:
    size = int(demand.subject)
    return _with_amounts(
        asked,
        lambda r: replace(r, hugepages=tuple(h for h in r.hugepages if h.page_bytes != size)),
    )


def _no_scope(asked: Question, demand: Demand) -> Question:
    scopes = tuple(scope for scope in asked.spec.scopes if scope[0] != demand.subject)
    return replace(asked, spec=replace(asked.spec, scopes=scopes))


def _no_partition(asked: Question, _: Demand) -> Question:
    return replace(asked, node=replace(asked.node, partition_policy=None))


def _no_joint(asked: Question, _: Demand) -> Question:
    """Make it a wish, not nothing: other devices may follow those that are side by side."""
    joint = asked.spec.joint and replace(asked.spec.joint, strength=Strength.PREFERRED)
    return replace(asked, spec=replace(asked.spec, joint=joint))


def _no_arm(asked: Question, _: Demand) -> Question:
    machine = asked.node.machine
    elsewhere = replace(machine, topology=replace(machine.topology, architecture="x86_64"))
    return replace(asked, node=replace(asked.node, machine=elsewhere))


def _no_node_bind(asked: Question, _: Demand) -> Question:
    return replace(asked, node=replace(asked.node, cpu_bind=NodeBindPolicy.NONE))


def _no_bind(asked: Question, _: Demand) -> Question:
    return replace(asked, spec=replace(asked.spec, bind_strength=Strength.PREFERRED))


def _not_exclusive(asked: Question, _: Demand) -> Question:
    return replace(asked, spec=replace(asked.spec, exclusive=ExclusivePolicy.NONE))


def _no_burst(asked: Question, _: Demand) -> Question:
    """Drop the burst limit of the pod, or of the pods that run there."""

    def freed(runner: RunningPod) -> RunningPod:
        if not runner.pod.spec.constrained_burst:
            return runner
        spec = replace(runner.pod.spec, constrained_burst=False)
        return _floating(replace(runner, pod=replace(runner.pod, spec=spec)))

    if asked.spec.constrained_burst:
        # Restricted counts the limit: with the request alone it may allow other sets of NUMA nodes.
        if AlignmentPolicy.RESTRICTED in (asked.spec.alignment, asked.node.alignment):
            asked = _not_aligned(asked, Demand("alignment"))
        return replace(asked, spec=replace(asked.spec, constrained_burst=False))
    return replace(asked, running=tuple(map(freed, asked.running)))


def _not_bound(asked: Question, _: Demand) -> Question:
    """Let pods float that a policy has bound to some NUMA nodes of the node."""
    running = (r if r.pod.spec.constrained_burst else _floating(r) for r in asked.running)
    return replace(asked, running=tuple(running))


def _floating(runner: RunningPod) -> RunningPod:
    if runner.pod.spec.qos.owns_cpus:
        return runner
    parts = tuple(replace(part, cpu_milli=None) for part in runner.placement.containers)
    return replace(runner, placement=replace(runner.placement, cpu_milli=(), containers=parts))


def _not_aligned(asked: Question, _: Demand) -> Question:
    """Drop the policy that the pod would come under; who runs there stays bound as it is."""
    running = (replace(r, placement=naming_homes(r, asked.node)) for r in asked.running)
    return replace(
        asked,
        spec=replace(asked.spec, alignment=AlignmentPolicy.NONE, scope=None),
        node=replace(asked.node, alignment=AlignmentPolicy.NONE, scope=None),
        running=tuple(running),
    )


_WITHOUT: dict[str, Callable[[Question, Demand], Question]] = {
    **dict.fromkeys(NODE_RULES, _no_node_rule),
    "domain": _no_levels,
    "affinity": lambda q, _: _no_affinity(q, lambda t: not t.inside and not t.apart),
    "anti-affinity": lambda q, _: _no_affinity(q, lambda t: not t.inside and t.apart),
    "device-count": _no_devices,
    "mig": _no_devices,
    "device-share": _no_devices,
    "device-functions": _no_functions,
    "device-strategy": _no_devices,
    **dict.fromkeys(NODE_RESOURCES, _no_resource),
    "cpu-count": _no_cpus,
    "shared-pool": _no_shared_pool,
    "be-pool": _no_best_effort_pool,
    "memory": _no_memory,
    "hugepages": _no_pages,
    "device-scope": _no_scope,
    "partition": _no_partition,
    "joint": _no_joint,
    "arm-cpu-policy": _no_arm,
    "node-cpu-bind": _no_node_bind,
    "cpu-bind": _no_bind,
    "exclusive-cores": _not_exclusive,
    "exclusive-numa-nodes": _not_exclusive,
    "affinity inside": lambda q, _: _no_affinity(q, lambda t: t.inside and not t.apart),
    "anti-affinity inside": lambda q, _: _no_affinity(q, lambda t: t.inside and t.apart),
    "bound-pool": _not_bound,
    "constrained-burst": _no_burst,
    "alignment": _not_aligned,
}
