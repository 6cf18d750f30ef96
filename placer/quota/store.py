"""Totals and free quotas of every class of every node, encoded and versioned (B9, B15).

What a scheduler reads and what is synchronised to it: whoever keeps a copy asks with the
version that it has for what is different since. Words of a node are encoded when they are
asked for, so they are a fresh encoding always.

Classes are named ``gpu``, ``memory``, ``gpu.memory``: those that share what is before the
dot are quantities of the same devices, so a request for several of them is met by devices
that have all of it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from placer.quota.filter import NodeMask, Sorted, Want, quotas_of
from placer_models.quota import EncodedClass, QuotaError, width_of

DeviceQuotas = tuple[int, ...]
"""A quota for each device of a class, device 1 first."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """One class of one node.

    Attributes:
        total: What each device has.
        free: What is left of it; a device that is broken or overfull has 0.

    Raises:
        QuotaError: More is free than there is, or of other devices.

    """

    total: DeviceQuotas
    free: DeviceQuotas

    def __post_init__(self) -> None:
        if len(self.total) != len(self.free):
            raise QuotaError(f"{len(self.total)} totals and {len(self.free)} free quotas")
        for device, (total, free) in enumerate(zip(self.total, self.free, strict=True), start=1):
            if not 0 <= free <= total:
                raise QuotaError(f"device {device}: {free} is free of {total}")

    @property
    def used(self) -> DeviceQuotas:
        """What is in use on each device."""
        return tuple(total - free for total, free in zip(self.total, self.free, strict=True))


@dataclass(frozen=True, slots=True)
class Encoded:
    """One class of one node as it is synchronised (B9); both have the same fields."""

    total: EncodedClass
    free: EncodedClass


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different since a version.

    Attributes:
        version: Of the ledger now: ask with it the next time.
        nodes: Node -> class -> its numbers, of the nodes that changed or came; all classes
            that the node has.
        gone: Nodes that left.

    """

    version: int
    nodes: Mapping[str, Mapping[str, Encoded]]
    gone: tuple[str, ...]


class QuotaStore:
    """The classes of all nodes as they were last told.

    Not safe for threads that change it at once.
    """

    def __init__(self) -> None:
        """Begin without nodes."""
        self._nodes: dict[str, dict[str, Quotas]] = {}
        self._changed: dict[str, int] = {}
        self._gone: dict[str, int] = {}
        self._bits: dict[str, int] = {}
        self._columns: dict[str, tuple[int, Sorted]] = {}
        self.version = 0
        """Counts the changes."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes, in the order in which `passing` answers: as they came."""
        return tuple(self._nodes)

    def collect(self, node: str, classes: Mapping[str, Quotas]) -> None:
        """Take down what a node has, in place of what was known of it.

        A class with a quota larger than any before makes the fields of that class wider on
        all nodes: they count as changed.
        """
        if self._nodes.get(node) == dict(classes):
            return
        self.version += 1
        for name, quotas in classes.items():
            bits = width_of(max(quotas.total, default=0))
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
            QuotaError: There is no such node.

        """
        self._of(node)
        self.version += 1
        del self._nodes[node], self._changed[node]
        self._gone[node] = self.version

    def quotas(self, node: str) -> Mapping[str, Quotas]:
        """Return the classes of a node.

        Raises:
            QuotaError: There is no such node.

        """
        return MappingProxyType(self._of(node))

    def encoded(self, node: str) -> Mapping[str, Encoded]:
        """Return the numbers of a node, as they are synchronised.

        Raises:
            QuotaError: There is no such node.

        """
        return {
            name: Encoded(
                EncodedClass.of(quotas.total, self._bits[name]),
                EncodedClass.of(quotas.free, self._bits[name]),
            )
            for name, quotas in self._of(node).items()
        }

    def changes_since(self, version: int) -> Changes:
        """Return what is different since a version; since 0: everything.

        Raises:
            QuotaError: The store has not come to that version.

        """
        if not 0 <= version <= self.version:
            raise QuotaError(f"version {version} is not between 0 and {self.version}")
        return Changes(
            self.version,
            {name: self.encoded(name) for name, at in self._changed.items() if at > version},
            tuple(name for name, at in self._gone.items() if at > version),
        )

    def passing(self, wants: Mapping[str, Want]) -> NodeMask:
        """Return for each of `nodes` whether every class asked for has enough (B10, B11).

        Raises:
            QuotaError: Quantities of the same devices are asked for in different counts.

        """
        passing = np.ones(len(self._nodes), np.bool_)
        for names in by_device(wants):
            for name in names:
                passing &= self._column(name).passing(wants[name])
            if len(names) > 1:  # the same devices must have all of it
                for index in np.flatnonzero(passing):
                    here = self._nodes[self.nodes[index]]
                    passing[index] = len(fitting(here, names, wants)) >= wants[names[0]].count
        return passing

    def _of(self, node: str) -> dict[str, Quotas]:
        if node not in self._nodes:
            raise QuotaError(f"there is no node {node!r}")
        return self._nodes[node]

    def _column(self, name: str) -> Sorted:
        """Return the free quotas of a class on all nodes; nodes without it have no device."""
        version, column = self._columns.get(name, (-1, None))
        if column is None or version != self.version:
            bits = self._bits.get(name, 1)
            none = Quotas((), ())
            free = [has.get(name, none).free for has in self._nodes.values()]
            column = Sorted(*quotas_of([EncodedClass.of(quotas, bits) for quotas in free]))
            self._columns[name] = self.version, column
        return column


def by_device(wants: Mapping[str, Want]) -> list[tuple[str, ...]]:
    """Return the classes asked for, those of the same devices together.

    Raises:
        QuotaError: They are asked for in different counts.

    """
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in wants:
        groups[name.partition(".")[0] if "." in name else f"{name} itself"].append(name)
    for names in groups.values():
        counts = {wants[name].count for name in names}
        if len(counts) > 1:
            told = ", ".join(f"{wants[name].count} of {name}" for name in names)
            raise QuotaError(f"{told}: quantities of the same devices need one count")
    return [tuple(names) for names in groups.values()]


def fitting(
    classes: Mapping[str, Quotas], names: Sequence[str], wants: Mapping[str, Want]
) -> list[int]:
    """Return the devices (from 1) that have all that is asked of these classes free."""
    if any(name not in classes for name in names):
        return []
    free = zip(*(classes[name].free for name in names), strict=True)
    return [
        device
        for device, amounts in enumerate(free, start=1)
        if all(a >= wants[name].amount for a, name in zip(amounts, names, strict=True))
    ]
