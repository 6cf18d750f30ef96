"""Matches of claims' requests: the devices, node by node, that a request can be given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from placer.kubernetes.device_pools import PublishedDevicesOfDump, PublishedNodeDevice
from placer.kubernetes.objects import ClusterObjects
from placer_models.device import is_mig_instance
from placer_models.kubernetes.device_selector import (
    CelSelector,
    UnsupportedDeviceSelectorError,
    device_meets_selectors,
    read_cel_selector,
)
from placer_models.kubernetes.listed_devices import CPU_TYPES
from placer_models.kubernetes.resource_claim import ClaimDeviceRequest


@dataclass(frozen=True)  # without slots, because it caches what nodes have
class ClaimRequestMatchesByNode:
    """The devices that a request can be given.

    Attributes:
        nodes: Name of a node -> its devices that match, all of one type.
        chosen: Those of these nodes where other devices of that type do not match.
        partly: Nodes where only some devices of a type match that nobody can tell from the
            others, or devices of several types.
        faulty: Nodes with a device for which a selector is an error.
        apart: Reasons why devices that match are given to nobody.
        lacks: What Placer cannot express of the request; may be empty.
        missing: What the request names that is not there; may be empty.

    """

    nodes: Mapping[str, tuple[PublishedNodeDevice, ...]] = field(default_factory=dict)
    chosen: frozenset[str] = frozenset()
    partly: tuple[str, ...] = ()
    faulty: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    lacks: str = ""
    missing: str = ""

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the nodes."""
        return frozenset(self.nodes)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Types of the devices, ascending."""
        return tuple(sorted({devices[0].device.type for devices in self.nodes.values()}))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The different numbers of devices that nodes have, ascending."""
        return tuple(sorted({len(devices) for devices in self.nodes.values()}))

    @cached_property
    def values(self) -> dict[str, dict[str, frozenset[object]]]:
        """Attribute -> name of a node -> its values there; None for devices without it."""
        return {}

    @cached_property
    def on_numa_nodes(self) -> frozenset[str]:
        """Names of the nodes where the NUMA node of every device is known."""
        placed = {n: [one.device.numa_node for one in found] for n, found in self.nodes.items()}
        return frozenset(n for n, numa_nodes in placed.items() if None not in numa_nodes)

    def values_of(self, attribute: str) -> Mapping[str, frozenset[object]]:
        """Return name of a node -> the values of an attribute; None for devices without it."""
        if attribute not in self.values:
            self.values[attribute] = {
                name: frozenset(_value(device, attribute) for device in devices)
                for name, devices in self.nodes.items()
            }
        return self.values[attribute]


def _value(device: PublishedNodeDevice, attribute: str) -> object:
    value = device.listed.attributes.get(attribute)
    return None if value is None else (type(value), value)


class ClaimRequestMatchCache:
    """Matches of requests, each worked out once."""

    def __init__(self, objects: ClusterObjects, pools: PublishedDevicesOfDump) -> None:
        self._objects = objects
        self._pools = pools
        self._known: dict[tuple[str, tuple[str, ...]], ClaimRequestMatchesByNode] = {}

    def of(self, request: ClaimDeviceRequest) -> ClaimRequestMatchesByNode:
        """Return the devices that a request can be given."""
        key = request.device_class, request.selectors
        if key not in self._known:
            self._known[key] = self._match(request)
        return self._known[key]

    def _match(self, request: ClaimDeviceRequest) -> ClaimRequestMatchesByNode:
        known = self._objects.device_classes.get(request.device_class)
        if known is None:
            return ClaimRequestMatchesByNode(missing=f"DeviceClass {request.device_class}")
        selectors: list[CelSelector] = []
        for expression in (*known.selectors, *request.selectors):
            try:
                selectors.append(read_cel_selector(expression))
            except UnsupportedDeviceSelectorError as error:
                return ClaimRequestMatchesByNode(
                    lacks=f"the selector {' '.join(expression.split())} ({error})"
                )
        nodes: dict[str, tuple[PublishedNodeDevice, ...]] = {}
        chosen: set[str] = set()
        partly: list[str] = []
        faulty: list[str] = []
        for name, devices in self._pools.on_node.items():
            found = [device_meets_selectors(selectors, one.listed) for one in devices]
            hits = [one for one, hit in zip(devices, found, strict=True) if hit]
            types = {one.device.type for one in hits}
            if None in found:
                faulty.append(name)
            elif len(types) == 1 and len(hits) == self._pools.counts[name, hits[0].device.type]:
                nodes[name] = tuple(hits)
            elif len(types) == 1 and self._can_choose(name, hits[0].device.type):
                nodes[name] = tuple(hits)
                chosen.add(name)
            elif hits:
                partly.append(name)
        others = self._pools.apart.values()
        apart = dict.fromkeys(
            why for listed, why in others if device_meets_selectors(selectors, listed)
        )
        return ClaimRequestMatchesByNode(
            nodes, frozenset(chosen), tuple(partly), tuple(faulty), tuple(apart)
        )

    def _can_choose(self, node: str, kind: str) -> bool:
        """Return whether a pod can have some devices of a type and not the others.

        It gets them as shares of all that they have (`chosen_devices`). CPUs and instances have
        none, and where a Device object lists the devices, others may take shares of them.
        """
        return not (node in self._objects.devices or kind in CPU_TYPES or is_mig_instance(kind))
