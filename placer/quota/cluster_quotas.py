"""The quotas of a Scheduler's cluster: which classes its nodes have, and what is free (B9, B15)."""

from collections.abc import Iterator, Sequence

from placer.counting.account import Account
from placer.quota.store import DeviceQuotasOfClassOnNode, QuotaStore
from placer.scheduler import Scheduler
from placer_models.capacity import MEMORY, PERCENT
from placer_models.cluster import Node
from placer_models.device import Device, is_mig_instance
from placer_models.device_share import (
    DeviceCapacity,
    ShareAmounts,
    device_capacity_of,
    whole_device_amounts,
)
from placer_models.quantity import format_bytes


class SchedulerQuotaStore:
    """A store that is kept equal to what a Scheduler counts."""

    def __init__(self) -> None:
        """Begin without nodes."""
        self.store = QuotaStore()
        """Totals and free quotas, for reading."""
        self._seen: dict[str, tuple[Node, Account]] = {}

    def follow(self, scheduler: Scheduler) -> int:
        """Take over what has changed since the last time, and return the store's version."""
        nodes = scheduler.snapshot().instance.nodes
        for name in self._seen.keys() - {node.name for node in nodes}:
            del self._seen[name]
            self.store.remove(name)
        for node in nodes:
            account = scheduler.account_of(node.name)
            seen = self._seen.get(node.name)
            if seen is None or seen[0] is not node or seen[1] is not account:
                self._seen[node.name] = node, account
                self.store.collect(node.name, node_quotas_total_and_left(node, account))
        return self.store.version


def node_quotas_total_and_left(
    node: Node, account: Account
) -> dict[str, DeviceQuotasOfClassOnNode]:
    """Return the classes of a node: what there is, and what the account leaves.

    - ``cpu``: thousandths of a CPU that LSE, LSR and LS pods have left together;
    - ``memory`` in bytes, ``hugepages-2Mi`` in pages, each extended resource in its units;
    - ``gpu`` and each other device type: how many are healthy, and free as a whole;
    - ``gpu.percent``, ``gpu.memory``, ``disk.space`` and each other quantity that devices of
      the type share: device by device, ascending by minor; what is left to shares, in the
      unit of the quantity, memory in bytes. A device that somebody holds whole, that is broken
      or that has none of it, has 0 free; memory is there where a device has a known one.
    """
    return dict(_classes(node, account))


def _classes(node: Node, account: Account) -> Iterator[tuple[str, DeviceQuotasOfClassOnNode]]:
    allocatable = 1000 * len(node.machine.topology.online - node.reserved_cpus)
    yield "cpu", _one(allocatable, account.pools.shared.left_milli)
    yield (
        "memory",
        _one(sum(node.memory_bytes_in().values()), sum(account.memory.bytes_in.values())),
    )
    pages = node.pages_in()
    for size in sorted({size for _, size in pages}):
        total = sum(count for (_, of), count in pages.items() if of == size)
        free = sum(count for (_, of), count in account.memory.pages.items() if of == size)
        yield f"hugepages-{format_bytes(size)}", _one(total, free)
    for name, total in node.extended:
        yield name, _one(total, account.resources["extended", name])
    for kind in sorted(
        {device.type for device in node.devices if not is_mig_instance(device.type)}
    ):
        devices = sorted((d for d in node.devices if d.type == kind), key=lambda d: d.minor)
        yield from _of_devices(kind, devices, account)


def _of_devices(
    kind: str, devices: Sequence[Device], account: Account
) -> Iterator[tuple[str, DeviceQuotasOfClassOnNode]]:
    keys = [(device.type, device.minor) for device in devices]
    healthy = {(device.type, device.minor) for device in account.devices.healthy}
    whole = [key in account.devices.free for key in keys]
    yield kind, _one(len(healthy.intersection(keys)), sum(whole))
    totals = [device_capacity_of(device) for device in devices]
    for name in dict.fromkeys(name for has in totals for name in has.names):
        quotas = DeviceQuotasOfClassOnNode(
            tuple(_amount(has, whole_device_amounts(has), name) for has in totals),
            tuple(
                _amount(
                    has,
                    whole_device_amounts(has) if free else account.devices.shared.get(key),
                    name,
                )
                for has, free, key in zip(totals, whole, keys, strict=True)
            ),
        )
        if any(quotas.total):
            yield f"{kind}.{name}", quotas


def _amount(totals: DeviceCapacity, amounts: ShareAmounts | None, name: str) -> int:
    """Return how much of a quantity the amounts of a device contain, in whole units."""
    if amounts is None or name not in totals.names:
        return 0
    if name == MEMORY and not totals.memory_bytes:
        return 0  # it is counted as one byte where it is not known
    amount = amounts[totals.names.index(name)]
    return amount if name == PERCENT else amount // 100


def _one(total: int, free: int) -> DeviceQuotasOfClassOnNode:
    """Return a class of one dimension; if running pods hold more than there is, 0 is free."""
    return DeviceQuotasOfClassOnNode((total,), (min(total, max(0, free)),))
