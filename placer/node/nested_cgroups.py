"""Writes of a container's set, and of the cgroups that it may have made inside itself.

On version 1 a cgroup may only have what the one above it has, and a cgroup above may not lose
what one below has. So if the container has cgroups of its own there, a set changes in three
steps: old and new together, then what is inside, then the new one alone.
"""

from collections.abc import Iterator

from placer.node.cgroups import CPUSET, CgroupReader, cpuset_file_text, parse_cpuset
from placer.node.current_values import ContainerLeafCgroup
from placer.node.operations import CgroupOperation, CgroupOperationKind
from placer_models.cpuset import CpuSet


class CpusetWritePlanner:
    """Plans writes of sets, and remembers what they leave behind."""

    def __init__(self, cgroups: CgroupReader) -> None:
        self._cgroups = cgroups
        self._text: dict[tuple[str, str], str] = {}

    def writes(
        self, leaf: ContainerLeafCgroup, file: str, old: str, goal: CpuSet, why: str
    ) -> Iterator[CgroupOperation]:
        """Yield the writes that bring a leaf's cpus or mems to a set.

        Args:
            leaf: The container's cgroup.
            file: Its ``cpuset.cpus`` or ``cpuset.mems``.
            old: What the file says before the plan.
            goal: The set to bring it to.
            why: For people.

        """
        self._text.setdefault((leaf.cgroup, file), old)
        fresh = not leaf.exists

        def write(cgroup: str, cpus: CpuSet) -> Iterator[CgroupOperation]:
            before, after = self._text[cgroup, file], cpuset_file_text(cpus)
            self._text[cgroup, file] = after
            if before != after:
                unit = leaf.unit if cgroup == leaf.cgroup else ""
                yield CgroupOperation(
                    CgroupOperationKind.WRITE, CPUSET, cgroup, file, before, after, why, fresh, unit
                )

        inside = self._inside(leaf, file)
        has = {cgroup: parse_cpuset(self._text[cgroup, file]) for cgroup in inside}
        outgrown = [cgroup for cgroup in inside if not has[cgroup] <= goal]
        if outgrown:
            yield from write(leaf.cgroup, parse_cpuset(self._text[leaf.cgroup, file]) | goal)
            apart = any(not has[cgroup] & goal for cgroup in outgrown)
            for cgroup in outgrown if apart else ():
                yield from write(cgroup, has[cgroup] | goal)
            for cgroup in reversed(outgrown):
                yield from write(cgroup, goal if apart else has[cgroup] & goal)
        yield from write(leaf.cgroup, goal)

    def _inside(self, leaf: ContainerLeafCgroup, file: str) -> list[str]:
        """Return the cgroups inside a container that have sets of their own, from the top."""
        if self._cgroups.version == 2 or not leaf.exists:
            return []
        inside = list(self._cgroups.below_with(leaf.cgroup, file))
        for cgroup in inside:
            if (cgroup, file) not in self._text:
                self._text[cgroup, file] = self._cgroups.configured(cgroup, file)
        return [cgroup for cgroup in inside if self._text[cgroup, file]]
