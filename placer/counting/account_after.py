"""Accounts after pods have come that own no CPU: what they take, subtracted from what was left.

It equals a fresh count (`account_of`), which looks at every pod that runs on the node.
"""

from collections.abc import Collection, Iterable
from math import gcd

from placer.counting.account import Account, Side
from placer.counting.devices import NONE_FREE, DevicesLeft
from placer.counting.memory import MemoryLeft
from placer.counting.node_resources import with_taken
from placer.counting.pools import Pool, Pools, bound_by
from placer_models.cluster import Node, RunningPod
from placer_models.cpuset import is_same
from placer_models.device import DeviceKey
from placer_models.device_share import ShareAmounts, share_room, share_taken, totals_of
from placer_models.policy import QosClass
from placer_models.relations import goes_on_asking


def account_after(node: Node, account: Account, came: Collection[RunningPod]) -> Account | None:
    """Return what is left on a node once pods have come, or None if that has to be counted anew.

    Args:
        node: The node.
        account: What was left on it.
        came: The pods, none of which ran there.

    """
    if node.mig or node.offered or account.pools.bound:
        return None
    if not all(_takes_plain_amounts(node, account.pools, runner) for runner in came):
        return None
    tenants = dict(account.tenants)
    affine: set[Side] = set()
    for runner in came:
        side = runner.pod.spec, runner.pod.namespace
        tenants[side] = tenants.get(side, 0) + 1
        if goes_on_asking(side[0]):
            affine.add(side)
    return Account(
        cores=account.cores,
        pools=_pools_after(account.pools, came),
        memory=_memory_after(account.memory, came),
        devices=_devices_after(account.devices, came),
        resources=with_taken(account.resources, (runner.pod.spec for runner in came)),
        tenants=tenants,
        affine=account.affine | affine if affine else account.affine,
        offered=False,
    )


def _takes_plain_amounts(node: Node, pools: Pools, runner: RunningPod) -> bool:
    """Return whether a pod floats in its pool, and holds nothing that only a count tells."""
    spec, place = runner.pod.spec, runner.placement
    return (
        not spec.qos.owns_cpus
        and not spec.variants
        and is_same(place.cpuset, pools.of(spec.qos).cpus)
        and not place.hugepages
        and not any(grant.vfs for grant in place.devices)
        and not any(bound_by(node, runner))
    )


def _pools_after(pools: Pools, came: Iterable[RunningPod]) -> Pools:
    milli: dict[QosClass, int] = {}
    for runner in came:
        spec = runner.pod.spec
        milli[spec.qos] = milli.get(spec.qos, 0) + spec.requests.cpu_milli

    def pool(qos: QosClass) -> Pool:
        had = pools.of(qos)
        if qos not in milli:
            return had
        return Pool(had.cpus, had.free, had.milli + milli[qos], True, had.milli_per_cpu)

    return Pools(pool(QosClass.LS), pool(QosClass.BE), pools.bound)


def _memory_after(memory: MemoryLeft, came: Iterable[RunningPod]) -> MemoryLeft:
    left = dict(memory.bytes_in)
    for runner in came:
        for numa_node, amount in runner.placement.memory_bytes:
            left[numa_node] -= amount
    return MemoryLeft(left, memory.pages, gcd(*left.values()))


def _devices_after(devices: DevicesLeft, came: Iterable[RunningPod]) -> DevicesLeft:
    grants = [grant for runner in came for grant in runner.placement.devices]
    if not grants:
        return devices
    free, shared = set(devices.free), dict(devices.shared)
    device_of = {(device.type, device.minor): device for device in devices.healthy}
    for grant in grants:
        key: DeviceKey = grant.type, grant.minor
        if grant.share is None:
            free.discard(key)
            shared.pop(key, None)
        elif key in free or key in shared:
            totals = totals_of(device_of[key])
            had: ShareAmounts = shared.get(key) or share_room(totals)
            # A share that the device cannot give leaves nothing of it.
            taken = share_taken(grant.share, totals) or share_room(totals)
            shared[key] = tuple(max(0, h - t) for h, t in zip(had, taken, strict=True))
            free.discard(key)
    return DevicesLeft(
        devices.healthy, frozenset(free) or NONE_FREE, shared, devices.held_functions
    )
