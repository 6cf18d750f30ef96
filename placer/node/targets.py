"""Targets for the cgroup of each container, whichever version the kernel has."""

from collections.abc import Iterable
from dataclasses import dataclass

from placer.node.pools import (
    cpu_pools_of_node,
    memory_nodes_of_container,
    with_cpus_of_each_container,
)
from placer_models.cpuset import CpuSet
from placer_models.limits import NO_LIMITS, ContainerLimits
from placer_models.node_placement import NodePlacement, NodePlacementPod
from placer_models.pod import ContainerRole, Resources
from placer_models.policy import QosClass


@dataclass(frozen=True, slots=True)
class ContainerCgroupTarget:
    """The target of one container.

    Attributes:
        one: Its pod.
        mems: NUMA nodes whose memory it may use.
        cpu_milli: Its CPU request.
        hugepages: (page size in bytes, bytes) for every size that the node has or the container
            asks for, ascending; it gets what it asks for and no more.
        stranded: Whether all its own CPUs are offline, so that it runs on shared ones.

    """

    one: NodePlacementPod
    container: str
    cpus: CpuSet
    mems: frozenset[int]
    cpu_milli: int
    limits: ContainerLimits = NO_LIMITS
    stranded: bool = False
    hugepages: tuple[tuple[int, int], ...] = ()

    @property
    def qos(self) -> QosClass:
        """The class of its pod; a stranded container counts as one that shares CPUs."""
        return QosClass.LS if self.stranded else self.one.pod.spec.qos

    @property
    def pinned(self) -> bool:
        """Whether it has CPUs of its own, which a quota would only throttle."""
        return self.qos.owns_cpus

    @property
    def stays(self) -> bool:
        """Whether it runs as long as its pod does, unlike an init container."""
        roles = {one.name: one.role for one in self.one.pod.spec.containers}
        return roles[self.container] is not ContainerRole.INIT

    @property
    def title(self) -> str:
        """The container's name for people."""
        return f"{self.one.pod.title}/{self.container}"


def desired_container_cgroups(
    document: NodePlacement, online: CpuSet | None = None, *, make_do: bool = False
) -> tuple[ContainerCgroupTarget, ...]:
    """Return what each container gets, in the order of the document.

    Args:
        document: The document of the node.
        online: CPUs that are online now; pools lose the others. None for those of the document.
        make_do: Whether owners lose the others, too. A container with no CPU left gets those
            that its pod has left; if its pod has none either, it is stranded on the shared pool.

    """
    found = []
    shared = cpu_pools_of_node(document).shared
    document = with_cpus_of_each_container(document)
    sizes = {size for _, size in document.node.pages_in()}
    for one in document.pods:
        spec, seat = one.pod.spec, one.placement
        limits = dict(one.pod.limits)
        asked = {container.name: container.requests for container in spec.containers}
        for part in seat.containers:
            if part.name not in asked:
                continue
            cpus = part.cpuset
            stranded = False
            if online is not None and (make_do or not spec.qos.owns_cpus):
                cpus &= online
                if not cpus and spec.qos.owns_cpus:
                    stranded = not seat.cpuset & online
                    cpus = (shared if stranded else seat.cpuset) & online
            found.append(
                ContainerCgroupTarget(
                    one,
                    part.name,
                    cpus,
                    memory_nodes_of_container(part, one, document),
                    asked[part.name].cpu_milli,
                    limits.get(part.name, NO_LIMITS),
                    stranded,
                    _hugepages(asked[part.name], sizes),
                )
            )
    return tuple(found)


def _hugepages(asked: Resources, sizes: Iterable[int]) -> tuple[tuple[int, int], ...]:
    known = {*sizes, *(pages.page_bytes for pages in asked.hugepages)}
    return tuple((size, size * asked.pages_of(size)) for size in sorted(known))
