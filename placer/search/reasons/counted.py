"""Demands that cannot be met, each by itself, as plain counting shows."""

from collections.abc import Callable

from placer.counting.account import Account
from placer.counting.functions import free_functions
from placer.counting.node_resources import NODE_RESOURCES, amount_of, wanted_by
from placer.counting.pools import Pool
from placer.search.reasons.question import Question, has_bound, is_unwanted, lacks_company
from placer_models.device import FunctionSelector
from placer_models.device_share import DeviceShare, room, totals_of
from placer_models.device_strategy import DeviceStrategy
from placer_models.mig import is_instance
from placer_models.node_rules import NODE_RULES
from placer_models.reasons import Demand
from placer_models.shares import ShareableDevice


def lacks(demand: Demand, asked: Question, account: Account) -> bool:
    """Return whether the node cannot give what is demanded, by counting alone.

    True is always right. False is sure only where ``is_counted``.
    """
    look = _LACKS.get(demand.rule)
    return look is not None and look(demand, asked, account)


def is_counted(demand: Demand, asked: Question) -> bool:
    """Return whether counting says all about the demand, beside other counted demands."""
    if demand.rule in _SHARED_OUT:
        of_type = [r for r in asked.spec.requests.devices if r.type == demand.subject]
        return len(of_type) == 1 and demand.subject not in dict(asked.spec.strategies)
    if demand.rule == "mig":  # instances of one GPU overlap
        devices = asked.spec.requests.devices
        return sum(request.count for request in devices if is_instance(request.type)) == 1
    if demand.rule in ("cpu-count", "shared-pool", "be-pool"):
        return not has_bound(asked)
    return demand.rule in _COUNTED


def _breaks_node_rule(demand: Demand, asked: Question, _: Account) -> bool:
    return not NODE_RULES[demand.rule].kept(asked.spec, asked.node)


def _too_few_devices(demand: Demand, asked: Question, account: Account) -> bool:
    kind = demand.subject
    requests = [r for r in asked.spec.requests.devices if r.type == kind]
    whole = sum(r.count for r in requests if r.share is None)
    return whole > [k for k, _ in account.devices.free].count(kind)


def _too_few_shares(demand: Demand, asked: Question, account: Account) -> bool:
    return any(
        r.count > could_share(r.share, demand.subject, account)
        for r in asked.spec.requests.devices
        if r.type == demand.subject and r.share
    )


def _too_few_functions(demand: Demand, asked: Question, account: Account) -> bool:
    wish = dict(asked.spec.functions)[demand.subject]
    return any(
        r.count > could_share(r.share, demand.subject, account, wish)
        for r in asked.spec.requests.devices
        if r.type == demand.subject and r.share
    )


def _not_all(demand: Demand, asked: Question, account: Account) -> bool:
    """Return whether not all devices that a strategy wants are ready."""
    kind = demand.subject
    there = sum(device.type == kind for device in account.devices.healthy)
    (request,) = (r for r in asked.spec.requests.devices if r.type == kind)
    if request.share:
        ready = could_share(request.share, kind, account)
    else:
        ready = sum(k == kind for k, _ in account.devices.free)
    strategy = dict(asked.spec.strategies)[kind]
    return ready < (max(1, there) if strategy is DeviceStrategy.APPLY_FOR_ALL else 1)


def could_share(
    share: DeviceShare,
    kind: str,
    account: Account,
    function: FunctionSelector | None = None,
    most: int = 1,
) -> int:
    """Return how many such shares the devices of the type could give, at most ``most`` each."""
    count, devices = 0, account.devices
    for device in devices.healthy:
        if device.type != kind:
            continue
        key, totals = (device.type, device.minor), totals_of(device)
        left = room(totals) if key in devices.free else devices.shared.get(key)
        if left is not None:
            wanted = function is not None  # an empty selector takes any
            ready = free_functions(device, devices.held_functions) if wanted else ()
            count += ShareableDevice(left, totals, ready).room_for(share, most, function)
    return count


def _too_little(demand: Demand, asked: Question, account: Account) -> bool:
    """Return whether less is left of a resource of nodes than the pod wants."""
    resource = demand.rule, demand.subject
    return wanted_by(asked.spec)[resource] > amount_of(resource, account.resources)


def _too_few_cpus(_: Demand, asked: Question, account: Account) -> bool:
    return asked.spec.requests.cpu_milli > 1000 * len(account.cores.free_cpus)


def _shared_pool_is_short(_: Demand, asked: Question, account: Account) -> bool:
    return _is_short(account.pools.shared, asked)


def _best_effort_pool_is_short(_: Demand, asked: Question, account: Account) -> bool:
    return _is_short(account.pools.best_effort, asked)


def _is_short(pool: Pool, asked: Question) -> bool:
    milli = asked.spec.requests.cpu_milli
    owned = milli // 1000 if asked.spec.qos.owns_cpus else 0
    return (pool.milli_per_cpu * owned or milli) > pool.left_milli or owned >= len(pool.cpus)


def _too_little_memory(_: Demand, asked: Question, account: Account) -> bool:
    free = sum(max(0, amount) for amount in account.memory.bytes_in.values())
    return asked.spec.requests.memory_bytes > free


def _too_few_pages(demand: Demand, asked: Question, account: Account) -> bool:
    size = int(demand.subject)
    free = sum(max(0, n) for (_, of_size), n in account.memory.pages.items() if of_size == size)
    return asked.spec.requests.pages_of(size) > free


_LACKS: dict[str, Callable[[Demand, Question, Account], bool]] = {
    **dict.fromkeys(NODE_RULES, _breaks_node_rule),
    "domain": lambda *_: True,
    "affinity": lambda _, asked, __: lacks_company(asked),
    "anti-affinity": lambda demand, asked, _: bool(demand.word) or is_unwanted(asked),
    "device-count": _too_few_devices,
    "mig": _too_few_devices,
    "device-share": _too_few_shares,
    "device-functions": _too_few_functions,
    "device-strategy": _not_all,
    **dict.fromkeys(NODE_RESOURCES, _too_little),
    "cpu-count": _too_few_cpus,
    "shared-pool": _shared_pool_is_short,
    "be-pool": _best_effort_pool_is_short,
    "memory": _too_little_memory,
    "hugepages": _too_few_pages,
}

_SHARED_OUT = ("device-count", "device-share", "device-functions")

_COUNTED = (
    *NODE_RULES,
    "domain",
    "affinity",
    "anti-affinity",
    *NODE_RESOURCES,
    "memory",
    "hugepages",
)
