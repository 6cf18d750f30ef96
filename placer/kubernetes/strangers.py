"""Strangers: pods that nodes name but the dump lacks; what they hold is given to nobody (D12)."""

from dataclasses import dataclass, replace

from placer.kubernetes.objects import Objects
from placer.kubernetes.summary import Summary
from placer_models.cluster import Node
from placer_models.kubernetes.plugin_devices import devices_of, type_of


@dataclass(frozen=True, slots=True)
class Strangers:
    """Pods that nodes name but the dump does not have.

    Attributes:
        keys: Namespace and name of the pods of the dump.
        uids: Known UIDs of these pods.

    """

    keys: frozenset[tuple[str, str]]
    uids: frozenset[str]

    @classmethod
    def of(cls, objects: Objects) -> "Strangers":
        """Return the strangers to these objects."""
        identities = [part.identity for part in objects.pods.values()]
        uids = frozenset(identity.uid for identity in identities if identity.uid)
        return cls(frozenset(identity.key for identity in identities), uids)

    def beside(self, node: Node, objects: Objects, summary: Summary) -> Node:
        """Return the node without what strangers hold there."""
        cpus: set[int] = set()
        devices: set[tuple[str, int]] = set()
        topology, found = objects.topologies.get(node.name), objects.devices.get(node.name)
        for alloc in topology.allocs if topology and topology.cpus else ():
            if not self._known((alloc.namespace or "default", alloc.name), alloc.uid):
                cpus |= alloc.cpuset & node.machine.topology.cpu.keys()
        known = {(device.type, device.minor) for device in node.machine.devices}
        for entry in found.checkpoints if found else ():
            if entry.pod_uid and entry.pod_uid not in self.uids:
                meant = devices_of(entry, node.machine.devices)
                kind = type_of(entry.resource)
                devices |= {one for one in known if one[0] == kind} if meant is None else meant
        for holder in found.holders if found else ():
            if not self._known((holder.namespace, holder.name), ""):
                devices |= {(holder.type, minor) for minor in holder.minors}
        devices &= known
        if not (cpus or devices):
            return node
        what = "nodes that name pods which are not in the dump: what these hold is given to nobody"
        summary.assume(what, node.name)
        return replace(
            node,
            reserved_cpus=node.reserved_cpus | cpus,
            unpooled_cpus=node.unpooled_cpus | cpus,
            unhealthy=node.unhealthy | devices,
        )

    def _known(self, key: tuple[str, str], uid: str) -> bool:
        return uid in self.uids or key in self.keys
