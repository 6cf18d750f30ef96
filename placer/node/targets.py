"""What the cgroup of each container is to say, whichever version the kernel has."""

from dataclasses import dataclass

from placer.node.pools import memory_nodes, settled
from placer_models.cpuset import CpuSet
from placer_models.limits import NO_LIMITS, Limits
from placer_models.node_placement import NodePlacement, NodePod
from placer_models.policy import QosClass


@dataclass(frozen=True, slots=True)
class Target:
    """What one container gets.

    Attributes:
        one: Its pod.
        mems: NUMA nodes whose memory it may use.
        cpu_milli: Its CPU request.

    """

    one: NodePod
    container: str
    cpus: CpuSet
    mems: frozenset[int]
    cpu_milli: int
    limits: Limits = NO_LIMITS

    @property
    def qos(self) -> QosClass:
        """The class of its pod."""
        return self.one.pod.spec.qos

    @property
    def pinned(self) -> bool:
        """Whether it has CPUs of its own, which a quota would only throttle."""
        return self.qos.owns_cpus

    @property
    def title(self) -> str:
        """The container's name for people."""
        return f"{self.one.pod.title}/{self.container}"


def targets_of(document: NodePlacement, online: CpuSet | None = None) -> tuple[Target, ...]:
    """Return what each container gets, in the order of the document.

    Args:
        document: Of the node.
        online: CPUs that are online now; pools lose the others. None: as the document says.

    """
    found = []
    document = settled(document)
    for one in document.pods:
        spec, seat = one.pod.spec, one.placement
        limits = dict(one.pod.limits)
        asked = {container.name: container.requests for container in spec.containers}
        for part in seat.containers:
            if part.name not in asked:
                continue
            cpus = part.cpuset
            if online is not None and not spec.qos.owns_cpus:
                cpus &= online
            found.append(
                Target(
                    one,
                    part.name,
                    cpus,
                    memory_nodes(part, seat, one, document),
                    asked[part.name].cpu_milli,
                    limits.get(part.name, NO_LIMITS),
                )
            )
    return tuple(found)
