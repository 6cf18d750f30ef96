"""Devices that drivers publish, node by node: complete pools of the newest generation."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from placer.kubernetes.cpu_devices import CpuGroupDevice, cpu_group_devices
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.summary import DumpSummary
from placer_models.cpuset import CpuSet
from placer_models.device import GPU, Device
from placer_models.kubernetes.device import KubeKoordinatorDevice
from placer_models.kubernetes.device_attributes import ResourceSliceDevice
from placer_models.kubernetes.listed_devices import (
    CPU_DRIVER,
    CPU_GROUP,
    CPU_IDS,
    CPU_TYPES,
    device_completed_by_driver,
    device_from_resource_slice,
    is_cpu_group_device,
    is_same_device,
    listed_device_as_cpu,
    listed_device_type,
    minors_from_device_names,
)
from placer_models.kubernetes.node_access import DeviceAccessNodeSelector
from placer_models.kubernetes.object_fields import KubeObjectIdentity, KubernetesObjectError
from placer_models.kubernetes.resource_slice import MULTIPLE, KubeResourceSlice
from placer_models.kubernetes.topology import KubeNodeResourceTopology

_PoolKey = tuple[str, str, str]
"""Driver, pool, name of a device."""

Listed = tuple[_PoolKey, ResourceSliceDevice, str]
"""A device, and the title of the slice that lists it."""


@dataclass(frozen=True, slots=True)
class PublishedNodeDevice:
    """A device of a node that a driver publishes."""

    key: _PoolKey
    node: str
    listed: ResourceSliceDevice
    device: Device


@dataclass(slots=True)
class PublishedDevicesOfDump:
    """The devices that drivers publish.

    Attributes:
        on_node: Name of a node -> its devices that can be given out.
        by_key: The same devices by key.
        apart: Key -> a device that is given to nobody, and why.
        cpus: Name of a node -> CPUs that a driver gives out.
        several_cpus: Key of a device of several CPUs -> what is known of it.
        counts: (Name of a node, type) -> how many devices the node has, including those that
            no driver publishes.
        notes: What is ignored -> the objects that have it.

    """

    on_node: dict[str, list[PublishedNodeDevice]] = field(default_factory=dict)
    by_key: dict[_PoolKey, PublishedNodeDevice] = field(default_factory=dict)
    apart: dict[_PoolKey, tuple[ResourceSliceDevice, str]] = field(default_factory=dict)
    cpus: dict[str, list[Listed]] = field(default_factory=dict)
    several_cpus: dict[_PoolKey, CpuGroupDevice] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    notes: dict[str, dict[str, None]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, objects: ClusterObjects, fault: Callable[[KubernetesObjectError], None]
    ) -> "PublishedDevicesOfDump":
        """Return the pools in the ResourceSlices of a cluster.

        A device that is in a pool twice is reported to ``fault``.
        """
        found = cls()
        by_node: defaultdict[str, list[Listed]] = defaultdict(list)
        nodes_of: dict[DeviceAccessNodeSelector, list[str]] = {}
        places: dict[_PoolKey, str] = {}
        for part in found._newest(objects.slices.values()):
            title = part.identity.title
            for i, (listed, access) in enumerate(part.devices):
                key = (part.driver, part.pool, listed.name)
                if key in places:
                    fault(_twice(title, i, key, places[key]))
                    continue
                places[key] = title
                nodes = nodes_of.get(access)
                if nodes is None:
                    nodes = nodes_of[access] = objects.nodes_with_access(access)
                if len(nodes) != 1:
                    why = "several nodes can use" if nodes else "no Node of the dump can use"
                    found._pass_over((key, listed, title), why)
                elif part.driver == CPU_DRIVER:
                    found.cpus.setdefault(nodes[0], []).append((key, listed, title))
                elif listed.lacks:
                    found._pass_over((key, listed, title), f"of which each {listed.lacks[0]}")
                else:
                    by_node[nodes[0]].append((key, listed, title))
        for name, devices in by_node.items():
            found._settle(name, devices, objects.devices.get(name))
        for name, cpus in found.cpus.items():
            found._settle_cpus(name, cpus, objects)
        return found

    def tell(self, summary: DumpSummary) -> None:
        """Add what is ignored to the summary."""
        for what, names in self.notes.items():
            for name in names:
                summary.assume(what, name)

    def devices(self, node: str) -> tuple[Device, ...]:
        """Return the devices of a node that drivers publish, except CPUs."""
        known = (one.device for one in self.on_node.get(node, ()))
        return tuple(device for device in known if device.type not in CPU_TYPES)

    def offered_cpus(self, node: str) -> CpuSet | None:
        """Return the CPUs that a driver gives out by id, or None if no driver does so."""
        found: set[int] = set()
        offers = False
        for one in self.on_node.get(node, ()):
            if one.key in self.several_cpus:
                offers, cpus = True, self.several_cpus[one.key].cpus
                found |= cpus
            elif one.device.type == CPU_DRIVER:
                offers = True
                found |= {one.device.minor} if one.device.healthy else set()
        return frozenset(found) if offers else None

    def topology(self, node: str) -> KubeNodeResourceTopology | None:
        """Return a node's topology if a driver lists all of its CPUs one by one, or else None."""
        devices = self.cpus.get(node, [])
        cpus = [listed_device_as_cpu(listed) for _, listed, _ in devices]
        known = tuple(sorted((cpu for cpu in cpus if cpu is not None), key=lambda cpu: cpu.id))
        if not known or len(known) != len(cpus):
            return None
        return KubeNodeResourceTopology(
            KubeObjectIdentity("ResourceSlice", "", devices[0][2].split()[-1]), known
        )

    def keys(self) -> set[_PoolKey]:
        """Return the keys of all devices that any ResourceSlice lists."""
        return self.by_key.keys() | self.apart.keys()

    def _newest(self, slices: Iterable[KubeResourceSlice]) -> Iterator[KubeResourceSlice]:
        """Yield the slices of the newest generation of complete pools."""
        pools: defaultdict[tuple[str, str], list[KubeResourceSlice]] = defaultdict(list)
        for part in slices:
            pools[part.driver, part.pool].append(part)
        for parts in pools.values():
            newest = max(part.generation for part in parts)
            current = [part for part in parts if part.generation == newest]
            whole = all(part.slices == len(current) for part in current)
            for part in parts:
                title = part.identity.title
                if part.counters:
                    self._note("shared counters, for which there is no word yet", title)
                is_new = part.generation == newest
                if is_new and whole:
                    yield part
                    continue
                old = "miss some of them" if is_new else "are of an older generation"
                self._note(f"ResourceSlices of pools that {old}, passed over", title)
                for listed, _ in part.devices:
                    key = (part.driver, part.pool, listed.name)
                    self.apart.setdefault(key, (listed, f"of pools that {old}"))

    def _settle(
        self, node: str, devices: list[Listed], known: KubeKoordinatorDevice | None
    ) -> None:
        """Give the devices of a node their types and minors."""
        types: dict[str, list[Listed]] = {}
        for one in self._once(devices):
            types.setdefault(listed_device_type(one[1]), []).append(one)
        for kind, listed in types.items():
            theirs = [one for one in known.devices if one.type == kind] if known else []
            self.counts[node, kind] = len(theirs) or len(listed)
            if theirs:
                for one in listed:
                    same = next((d for d in theirs if is_same_device(d, one[1])), None)
                    if same is None:
                        self._pass_over(one, "which the Device object of their node does not list")
                    else:
                        self._put(node, one, device_completed_by_driver(same, one[1]))
                continue
            for one, minor in zip(
                listed, minors_from_device_names([one[1] for one in listed]), strict=True
            ):
                self._put(node, one, device_from_resource_slice(one[1], minor))

    def _settle_cpus(self, node: str, cpus: list[Listed], objects: ClusterObjects) -> None:
        """Take CPUs one by one, or by number where their ids are known."""
        several: list[Listed] = []
        for one in cpus:
            _, listed, _ = one
            cpu = listed_device_as_cpu(listed)
            more = [what for what in listed.lacks if what != MULTIPLE]
            if is_cpu_group_device(listed):
                several.append(one)
            elif more:
                self._pass_over(one, f"of which each {more[0]}")
            elif cpu is not None:
                self._put(node, one, Device(CPU_DRIVER, cpu.id, healthy=not listed.taints))
                self.counts[node, CPU_DRIVER] = self.counts.get((node, CPU_DRIVER), 0) + 1
            else:
                self._pass_over(one, "of CPUs that do not say which, nor how many")
        topology = objects.topologies.get(node)
        reserved = objects.nodes[node].reserved_cpus
        reserved |= topology.policy.reserved if topology and topology.policy else frozenset()
        found = cpu_group_devices(node, [listed for _, listed, _ in several], topology, reserved)
        for one, known in zip(several, found, strict=True):
            self.several_cpus[one[0]] = known
            if known.device is None:
                self._pass_over(one, known.why)
                continue
            kind = known.device.type
            self._put(node, one, known.device)
            self.counts[node, kind] = self.counts.get((node, kind), 0) + 1
            if kind == CPU_GROUP and not known.says_ids:
                self._note(
                    f"devices of several CPUs that do not say which ({CPU_IDS}), whose driver is "
                    "taken to let others choose among them, of",
                    one[2],
                )

    def _once(self, devices: list[Listed]) -> Iterator[Listed]:
        """Yield the devices, except those that are the same hardware as a listed whole GPU."""
        whole = {
            one[1].text(f"{one[1].driver}/uuid"): one[0]
            for one in devices
            if listed_device_type(one[1]) == GPU
        }
        whole.pop("", None)
        for one in devices:
            key, listed, _ = one
            ids = (listed.text(f"{listed.driver}/{name}") for name in ("uuid", "parentUUID"))
            if any(whole.get(id, key) != key for id in ids):
                self._pass_over(one, "of a GPU that is listed as a whole, too")
            else:
                yield one

    def _put(self, node: str, one: Listed, device: Device) -> None:
        key, listed, title = one
        found = PublishedNodeDevice(key, node, listed, device)
        self.on_node.setdefault(node, []).append(found)
        self.by_key[key] = found
        if listed.taints:
            taints = ", ".join(listed.taints)
            self._note(f"devices with the taint {taints}, given to nobody, of", title)

    def _pass_over(self, one: Listed, why: str) -> None:
        key, listed, title = one
        self.apart[key] = listed, why
        self._note(f"devices {why}, given to nobody, of", title)

    def _note(self, what: str, title: str) -> None:
        self.notes.setdefault(what, {})[title] = None


def _twice(title: str, place: int, key: _PoolKey, other: str) -> KubernetesObjectError:
    return KubernetesObjectError(
        title,
        ("spec", "devices", place, "name"),
        f"'{key[2]}' of pool {key[1]} stands in {other} already; "
        "each device of a pool has a name of its own",
    )
