"""Writes of all settings other than sets: quotas, weights, limits, and memory migration."""

from collections.abc import Iterable, Iterator

from placer.node.cgroups import (
    CPUS,
    CPUSET,
    HUGETLB,
    MEMS,
    MEMSW,
    MIGRATE,
    CgroupReader,
    as_proc_cgroup_path,
    parent_cgroup_path,
)
from placer.node.current_values import ContainerLeafCgroup
from placer.node.host import HostFactsForApply
from placer.node.operations import SUBTREE, CgroupOperation, CgroupOperationKind
from placer.node.render.cgroup import (
    NO_LIMIT,
    SWAP,
    cgroup_settings,
    is_higher_cgroup_v1_limit,
    is_same_cgroup_value,
    page_size_name,
)


class CgroupSettingWritePlanner:
    """A planner of these writes, which also notes what cannot be written.

    Attributes:
        lacking: Settings that this kernel has no file for, in words; they are not written.

    """

    def __init__(self, cgroups: CgroupReader, host: HostFactsForApply, root: str) -> None:
        self._cgroups = cgroups
        self._host = host
        self._root = root
        self.lacking: dict[str, None] = {}

    def before_sets(self, leaves: Iterable[ContainerLeafCgroup]) -> Iterator[CgroupOperation]:
        """Yield the writes that come before those of sets, as they say how cpusets change."""
        if self._cgroups.version == 1:
            for leaf in leaves:
                yield from self._writes(leaf, before=True)

    def writes(self, leaves: Iterable[ContainerLeafCgroup]) -> Iterator[CgroupOperation]:
        """Yield the other writes, with the memory limits in an order that the kernel accepts."""
        for leaf in leaves:
            found = list(self._writes(leaf, before=False))
            both = next((one for one in found if one.file == MEMSW), None)
            if both is not None and is_higher_cgroup_v1_limit(both.new, both.old):
                # It is never below the memory limit: it grows first, and shrinks last.
                found = [both, *(one for one in found if one is not both)]
            yield from found

    def _writes(self, leaf: ContainerLeafCgroup, *, before: bool) -> Iterator[CgroupOperation]:
        if leaf.target is None:
            return
        files = self._cgroups.files
        for controller, file, new, why in cgroup_settings(
            leaf.target, self._cgroups.version, ours=leaf.ours
        ):
            if file in (CPUS, MEMS) or (file == MIGRATE) != before:
                continue
            path = self._cgroups.path(controller, leaf.cgroup, file)
            try:
                present, fresh = files.read(path).strip(), False
            except FileNotFoundError:
                present, fresh = "", True
            if fresh and new in NO_LIMIT:
                continue  # without the controller there is no limit to take away
            if fresh and (lack := self._lack(controller, file)) is not None:
                self.lacking[lack] = None
                continue
            if fresh and not leaf.ours:
                continue
            if not fresh and is_same_cgroup_value(file, present, new):
                continue
            yield CgroupOperation(
                CgroupOperationKind.WRITE,
                controller,
                leaf.cgroup,
                file,
                present,
                new,
                why,
                fresh,
                leaf.unit,
            )

    def _lack(self, controller: str, file: str) -> str | None:
        """Return in words why no cgroup here has a file, or None if ours will have it."""
        files, top = self._cgroups.files, self._cgroups.path(controller, "", file)
        if controller == HUGETLB:
            if (lack := self.hugetlb_lack()) is not None:
                return f"hugepages are not limited: {lack}"
            size, known = file.split(".")[1], self._host.page_sizes
            if known is not None and size not in map(page_size_name, known):
                return f"hugepages of {size} are not limited: this kernel has none"
        if file == MIGRATE and not files.exists(top):
            return f"memory stays where it was used before: this kernel has no {MIGRATE}"
        no_memsw = file == MEMSW and not files.exists(top)
        if no_memsw or (file == SWAP and not self._host.counts_swap):
            return "swap is not limited: this kernel does not count it; boot with swapaccount=1"
        return None

    def hugetlb_lack(self) -> str | None:
        """Return in words what keeps hugetlb from a cgroup of ours, or None if nothing does."""
        groups, above = self._cgroups, parent_cgroup_path(self._root)
        if groups.version == 1:
            there = groups.files.exists(HUGETLB)
            return None if there else f"the controller {HUGETLB} is not mounted; mount it"
        path = groups.path(CPUSET, above, SUBTREE)
        if groups.exists(above) and HUGETLB not in groups.files.read(path).split():
            mend = f"write '+{HUGETLB}' to its {SUBTREE}"
            return f"{as_proc_cgroup_path(above)} does not hand {HUGETLB} down; {mend}"
        return None
