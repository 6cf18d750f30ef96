"""Totals and free quotas of every class of every node, encoded and versioned (B9, B15).

A scheduler reads them, or a copy of them. To keep a copy up to date, ask for what has changed
since its version. The words of a node are encoded when they are asked for, so the encoding is
always fresh.

Classes are named ``gpu``, ``memory``, ``gpu.memory``. Those with the same name before the
dot are quantities of the same devices, so a request for several of them is met only by devices
that have all of it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from placer.quota.filter import ClassRequest, NodeMask, SortedFreeQuotas, decode_class_quotas
from placer_models.quota import BitPackedQuotas, IllegalQuotaError, bits_per_quota

DeviceQuotas = tuple[int, ...]
"""A quota for each device of a class, device 1 first."""


@dataclass(frozen=True, slots=True)
class DeviceQuotasOfClassOnNode:
    """One class of one node.

    Attributes:
        total: The total of each device.
        free: What is left on each device; a device that is broken or overfull has 0.

    Raises:
        IllegalQuotaError: More is free than there is, or the two are not of the same devices.

    """

    total: DeviceQuotas
    free: DeviceQuotas

    def __post_init__(self) -> None:
        if len(self.total) != len(self.free):
            raise IllegalQuotaError(f"{len(self.total)} totals and {len(self.free)} free quotas")
        for device, (total, free) in enumerate(zip(self.total, self.free, strict=True), start=1):
            if not 0 <= free <= total:
                raise IllegalQuotaError(f"device {device}: {free} is free of {total}")

    @property
    def used(self) -> DeviceQuotas:
        """How much of each device is in use."""
        return tuple(total - free for total, free in zip(self.total, self.free, strict=True))


@dataclass(frozen=True, slots=True)
class EncodedClassQuotasOnNode:
    """One class of one node as it is synchronised (B9); both parts have fields of one width."""

    total: BitPackedQuotas
    free: BitPackedQuotas


@dataclass(frozen=True, slots=True)
class QuotaChangesSinceVersion:
    """The changes since a version.

    Attributes:
        version: The version of the store now: ask with it the next time.
        nodes: Node -> class -> its encoded quotas, for each node that was added or has changed;
            with all classes of the node.
        gone: Nodes that were removed.

    """

    version: int
    nodes: Mapping[str, Mapping[str, EncodedClassQuotasOnNode]]
    gone: tuple[str, ...]


class QuotaStore:
    """The classes of all nodes, as last reported to it.

    Several threads must not change it at once.
    """

    def __init__(self) -> None:
        """Begin without nodes."""
        self._nodes: dict[str, dict[str, DeviceQuotasOfClassOnNode]] = {}
        self._changed: dict[str, int] = {}
        self._gone: dict[str, int] = {}
        self._bits: dict[str, int] = {}
        self._columns: dict[str, tuple[int, SortedFreeQuotas]] = {}
        self.version = 0
        """The number of changes so far."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes in the order in which they were added; `passing` answers in this order."""
        return tuple(self._nodes)

    def collect(self, node: str, classes: Mapping[str, DeviceQuotasOfClassOnNode]) -> None:
        """Record what a node has, in place of what was known of it.

        A quota that needs more bits than any before makes the fields of its class wider on all
        nodes that have the class, so these nodes count as changed.
        """
        if self._nodes.get(node) == dict(classes):
            return
        self.version += 1
        for name, quotas in classes.items():
            bits = bits_per_quota(max(quotas.total, default=0))
            if bits > self._bits.get(name, 0):
                self._bits[name] = bits
                for other, has in self._nodes.items():
                    if name in has:
                        self._changed[other] = self.version
        self._nodes[node] = dict(classes)
        self._changed[node] = self.version
        self._gone.pop(node, None)

    def remove(self, node: str) -> None:
        """Forget a node.

        Raises:
            IllegalQuotaError: There is no such node.

        """
        self._of(node)
        self.version += 1
        del self._nodes[node], self._changed[node]
        self._gone[node] = self.version

    def quotas(self, node: str) -> Mapping[str, DeviceQuotasOfClassOnNode]:
        """Return the classes of a node.

        Raises:
            IllegalQuotaError: There is no such node.

        """
        return MappingProxyType(self._of(node))

    def encoded(self, node: str) -> Mapping[str, EncodedClassQuotasOnNode]:
        """Return the quotas of a node as they are synchronised.

        Raises:
            IllegalQuotaError: There is no such node.

        """
        return {
            name: EncodedClassQuotasOnNode(
                BitPackedQuotas.of(quotas.total, self._bits[name]),
                BitPackedQuotas.of(quotas.free, self._bits[name]),
            )
            for name, quotas in self._of(node).items()
        }

    def changes_since(self, version: int) -> QuotaChangesSinceVersion:
        """Return the changes since a version; since version 0, everything.

        Raises:
            IllegalQuotaError: The store has not reached that version.

        """
        if not 0 <= version <= self.version:
            raise IllegalQuotaError(f"version {version} is not between 0 and {self.version}")
        return QuotaChangesSinceVersion(
            self.version,
            {name: self.encoded(name) for name, at in self._changed.items() if at > version},
            tuple(name for name, at in self._gone.items() if at > version),
        )

    def passing(self, wants: Mapping[str, ClassRequest]) -> NodeMask:
        """Return for each of `nodes` whether every class asked for has enough (B10, B11).

        Raises:
            IllegalQuotaError: Quantities of the same devices are asked for in different counts.

        """
        passing = np.ones(len(self._nodes), np.bool_)
        for names in group_quota_classes_by_device(wants):
            for name in names:
                passing &= self._column(name).passing(wants[name])
            if len(names) > 1:  # the same devices must have all of them
                for index in np.flatnonzero(passing):
                    here = self._nodes[self.nodes[index]]
                    passing[index] = (
                        len(devices_fitting_quota_request(here, names, wants))
                        >= wants[names[0]].count
                    )
        return passing

    def _of(self, node: str) -> dict[str, DeviceQuotasOfClassOnNode]:
        if node not in self._nodes:
            raise IllegalQuotaError(f"there is no node {node!r}")
        return self._nodes[node]

    def _column(self, name: str) -> SortedFreeQuotas:
        """Return the free quotas of a class on all nodes; nodes without it have no devices."""
        version, column = self._columns.get(name, (-1, None))
        if column is None or version != self.version:
            bits = self._bits.get(name, 1)
            none = DeviceQuotasOfClassOnNode((), ())
            free = [has.get(name, none).free for has in self._nodes.values()]
            column = SortedFreeQuotas(
                *decode_class_quotas([BitPackedQuotas.of(quotas, bits) for quotas in free])
            )
            self._columns[name] = self.version, column
        return column


def group_quota_classes_by_device(wants: Mapping[str, ClassRequest]) -> list[tuple[str, ...]]:
    """Return the classes asked for, grouped by the devices that they are quantities of.

    Raises:
        IllegalQuotaError: Quantities of the same devices are asked for in different counts.

    """
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in wants:
        groups[name.partition(".")[0] if "." in name else f"{name} itself"].append(name)
    for names in groups.values():
        counts = {wants[name].count for name in names}
        if len(counts) > 1:
            told = ", ".join(f"{wants[name].count} of {name}" for name in names)
            raise IllegalQuotaError(f"{told}: quantities of the same devices need one count")
    return [tuple(names) for names in groups.values()]


def devices_fitting_quota_request(
    classes: Mapping[str, DeviceQuotasOfClassOnNode],
    names: Sequence[str],
    wants: Mapping[str, ClassRequest],
) -> list[int]:
    """Return the devices (from 1) that have free all that is asked of these classes."""
    if any(name not in classes for name in names):
        return []
    free = zip(*(classes[name].free for name in names), strict=True)
    return [
        device
        for device, amounts in enumerate(free, start=1)
        if all(a >= wants[name].amount for a, name in zip(amounts, names, strict=True))
    ]
