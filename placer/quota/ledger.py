"""Resource management: concrete devices given out and taken back (B14 to B17).

Seed 003 has three parts, and each can be called alone. This is the first: it knows the
quotas of nodes, tells those that keep a copy what has changed (`store`), gives concrete
devices to deployments and takes them back. Scheduling (`filter`, `choose`) reads its free
quotas; deployment asks it for devices when a pod is bound (`QuotaLedger.give_out`), and is
refused resource by resource if something is not there any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from placer.quota.choose import mean_used_fraction_of_device
from placer.quota.filter import ClassRequest
from placer.quota.store import (
    DeviceQuotas,
    DeviceQuotasOfClassOnNode,
    QuotaStore,
    devices_fitting_quota_request,
    group_quota_classes_by_device,
)
from placer_models.policy import DeviceChoicePolicy
from placer_models.quota import IllegalQuotaError


@dataclass(frozen=True, slots=True)
class QuotaGrant:
    """What a deployment was given; `QuotaLedger.take_back` ends it.

    Attributes:
        node: The name of the node.
        devices: Class -> numbers of the devices, from 1, ascending.
        amounts: Class -> how much was taken of each of its devices.

    """

    node: str
    devices: Mapping[str, DeviceQuotas]
    amounts: Mapping[str, int]
    number: int = field(repr=False)


class NotEnoughQuotaError(Exception):
    """A request that a node cannot meet now; nothing was given (B16).

    Attributes:
        node: The node that was asked.
        short: Class -> how many devices have enough free, for each class that is short.

    """

    def __init__(
        self, node: str, wants: Mapping[str, ClassRequest], short: Mapping[str, int]
    ) -> None:
        """Make an error that names each class that is short."""
        self.node, self.short = node, dict(short)
        parts = [
            f"{name}: {wants[name].count} "
            f"with {wants[name].amount} free are asked for, {found} are there"
            for name, found in self.short.items()
        ]
        super().__init__(f"node {node}: {'; '.join(parts)}")


class QuotaLedger:
    """The total quotas of nodes, and what was given out of them.

    Several threads must not change it at once.
    """

    def __init__(self) -> None:
        """Begin without nodes."""
        self.store = QuotaStore()
        """Totals and free quotas, for reading."""
        self._grants: dict[int, QuotaGrant] = {}
        self._last = 0

    def add_node(self, node: str, totals: Mapping[str, Sequence[int]]) -> None:
        """Add a node of which everything is free.

        Raises:
            IllegalQuotaError: The node is there already, or a quota is below 0.

        """
        if node in self.store.nodes:
            raise IllegalQuotaError(f"node {node!r} is there already")
        self.store.collect(
            node,
            {
                name: DeviceQuotasOfClassOnNode(tuple(total), tuple(total))
                for name, total in totals.items()
            },
        )

    def remove_node(self, node: str) -> None:
        """Forget a node of which nothing is given out.

        Raises:
            IllegalQuotaError: There is no such node, or grants on it are not taken back yet.

        """
        held = sum(grant.node == node for grant in self._grants.values())
        if held:
            raise IllegalQuotaError(f"node {node!r} has {held} grants; take them back first")
        self.store.remove(node)

    def give_out(
        self,
        node: str,
        wants: Mapping[str, ClassRequest],
        choice: DeviceChoicePolicy = DeviceChoicePolicy.MOST_USED,
    ) -> QuotaGrant:
        """Choose devices that fit, and take what is asked for from them (B14, B15).

        All classes are given, or none.

        Args:
            node: The node that the pod is bound to.
            wants: Class -> what is asked of it.
            choice: Which of the devices that fit, where there are more than asked for.

        Raises:
            NotEnoughQuotaError: Something is not there any more; the error says what.
            IllegalQuotaError: There is no such node, or quantities of the same devices are asked
                for in different counts.

        """
        here = self.store.quotas(node)
        chosen: dict[str, DeviceQuotas] = {}
        short: dict[str, int] = {}
        for names in group_quota_classes_by_device(wants):
            count = wants[names[0]].count
            devices = devices_fitting_quota_request(here, names, wants)
            if len(devices) < count:
                short |= dict.fromkeys(names, len(devices))
                continue
            if count:
                devices = _in_order([here[name] for name in names], devices, choice)[:count]
            chosen |= dict.fromkeys(names, tuple(sorted(devices)) if count else ())
        if short:
            raise NotEnoughQuotaError(node, wants, short)
        self._last += 1
        amounts = {name: want.amount for name, want in wants.items()}
        grant = QuotaGrant(node, MappingProxyType(chosen), MappingProxyType(amounts), self._last)
        self._grants[grant.number] = grant
        self._add(grant, -1)
        return grant

    def take_back(self, grant: QuotaGrant) -> None:
        """Give back what a grant took (B15).

        Raises:
            IllegalQuotaError: The grant was taken back already, or comes from another ledger.

        """
        if self._grants.get(grant.number) is not grant:
            raise IllegalQuotaError(
                f"the grant on node {grant.node!r} was taken back already, or is not of this ledger"
            )
        del self._grants[grant.number]
        self._add(grant, 1)

    def _add(self, grant: QuotaGrant, sign: int) -> None:
        """Add what a grant holds to the free quotas (sign 1), or subtract it (sign -1)."""
        classes = dict(self.store.quotas(grant.node))
        for name, devices in grant.devices.items():
            if devices:
                quotas = classes[name]
                free = list(quotas.free)
                for device in devices:
                    free[device - 1] += sign * grant.amounts[name]
                classes[name] = DeviceQuotasOfClassOnNode(quotas.total, tuple(free))
        self.store.collect(grant.node, classes)


def _in_order(
    classes: Sequence[DeviceQuotasOfClassOnNode], devices: list[int], choice: DeviceChoicePolicy
) -> list[int]:
    """Return devices, best first, by the part in use, averaged over the classes asked for."""
    sign = 1 if choice is DeviceChoicePolicy.LEAST_USED else -1
    used = {
        device: mean_used_fraction_of_device(
            [quotas.used[device - 1] for quotas in classes],
            [quotas.total[device - 1] for quotas in classes],
        )
        for device in devices
    }
    return sorted(devices, key=lambda device: (sign * used[device], device))
