"""Strangers: pods that nodes name but the dump lacks; what they hold is given to nobody (D12)."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.kubernetes.node_facts import KubeNodeBuilder
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.summary import DumpSummary
from placer_models.device import DeviceKey
from placer_models.kubernetes.checkpoints.device_manager import KubeletDevicesOfContainer
from placer_models.kubernetes.plugin_devices import (
    device_type_counted_by_resource,
    devices_of_checkpoint_entry,
    gpus_unknown_to_node,
)


@dataclass(frozen=True, slots=True)
class PodsMissingInDump:
    """Pods that nodes name but the dump does not have.

    Attributes:
        keys: Namespace and name of the pods of the dump.
        uids: Known UIDs of these pods.

    """

    keys: frozenset[tuple[str, str]]
    uids: frozenset[str]

    @classmethod
    def of(cls, objects: ClusterObjects) -> "PodsMissingInDump":
        """Return the strangers to these objects."""
        identities = [part.identity for part in objects.pods.values()]
        uids = frozenset(identity.uid for identity in identities if identity.uid)
        return cls(frozenset(identity.key for identity in identities), uids)

    def withhold(
        self, node: KubeNodeBuilder, objects: ClusterObjects, summary: DumpSummary
    ) -> None:
        """Withhold what strangers hold on a node."""
        cpus: set[int] = set()
        devices: set[tuple[str, int]] = set()
        topology, found = objects.topologies.get(node.name), objects.devices.get(node.name)
        for alloc in topology.allocs if topology and topology.cpus else ():
            if not self._known((alloc.namespace or "default", alloc.name), alloc.uid):
                cpus |= alloc.cpuset & node.machine.topology.cpu.keys()
        known = {(device.type, device.minor) for device in node.machine.devices}
        for holder in found.holders if found else ():
            if not self._known((holder.namespace, holder.name), ""):
                devices |= {(holder.type, minor) for minor in holder.minors}
        given = self._by_checkpoint(node, found.checkpoints if found else (), summary)
        devices = devices & known | given
        if not (cpus or devices):
            return
        what = "nodes that name pods which are not in the dump: what these hold is given to nobody"
        summary.assume(what, node.name)
        node.reserve(cpus)
        node.unpool(cpus)
        node.withhold(devices, by_checkpoint=given)

    def _by_checkpoint(
        self,
        node: KubeNodeBuilder,
        entries: Sequence[KubeletDevicesOfContainer],
        summary: DumpSummary,
    ) -> set[DeviceKey]:
        """Return the devices that a kubelet gave to strangers, or may have given to them.

        An entry that says of no pod is a stranger's, too.
        """
        devices = node.machine.devices
        if any(gpus_unknown_to_node(entry, devices) for entry in entries):
            what = "nodes whose kubelet's checkpoint names GPUs that they do not have"
            summary.assume(what, node.name)
        strange = [entry for entry in entries if entry.pod_uid not in self.uids]
        meant = [devices_of_checkpoint_entry(entry, devices) for entry in strange]
        lost = {
            device_type_counted_by_resource(entry.resource)
            for entry, of in zip(strange, meant, strict=True)
            if of is None
        }
        if lost:
            what = "nodes whose kubelet's checkpoint names devices by ids that nobody knows"
            summary.assume(f"{what}: no more of the type are given out there", node.name)
        found = {key for of in meant for key in of or ()}
        return found | {(one.type, one.minor) for one in devices if one.type in lost}

    def _known(self, key: tuple[str, str], uid: str) -> bool:
        return uid in self.uids or key in self.keys
