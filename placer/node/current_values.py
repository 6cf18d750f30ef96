"""Present values of the cgroups of a document's containers."""

from dataclasses import dataclass

from placer.node.cgroups import CPUS, MEMS, CgroupReader, cpuset_file_text, parse_cpuset
from placer.node.container_lookup import (
    ContainerCgroupFinder,
    LocatedContainer,
    container_cgroup_path,
)
from placer.node.host import HostFactsForApply
from placer.node.targets import ContainerCgroupTarget
from placer_models.cpuset import CpuSet
from placer_models.node_placement import NodePlacement, NodePlacementPod
from placer_models.policy import QosClass

_NONE: CpuSet = frozenset()


@dataclass(frozen=True, slots=True)
class ContainerLeafCgroup:
    """The cgroup of one container with its present values and its target.

    Attributes:
        target: What it is to become, or None if its pod is gone but processes remain.
        ours: Whether it is below our root.
        exists: Whether it is there yet.
        cpus: CPUs that its processes can use now.
        mems: NUMA nodes that they can use.
        cpus_text: What is written in its cpuset.cpus.
        mems_text: What is written in its cpuset.mems.
        rival: Another writer of it, or None.
        unit: The systemd unit whose cgroup it is, so that systemd is asked to write it; or empty.
        was: The class of its pod in the document before, or None if it was not there.

    """

    cgroup: str
    target: ContainerCgroupTarget | None
    ours: bool
    exists: bool
    goal_cpus: CpuSet
    goal_mems: CpuSet
    cpus: CpuSet = _NONE
    mems: CpuSet = _NONE
    cpus_text: str = ""
    mems_text: str = ""
    rival: str | None = None
    was: QosClass | None = None
    unit: str = ""

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.target.title if self.target else f"the leftover /{self.cgroup}"

    @property
    def owner(self) -> str:
        """The pod that it belongs to, or the cgroup itself if its pod is gone."""
        return self.target.one.pod.title if self.target else self.cgroup

    @property
    def qos(self) -> QosClass:
        """The class of its pod; LS if its pod is gone, as it then shares CPUs."""
        return self.target.qos if self.target else QosClass.LS

    @property
    def cpus_differ(self) -> bool:
        """Whether its CPUs, as written or in effect, are not what they are to be."""
        return self.cpus != self.goal_cpus or parse_cpuset(self.cpus_text) != self.goal_cpus

    @property
    def mems_differ(self) -> bool:
        """Whether its NUMA nodes, as written or in effect, are not what they are to be."""
        return self.mems != self.goal_mems or parse_cpuset(self.mems_text) != self.goal_mems


class ContainerLeafCgroupReader:
    """Reads leaves."""

    def __init__(
        self,
        cgroups: CgroupReader,
        host: HostFactsForApply,
        root: str,
        previous: NodePlacement | None,
    ) -> None:
        self._cgroups = cgroups
        self._host = host
        self._root = root
        self.containers = ContainerCgroupFinder(cgroups, cgroups.container_roots)
        self._was = {
            cgroup: one.pod.spec.qos
            for one in (previous.pods if previous else ())
            for container in one.pod.spec.containers
            for cgroup in self.find(one, container.name).cgroups
        }

    def leaf(
        self,
        cgroup: str,
        target: ContainerCgroupTarget | None,
        cpus: CpuSet,
        mems: CpuSet,
        *,
        ours: bool,
        trusted: bool = False,
    ) -> ContainerLeafCgroup:
        """Return a cgroup with what it says now and what it is to say.

        One that is `trusted` says what it is to say, and is not read, unless somebody else writes
        it, too.
        """
        groups = self._cgroups
        rival = self._host.rival(cgroup, groups.units)
        if trusted and rival is None:
            now = cpus, mems, cpuset_file_text(cpus), cpuset_file_text(mems)
        elif (has := self._effective(cgroup, CPUS)) is None:
            return ContainerLeafCgroup(cgroup, target, ours, False, cpus, mems, rival=rival)
        else:
            now = (
                has,
                groups.effective(cgroup, MEMS),
                groups.configured(cgroup, CPUS),
                groups.configured(cgroup, MEMS),
            )
        was, unit = self._was.get(cgroup), self._host.unit_of(cgroup)
        return ContainerLeafCgroup(cgroup, target, ours, True, cpus, mems, *now, rival, was, unit)

    def _effective(self, cgroup: str, name: str) -> CpuSet | None:
        """Return the effective set of a cgroup, or None if the cgroup is not there."""
        try:
            return parse_cpuset(
                self._cgroups.files.read(self._cgroups.effective_path(cgroup, name))
            )
        except FileNotFoundError:  # it is missing, or lacks the controller
            return self._cgroups.effective(cgroup, name) if self._cgroups.exists(cgroup) else None

    def find(self, one: NodePlacementPod, container: str) -> LocatedContainer:
        """Return the cgroups of a container; none if it does not run and is not ours to make."""
        if one.ours:
            return LocatedContainer(
                (container_cgroup_path(self._root, one.pod, container),), runs=True
            )
        return self.containers.find(one, container)

    def leftovers(self, wanted: set[str]) -> list[str]:
        """Return cgroups of containers that the document no longer has."""
        groups = self._cgroups
        found = []
        if groups.exists(self._root):
            found = [
                child
                for pod in groups.children(self._root)
                for child in groups.children(pod)
                if child not in wanted
            ]
        found += [c for c in self._was if c not in wanted and groups.exists(c)]
        return list(dict.fromkeys(found))
