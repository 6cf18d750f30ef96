"""Reasons in words, which name the rule first."""

from collections import Counter
from collections.abc import Callable, Sequence

from placer.counting.node_resources import NODE_RESOURCES, wanted_by
from placer.search.reasons.question import labels_of, wanted_where
from placer.search.reasons.spread import OF_OTHERS
from placer.state.fits import BY_CONTAINER
from placer_models.device import GPU
from placer_models.device_share import DeviceShare
from placer_models.device_strategy import DeviceStrategy
from placer_models.node_rules import NODE_RULES
from placer_models.pod import DeviceRequest, PodSpec
from placer_models.policy import AlignmentPolicy, BindPolicy, NodeBindPolicy
from placer_models.quantity import format_bytes
from placer_models.reasons import Blocker, Demand
from placer_models.topology import ARM

GUESSED = "if running pods are on the NUMA nodes that were guessed"

MOST_KINDS = 3
"""The most kinds of blockers told apart; those on fewer nodes are counted together."""


def counts(blockers: Counter[Blocker], spec: PodSpec) -> str:
    """Return what blocks the pod, and on how many nodes; the numbers add up to all nodes."""
    if not blockers:
        return "the instance has no node"
    nodes = blockers.total()
    said: Counter[str] = Counter()
    for blocker, count in blockers.items():
        said[text_of(blocker, spec)] += count
    shown = said.most_common(MOST_KINDS)
    parts = [f"{count} of {nodes} nodes: {text}" for text, count in shown]
    rest = nodes - sum(count for _, count in shown)
    if rest:
        kinds = len(said) - len(shown)
        parts.append(f"{rest} of {nodes} nodes: {kinds} other reason{'s' if kinds > 1 else ''}")
    return "; ".join(parts)


def text_of(blocker: Blocker, spec: PodSpec) -> str:
    """Return what blocks the pod on a node."""
    demand, others = blocker.demand, blocker.others
    text, told = _SAID[demand.rule](demand, others, spec)
    rest = [_brief(other, spec) for other in others if other not in told]
    text = f"{text}, beside {_listed(rest)}" if rest else text
    return f"{text}, {GUESSED}" if blocker.guessed else text


Said = tuple[str, Sequence[Demand]]
"""The text, and the other demands that it tells already."""


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _plain(demand: Demand, _: Sequence[Demand], spec: PodSpec) -> Said:
    """Say how much is asked for."""
    return f"{demand.name} asks {_brief(demand, spec)}", ()


def _of_node(demand: Demand, _: Sequence[Demand], spec: PodSpec) -> Said:
    return f"{demand.rule} {demand.word or NODE_RULES[demand.rule].said(spec)}".rstrip(), ()


def _affinity(demand: Demand, _: Sequence[Demand], spec: PodSpec) -> Said:
    if demand.word:
        return f"affinity {demand.word}, which would have to be with it", ()
    wanted = [t for t in spec.affinity if t.required and not t.apart and not t.inside]
    return f"affinity asks a pod with {wanted_where(wanted)}", ()


def _affinity_inside(_: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    wanted = [t for t in spec.affinity if t.required and not t.apart and t.inside]
    places = " and ".join(dict.fromkeys(term.level.place for term in wanted))
    text = f"affinity asks a pod with {labels_of(wanted)} on each {places} of its CPUs"
    return text, _of("cpu-count", others)


def _anti_affinity(demand: Demand, _: Sequence[Demand], __: PodSpec) -> Said:
    if demand.word:
        return f"anti-affinity asks no pod with {demand.word}", ()
    return "anti-affinity of a pod that is there", ()


def _topology_spread(demand: Demand, _: Sequence[Demand], __: PodSpec) -> Said:
    own = "" if demand.word == OF_OTHERS else "asks "
    return f"topology-spread {own}{demand.word}", ()


def _cpus(demand: Demand, _: Sequence[Demand], spec: PodSpec) -> Said:
    return f"cpu-count asks {_brief(demand, spec)} of its own", ()


def _pool(demand: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    if spec.qos.owns_cpus:
        text = f"{demand.name} needs CPUs that the pod would own, {_own(spec)} of them"
        return text, _of("cpu-count", others)
    milli = spec.requests.cpu_milli
    return f"{demand.name} {f'asks {milli / 1000:g} CPUs' if milli else 'is empty'}", ()


def _functions(demand: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    kind = demand.subject
    text = f"device-functions asks a virtual function of {spec.requests.count_of(kind)} {kind}"
    return text, [other for other in others if other.subject == kind]


def _scope(demand: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    kind = demand.subject
    count = spec.requests.count_of(kind)
    text = f"device-scope asks {count} {kind} within one {demand.word}"
    return text, [other for other in others if other.subject == kind]


def _partition(_: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    text = f"partition asks a free one of {spec.requests.count_of(GPU)} gpu"
    return text, [other for other in others if other.subject == GPU]


def _joint(_: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    assert spec.joint is not None
    strategies = dict(spec.strategies)
    types = [
        f"one {kind} for each group" if kind in strategies else f"{count} {kind}"
        for kind in spec.joint.types
        if (count := spec.requests.count_of(kind))
        and strategies.get(kind) is not DeviceStrategy.APPLY_FOR_ALL
    ]
    text = f"joint asks {_listed(types)} side by side ({spec.joint.scope})"
    return text, [other for other in others if other.subject in spec.joint.types]


def _arm(_: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    if spec.constrained_burst:
        burst = _of("constrained-burst", others)
        return f"arm-cpu-policy: {ARM} takes FullPCPUs, not ConstrainedBurst", burst
    if exclusive := _of("exclusive-cores", others):
        return f"arm-cpu-policy: {ARM} takes NUMANodeLevel, not PCPULevel", exclusive
    text = f"arm-cpu-policy: {ARM} takes FullPCPUs, not SpreadByPCPUs"
    return text, _of("node-cpu-bind", others)


def _node_bind(demand: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    if of_pod := _of("cpu-bind", others):
        return f"node-cpu-bind: pod asks {spec.bind}, node has {demand.word}", of_pod
    full = demand.word == NodeBindPolicy.FULL_PCPUS_ONLY
    return _bound("node-cpu-bind", others, spec, full=full)


def _bind(_: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    return _bound("cpu-bind", others, spec, full=spec.bind is BindPolicy.FULL_PCPUS)


def _bound(rule: str, others: Sequence[Demand], spec: PodSpec, *, full: bool) -> Said:
    policy = BindPolicy.FULL_PCPUS if full else BindPolicy.SPREAD_BY_PCPUS
    how = "in whole cores, to the very count" if full else "each on a core of its own"
    return f"{rule} {policy} asks {_own(spec)} CPUs {how}", _of("cpu-count", others)


def _apart(demand: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    text = f"{demand.name} asks {_own(spec)} CPUs apart from other pods"
    return text, _of("cpu-count", others)


def _anti_affinity_inside(_: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    apart = [term for term in spec.affinity if term.required and term.apart and term.inside]
    whom = f"pods with {labels_of(apart)}" if apart else "pods that keep away from it"
    text = f"anti-affinity asks {_own(spec)} CPUs apart from {whom}"
    return text, _of("cpu-count", others)


def _burst(_: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    if spec.qos.owns_cpus:
        text = f"constrained-burst needs CPUs that the pod would own, {_own(spec)} of them"
        return text, _of("cpu-count", others)
    if pool := _of("shared-pool", others):
        return f"constrained-burst asks {spec.requests.cpu_milli / 1000:g} CPUs on NUMA nodes", pool
    return f"constrained-burst asks {_limit(spec)}", ()


def _limit(spec: PodSpec) -> str:
    """Return what a pod under ConstrainedBurst wants of NUMA nodes."""
    return f"a pool of {spec.burst_cpus} CPUs"


def _alignment(demand: Demand, others: Sequence[Demand], spec: PodSpec) -> Said:
    policy = demand.word.removesuffix(BY_CONTAINER)
    each = demand.word.removeprefix(policy)
    if each:
        for rule, what in (
            ("device-share", "shares of devices"),
            ("device-strategy", "devices by a strategy"),
        ):
            if told := _of(rule, others):
                return f"alignment: {what} are not parted among containers", told
    limit = () if spec.qos.owns_cpus else ("constrained-burst",)
    amounts = [other for other in others if other.rule in (*_AMOUNTS, *limit)]
    if not amounts:
        return f"alignment: {demand.word}", ()
    wanted = _listed([_brief(other, spec) for other in amounts])
    match policy:
        case AlignmentPolicy.SINGLE_NUMA_NODE:
            how = "on one NUMA node"
        case AlignmentPolicy.RESTRICTED:
            how = "on the same NUMA nodes, as few as each needs (Restricted)"
        case _:
            how = policy
    return f"alignment asks {wanted} {how}{each}", amounts


def _of(rule: str, others: Sequence[Demand], subject: str = "") -> list[Demand]:
    return [o for o in others if o.rule == rule and subject in ("", o.subject)]


def _own(spec: PodSpec) -> int:
    return spec.requests.cpu_milli // 1000


_SAID: dict[str, Callable[[Demand, Sequence[Demand], PodSpec], Said]] = {
    **dict.fromkeys(NODE_RULES, _of_node),
    "domain": lambda demand, *_: (f"domain: belongs to no {demand.word}", ()),
    "gather": lambda demand, *_: (f"gather asks the {demand.word} of its gang", ()),
    "spread": lambda demand, *_: (f"spread asks {demand.word}", ()),
    "multiples": lambda demand, *_: (f"multiples asks {demand.word}", ()),
    "affinity": _affinity,
    "anti-affinity": _anti_affinity,
    "topology-spread": _topology_spread,
    "device-count": _plain,
    "mig": _plain,
    "device-share": _plain,
    "device-functions": _functions,
    "device-strategy": _plain,
    **dict.fromkeys(NODE_RESOURCES, _plain),
    "cpu-count": _cpus,
    "shared-pool": _pool,
    "be-pool": _pool,
    "memory": _plain,
    "hugepages": _plain,
    "device-scope": _scope,
    "partition": _partition,
    "joint": _joint,
    "cpu-bind": _bind,
    "node-cpu-bind": _node_bind,
    "arm-cpu-policy": _arm,
    "exclusive-cores": _apart,
    "exclusive-numa-nodes": _apart,
    "affinity inside": _affinity_inside,
    "anti-affinity inside": _anti_affinity_inside,
    "bound-pool": _pool,
    "constrained-burst": _burst,
    "alignment": _alignment,
}

_AMOUNTS = (
    "device-count",
    "mig",
    "device-share",
    "device-strategy",
    *NODE_RESOURCES,
    "cpu-count",
    "shared-pool",
    "be-pool",
    "memory",
    "hugepages",
)


def _brief(demand: Demand, spec: PodSpec) -> str:
    """Return what is demanded, without the rule where it is an amount; of variants all of it."""
    if spec.variants and demand.rule in _OF_DEVICES:
        told = (_brief(demand, one) for one in spec.resolved if _asks_by(demand, one))
        return " or ".join(dict.fromkeys(told))
    requests, subject = spec.requests, demand.subject
    of_type = [request for request in requests.devices if request.type == subject]
    match demand.rule:
        case "cpu-count":
            return f"{_own(spec)} CPUs"
        case "shared-pool" | "be-pool" if not spec.qos.owns_cpus:
            return f"{requests.cpu_milli / 1000:g} CPUs"
        case "constrained-burst" if not spec.qos.owns_cpus:
            return _limit(spec)
        case "memory":
            return format_bytes(requests.memory_bytes)
        case "hugepages":
            return f"{requests.pages_of(int(subject))} of {format_bytes(int(subject))}"
        case rule if rule in NODE_RESOURCES:
            return NODE_RESOURCES[rule].told(subject, wanted_by(spec)[rule, subject])
        case "device-count" | "mig":
            return f"{sum(r.count for r in of_type if not r.share)} {subject}"
        case "device-share":
            return _listed([_share(request) for request in of_type if request.share])
        case "device-strategy":
            shares = [f"{share_text(r.share)} of " for r in of_type if r.share]
            what = f"{demand.word} {subject}" if demand.word else f"one {subject} for each group"
            return f"{''.join(shares)}{what}"
        case _:
            return " ".join(filter(None, (demand.name, subject, demand.word)))


_OF_DEVICES = ("device-count", "mig", "device-share")


def _asks_by(demand: Demand, spec: PodSpec) -> bool:
    """Return whether a pod asks for devices of the demanded type by this rule."""
    of_type = (request for request in spec.requests.devices if request.type == demand.subject)
    return any(bool(request.share) is (demand.rule == "device-share") for request in of_type)


def _share(request: DeviceRequest) -> str:
    assert request.share is not None
    return f"{share_text(request.share)} of {request.count} {request.type}"


def share_text(share: DeviceShare) -> str:
    """Return in words what a share takes of a device."""
    parts = [f"{share.percent} %"] if share.percent is not None else []
    if share.memory_bytes is not None:
        parts.append(f"{format_bytes(share.memory_bytes)} of memory")
    if share.memory_percent is not None:
        parts.append(f"{share.memory_percent} % of the memory")
    parts += [f"{quantity.text} of {quantity.name}" for quantity in share.capacity]
    return " and ".join(parts)
