"""Changes of nodes: uncordon, cordon, mend, label, add."""

from dataclasses import dataclass, replace

from placer_models.cluster import Instance, Machine, Node
from placer_models.device import DeviceKey
from placer_models.network import NODE_LEVEL
from placer_models.taints import UNSCHEDULABLE
from placer_models.whatif.change import (
    Aspect,
    WhatIfChangeError,
    node_named,
    unknown_name_error,
    with_node_replaced,
)

HOSTNAME = "kubernetes.io/hostname"
"""The label that tells nodes of a cluster apart; a new node has its own."""


@dataclass(frozen=True, slots=True)
class Uncordon:
    """New pods may come to the node."""

    node: str

    @property
    def aspects(self) -> frozenset[Aspect]:
        """Whether the node is cordoned."""
        return frozenset({("cordon", self.node)})

    def apply(self, instance: Instance) -> Instance:
        """Take the cordon from the node, and the taint that says so in clusters."""
        node = node_named(instance, self.node)
        taints = tuple(taint for taint in node.taints if taint != UNSCHEDULABLE)
        if not node.cordoned and taints == node.taints:
            raise WhatIfChangeError(f"node '{self.node}' is not cordoned")
        return with_node_replaced(instance, replace(node, cordoned=False, taints=taints))

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"uncordon={self.node}"


@dataclass(frozen=True, slots=True)
class Cordon:
    """No new pod comes to the node; those that run there stay."""

    node: str

    @property
    def aspects(self) -> frozenset[Aspect]:
        """Whether the node is cordoned."""
        return frozenset({("cordon", self.node)})

    def apply(self, instance: Instance) -> Instance:
        """Cordon the node."""
        node = node_named(instance, self.node)
        if node.cordoned or UNSCHEDULABLE in node.taints:
            raise WhatIfChangeError(f"node '{self.node}' is cordoned already")
        return with_node_replaced(instance, replace(node, cordoned=True))

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"cordon={self.node}"


@dataclass(frozen=True, slots=True)
class MarkDevicesHealthy:
    """Devices of the node that are broken, or kept from pods, work again.

    Attributes:
        device: Type and minor of the one that is mended; None: all of the node's.

    """

    node: str
    device: DeviceKey | None = None

    @property
    def aspects(self) -> frozenset[Aspect]:
        """The health of the device, or of all."""
        return frozenset({("health", (self.node, self.device))})

    def apply(self, instance: Instance) -> Instance:
        """Call the devices healthy."""
        node = node_named(instance, self.node)
        broken = node.unhealthy | {
            (device.type, device.minor) for device in node.machine.devices if not device.healthy
        }
        if self.device is not None and self.device not in broken:
            known = (f"{kind} {minor}" for kind, minor in sorted(broken))
            raise unknown_name_error(
                f"broken device of node '{self.node}':", _named(self.device), known
            )
        if not broken:
            raise WhatIfChangeError(f"node '{self.node}' has no broken device")
        mended = broken if self.device is None else frozenset({self.device})
        devices = tuple(
            replace(device, healthy=True)
            if not device.healthy and (device.type, device.minor) in mended
            else device
            for device in node.machine.devices
        )
        machine = replace(node.machine, devices=devices)
        changed = replace(
            node,
            machine=node.machine if devices == node.machine.devices else machine,
            unhealthy=node.unhealthy - mended,
            checkpoint_devices=node.checkpoint_devices - mended,
        )
        return with_node_replaced(instance, changed)

    def __str__(self) -> str:
        """Return it as people write it."""
        device = f":{self.device[0]}/{self.device[1]}" if self.device else ""
        return f"mend={self.node}{device}"


def _named(device: DeviceKey) -> str:
    return f"{device[0]} {device[1]}"


@dataclass(frozen=True, slots=True)
class SetNodeLabel:
    """The node has a label, whatever it had by the key before."""

    node: str
    key: str
    value: str

    @property
    def aspects(self) -> frozenset[Aspect]:
        """The node's label of the key."""
        return frozenset({("label", (self.node, self.key))})

    def apply(self, instance: Instance) -> Instance:
        """Give the node the label."""
        node = node_named(instance, self.node)
        labels = dict(node.labels)
        if labels.get(self.key) == self.value:
            raise WhatIfChangeError(f"node '{self.node}' has label {self.key}={self.value} already")
        labels[self.key] = self.value
        return with_node_replaced(instance, replace(node, labels=tuple(sorted(labels.items()))))

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"label={self.node}:{self.key}={self.value}"


@dataclass(frozen=True, slots=True)
class AddNodes:
    """So many more nodes, like one that is there, or of a machine.

    Attributes:
        of: The name of the node or the machine; a node's name goes first.
        machine: The machine of that name, if there is one.

    """

    count: int
    of: str
    machine: Machine | None = None

    @property
    def aspects(self) -> frozenset[Aspect]:
        """How many nodes of this kind are added."""
        return frozenset({("added", self.of)})

    def apply(self, instance: Instance) -> Instance:
        """Add the nodes, empty and healthy, with the labels and taints of the one they are like."""
        names = {node.name for node in instance.nodes}
        if self.of in names:
            like = fresh_copy_of_node(node_named(instance, self.of), self.of)
        elif self.machine is not None:
            like = Node(self.of, self.machine)
            if instance.nodes:
                like = replace(like, defaults=instance.nodes[0].defaults)
        else:
            raise unknown_name_error("node or machine", self.of, names)
        free = (f"{self.of}-added-{i}" for i in range(self.count + len(names)))
        added = [name for name in free if name not in names][: self.count]
        return replace(
            instance, nodes=(*instance.nodes, *(fresh_copy_of_node(like, name) for name in added))
        )

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"add={self.count}:{self.of}"


def fresh_copy_of_node(node: Node, name: str) -> Node:
    """Return a node like it, by another name: nobody there, nothing broken, not cordoned."""
    return replace(
        node,
        name=name,
        labels=tuple((key, name if key == HOSTNAME else value) for key, value in node.labels),
        domains=tuple((level, value) for level, value in node.domains if level != NODE_LEVEL),
        cordoned=False,
        closed=False,
        taints=tuple(taint for taint in node.taints if taint != UNSCHEDULABLE),
        unhealthy=frozenset(),
        checkpoint_devices=frozenset(),
        homes=(),
        offered=False,
        opened=False,
    )
