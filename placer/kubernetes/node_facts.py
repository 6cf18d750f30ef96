"""Facts about one node of a dump: gathered from all its objects and pods, then made a Node once."""

from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace

from placer_models.cluster import Machine, Node
from placer_models.cpuset import CpuSet
from placer_models.device import DeviceKey
from placer_models.kubernetes.join import NodeFromObjects
from placer_models.kubernetes.names import KNOWS_CPUS


@dataclass(slots=True)
class KubeNodeBuilder:
    """What is known of a node, beyond what its own objects say together.

    Attributes:
        joined: What the node's own objects say together.
        machine: Its machine, under a name that no other machine has.
        labels: Key -> value of all labels.
        extended: Resource -> amount, of all that is counted in plain amounts.
        reserved_cpus: CPUs that no pod gets.
        unpooled_cpus: CPUs that no pool has.
        unhealthy: Devices that no pod gets.
        checkpoint_devices: Those of them that a kubelet's checkpoint alone withholds.
        system_pods: Pods here that stand for the system; the node does not count them as pods.
        closed: Whether nothing more comes.

    """

    joined: NodeFromObjects
    machine: Machine
    labels: dict[str, str] = field(init=False)
    extended: dict[str, int] = field(init=False)
    reserved_cpus: CpuSet = field(init=False)
    unpooled_cpus: CpuSet = field(init=False)
    unhealthy: frozenset[DeviceKey] = field(init=False)
    checkpoint_devices: frozenset[DeviceKey] = field(init=False)
    system_pods: int = 0
    closed: bool = field(init=False)

    def __post_init__(self) -> None:
        """Begin with what the node's own objects say."""
        node = self.joined.node
        self.labels, self.extended = dict(node.labels), dict(node.extended)
        self.reserved_cpus, self.unpooled_cpus = node.reserved_cpus, node.unpooled_cpus
        self.unhealthy, self.checkpoint_devices = node.unhealthy, node.checkpoint_devices
        self.closed = node.closed

    @property
    def name(self) -> str:
        """The node's name."""
        return self.joined.node.name

    def label(self, more: Iterable[tuple[str, str]]) -> None:
        """Add labels; a key that is there gets the new value."""
        self.labels.update(more)

    def offer(self, more: Iterable[tuple[str, int]]) -> None:
        """Add plain amounts."""
        self.extended.update(more)

    def withhold(
        self, devices: Set[DeviceKey], by_checkpoint: Set[DeviceKey] = frozenset()
    ) -> None:
        """Give devices to nobody; ``by_checkpoint`` are those that only a checkpoint names."""
        self.checkpoint_devices |= by_checkpoint - self.unhealthy
        self.unhealthy |= devices

    def reserve(self, cpus: Set[int]) -> None:
        """Give these CPUs to nobody."""
        self.reserved_cpus |= cpus

    def unpool(self, cpus: Set[int]) -> None:
        """Keep these CPUs out of the pools."""
        self.unpooled_cpus |= cpus

    def hide_cpu_ids(self) -> None:
        """Give no CPUs out by id: some have an owner, and nobody knows which."""
        self.labels.pop(KNOWS_CPUS[0], None)

    def node(self) -> Node:
        """Return the node."""
        joined = self.joined.node
        most = joined.max_pods
        return replace(
            joined,
            machine=self.machine,
            labels=tuple(sorted(self.labels.items())),
            extended=tuple(sorted(self.extended.items())),
            reserved_cpus=self.reserved_cpus,
            unpooled_cpus=self.unpooled_cpus,
            unhealthy=self.unhealthy,
            checkpoint_devices=self.checkpoint_devices,
            max_pods=None if most is None else most + self.system_pods,
            closed=self.closed,
        )
