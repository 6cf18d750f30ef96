"""Reasons about devices: how many, how much of each, and where they are to be."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from placer.counting.account import Account
from placer.counting.boards import healthy_devices
from placer.counting.functions import free_virtual_function_label_counts
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.rule import (
    AskedAndLeft,
    PerNumaNode,
    ReasonRule,
    Said,
    only_demands_of_device_type,
    rule_demand_key,
)
from placer_models.device import GPU, FunctionSelector, is_mig_instance
from placer_models.device_share import DeviceShare, device_capacity_of, whole_device_amounts
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.message_text import listed_in_sentence
from placer_models.pod import DeviceRequest, PodSpec
from placer_models.policy import RequiredOrPreferred, SameTypeDevicesScope
from placer_models.problem.banks import ShareableDevice
from placer_models.quantity import format_bytes
from placer_models.reasons import RuleDemand


def _counted_by(rule: str) -> Callable[[PodOnNode], Iterable[RuleDemand]]:
    """Return what asks for the requests of devices that a rule counts."""

    def asked(question: PodOnNode) -> Iterator[RuleDemand]:
        for request in question.spec.requests.devices:
            if question.spec.rule_counting(request) == rule:
                yield RuleDemand(rule, request.type, _number_by_strategy(question, request.type))

    return asked


def _number_by_strategy(asked: PodOnNode, kind: str) -> str:
    """Return how many devices of a type a pod's strategy asks of the node, where it says so."""
    if dict(asked.spec.strategies).get(kind) is not DeviceCountStrategy.APPLY_FOR_ALL:
        return ""
    return f"all {len(healthy_devices(asked.node, kind))}"


def _requests(spec: PodSpec, kind: str) -> list[DeviceRequest]:
    return [request for request in spec.requests.devices if request.type == kind]


def _asked_shares(spec: PodSpec, kind: str) -> list[tuple[int, DeviceShare]]:
    """Return each share of devices of a type that is asked for, and of how many devices."""
    return [(one.count, one.share) for one in _requests(spec, kind) if one.share]


def _whole(spec: PodSpec, kind: str) -> int:
    return sum(request.count for request in _requests(spec, kind) if request.share is None)


def _without(
    stays: Callable[[DeviceRequest], bool],
) -> Callable[[PodOnNode, RuleDemand], PodOnNode]:
    """Return what drops those requests of a demand's type that do not stay."""

    def without(asked: PodOnNode, demand: RuleDemand) -> PodOnNode:
        spec = _with_devices(asked.spec, lambda r: r.type != demand.subject or stays(r))
        return replace(asked, spec=spec)

    return without


def _with_devices(spec: PodSpec, stays: Callable[[DeviceRequest], bool]) -> PodSpec:
    """Return the spec with less asked of devices; devices that follow others go with them."""
    asked = [r for container in spec.containers for r in container.requests.devices if stays(r)]
    left = {request.type for request in asked}
    leads = spec.joint is not None and spec.joint.types[0] in left
    gone = {
        kind
        for kind, strategy in spec.strategies
        if strategy is DeviceCountStrategy.APPLY_FOR_EACH_GROUP and not leads
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


def _too_few_devices(demand: RuleDemand, asked: PodOnNode, account: Account) -> bool:
    return _whole(asked.spec, demand.subject) > account.devices.free_count(demand.subject)


def _too_few_shares(
    demand: RuleDemand,
    asked: PodOnNode,
    account: Account,
    function: FunctionSelector | None = None,
) -> bool:
    return any(
        count > count_possible_shares(share, demand.subject, account, function)
        for count, share in _asked_shares(asked.spec, demand.subject)
    )


def _device_amounts(demand: RuleDemand, asked: PodOnNode, account: Account) -> AskedAndLeft:
    kind = demand.subject
    return AskedAndLeft(_whole(asked.spec, kind), account.devices.free_count(kind), kind)


def _share_amounts(demand: RuleDemand, asked: PodOnNode, account: Account) -> AskedAndLeft | None:
    """Return how many devices have to give a share, and how many could."""
    kind = demand.subject
    shares = _asked_shares(asked.spec, kind)
    if len(shares) != 1:
        return None
    ((count, share),) = shares
    left = count_possible_shares(share, kind, account)
    return AskedAndLeft(count, left, f"{kind} with {asked_device_share_text(share)}")


def _share_column(demand: RuleDemand, spec: PodSpec) -> Hashable:
    shares = [share for _, share in _asked_shares(spec, demand.subject)]
    return (demand.rule, demand.subject, *shares) if len(shares) == 1 else None


def _too_few_functions(demand: RuleDemand, asked: PodOnNode, account: Account) -> bool:
    return _too_few_shares(demand, asked, account, dict(asked.spec.functions)[demand.subject])


def _not_all(demand: RuleDemand, asked: PodOnNode, account: Account) -> bool:
    """Return whether not all devices that a strategy wants are ready."""
    kind = demand.subject
    there = sum(device.type == kind for device in account.devices.healthy)
    (request,) = _requests(asked.spec, kind)
    share = request.share
    ready = (
        count_possible_shares(share, kind, account) if share else account.devices.free_count(kind)
    )
    strategy = dict(asked.spec.strategies)[kind]
    return ready < (max(1, there) if strategy is DeviceCountStrategy.APPLY_FOR_ALL else 1)


def count_possible_shares(
    share: DeviceShare,
    kind: str,
    account: Account,
    function: FunctionSelector | None = None,
    most: int = 1,
) -> int:
    """Return how many such shares the devices of the type could give, at most ``most`` each."""
    count, devices = 0, account.devices
    known: dict[ShareableDevice, int] = {}  # most devices of a node are alike
    for device in devices.healthy:
        if device.type != kind:
            continue
        key = device.type, device.minor
        is_free = key in devices.free
        if not (is_free or key in devices.shared):
            continue
        totals = device_capacity_of(device)
        left = whole_device_amounts(totals) if is_free else devices.shared[key]
        wanted = function is not None  # an empty selector takes any
        ready = free_virtual_function_label_counts(device, devices.held_functions) if wanted else ()
        each = ShareableDevice(left, totals, ready)
        room = known.get(each)
        if room is None:
            room = known[each] = each.room_for(share, most, function)
        count += room
    return count


def _is_alone(demand: RuleDemand, asked: PodOnNode) -> bool:
    """Return whether one request is all that is asked of the type, with no strategy."""
    requests = _requests(asked.spec, demand.subject)
    return len(requests) == 1 and demand.subject not in dict(asked.spec.strategies)


def _is_one_instance(_: RuleDemand, asked: PodOnNode) -> bool:
    """Return whether the pod asks for one MIG instance: several of one GPU overlap."""
    requests = asked.spec.requests.devices
    return sum(request.count for request in requests if is_mig_instance(request.type)) == 1


def _per_numa_node(demand: RuleDemand, asked: PodOnNode, account: Account) -> PerNumaNode:
    free = account.devices.free
    left = Counter(
        device.numa_node
        for device in account.devices.healthy
        if device.type == demand.subject and (device.type, device.minor) in free
    )
    return asked.spec.requests.count_of(demand.subject), left


def asked_device_share_text(share: DeviceShare) -> str:
    """Return in words what a share takes of a device."""
    parts = [f"{share.percent} %"] if share.percent is not None else []
    if share.memory_bytes is not None:
        parts.append(f"{format_bytes(share.memory_bytes)} of memory")
    if share.memory_percent is not None:
        parts.append(f"{share.memory_percent} % of the memory")
    parts += [f"{quantity.text} of {quantity.name}" for quantity in share.capacity]
    return " and ".join(parts)


def _count(demand: RuleDemand, spec: PodSpec) -> str:
    return f"{_whole(spec, demand.subject)} {demand.subject}"


def _shares(demand: RuleDemand, spec: PodSpec) -> str:
    return listed_in_sentence(
        [
            f"{asked_device_share_text(share)} of {count} {demand.subject}"
            for count, share in _asked_shares(spec, demand.subject)
        ]
    )


def _by_strategy(demand: RuleDemand, spec: PodSpec) -> str:
    kind = demand.subject
    shares = [f"{asked_device_share_text(share)} of " for _, share in _asked_shares(spec, kind)]
    what = f"{demand.word} {kind}" if demand.word else f"one {kind} for each group"
    return f"{''.join(shares)}{what}"


def _functions(asked: PodOnNode) -> Iterator[RuleDemand]:
    yield from (RuleDemand("device-functions", kind) for kind, _ in asked.spec.functions)


def _without_functions(asked: PodOnNode, demand: RuleDemand) -> PodOnNode:
    functions = tuple(wish for wish in asked.spec.functions if wish[0] != demand.subject)
    return replace(asked, spec=replace(asked.spec, functions=functions))


def _say_functions(demand: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    kind = demand.subject
    text = f"device-functions asks a virtual function of {spec.requests.count_of(kind)} {kind}"
    return text, only_demands_of_device_type(kind, others)


def _scopes(asked: PodOnNode) -> Iterator[RuleDemand]:
    for kind, scope in asked.spec.scopes:
        if scope is not SameTypeDevicesScope.NODE and asked.spec.requests.count_of(kind) > 1:
            yield RuleDemand("device-scope", kind, scope)


def _without_scope(asked: PodOnNode, demand: RuleDemand) -> PodOnNode:
    scopes = tuple(scope for scope in asked.spec.scopes if scope[0] != demand.subject)
    return replace(asked, spec=replace(asked.spec, scopes=scopes))


def _say_scope(demand: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    kind = demand.subject
    count = spec.requests.count_of(kind)
    return (
        f"device-scope asks {count} {kind} within one {demand.word}",
        only_demands_of_device_type(kind, others),
    )


def _partition(asked: PodOnNode) -> Iterator[RuleDemand]:
    if asked.node.honors_table and asked.spec.requests.count_of(GPU):
        yield RuleDemand("partition")


def _say_partition(_: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    text = f"partition asks a free one of {spec.requests.count_of(GPU)} gpu"
    return text, only_demands_of_device_type(GPU, others)


def _joint(asked: PodOnNode) -> Iterator[RuleDemand]:
    joint = asked.spec.joint
    if joint and joint.strength is RequiredOrPreferred.REQUIRED:
        yield RuleDemand("joint", word=joint.scope)


def _without_joint(asked: PodOnNode, _: RuleDemand) -> PodOnNode:
    """Make it a wish, not nothing: other devices may follow those that are side by side."""
    joint = asked.spec.joint and replace(asked.spec.joint, strength=RequiredOrPreferred.PREFERRED)
    return replace(asked, spec=replace(asked.spec, joint=joint))


def _say_joint(_: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    assert spec.joint is not None
    strategies = dict(spec.strategies)
    types = [
        f"one {kind} for each group" if kind in strategies else f"{count} {kind}"
        for kind in spec.joint.types
        if (count := spec.requests.count_of(kind))
        and strategies.get(kind) is not DeviceCountStrategy.APPLY_FOR_ALL
    ]
    text = f"joint asks {listed_in_sentence(types)} side by side ({spec.joint.scope})"
    return text, [other for other in others if other.subject in spec.joint.types]


def _of_variants(
    brief: Callable[[RuleDemand, PodSpec], str], *, shared: bool
) -> Callable[[RuleDemand, PodSpec], str]:
    """Return what tells a demand of a pod that asks for other devices on other nodes: all of it."""

    def told(demand: RuleDemand, spec: PodSpec) -> str:
        if not spec.variants:
            return brief(demand, spec)
        asking = [
            brief(demand, one)
            for one in spec.resolved
            if any(bool(request.share) is shared for request in _requests(one, demand.subject))
        ]
        return " or ".join(dict.fromkeys(asking))

    return told


AMOUNTS = (
    ReasonRule(
        name="device-count",
        asked=_counted_by("device-count"),
        without=_without(lambda request: request.share is not None),
        brief=_of_variants(_count, shared=False),
        lacks=_too_few_devices,
        settles=_is_alone,
        amounts=_device_amounts,
        column=rule_demand_key,
        is_amount=True,
        per_numa_node=_per_numa_node,
    ),
    ReasonRule(
        name="mig",
        asked=_counted_by("mig"),
        without=_without(lambda request: request.share is not None),
        brief=_of_variants(_count, shared=False),
        lacks=_too_few_devices,
        settles=_is_one_instance,
        amounts=_device_amounts,
        is_amount=True,
    ),
    ReasonRule(
        name="device-share",
        asked=_counted_by("device-share"),
        without=_without(lambda request: request.share is None),
        brief=_of_variants(_shares, shared=True),
        lacks=_too_few_shares,
        settles=_is_alone,
        amounts=_share_amounts,
        column=_share_column,
        is_amount=True,
    ),
    ReasonRule(
        name="device-strategy",
        asked=_counted_by("device-strategy"),
        without=_without(lambda _: False),
        brief=_by_strategy,
        lacks=_not_all,
        is_amount=True,
    ),
    ReasonRule(
        name="device-functions",
        asked=_functions,
        without=_without_functions,
        said=_say_functions,
        lacks=_too_few_functions,
        settles=_is_alone,
        needs="device-share",
    ),
)

PLACES = (
    ReasonRule(name="device-scope", asked=_scopes, without=_without_scope, said=_say_scope),
    ReasonRule(
        name="partition",
        of_any_device=True,
        asked=_partition,
        without=lambda asked, _: replace(asked, node=replace(asked.node, partition_policy=None)),
        said=_say_partition,
    ),
    ReasonRule(
        name="joint", of_any_device=True, asked=_joint, without=_without_joint, said=_say_joint
    ),
)
