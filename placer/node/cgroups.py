"""Cgroup trees of both versions: names of files, sets, processes."""

import errno
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain

from placer.node.cgroup_files import CgroupFilesystem
from placer.node.container_roots import CONTAINER_ROOTS
from placer.node.systemd_units import SystemdInterface, UnavailableSystemd
from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list

CPUSET, CPU, MEMORY, PIDS, HUGETLB = "cpuset", "cpu", "memory", "pids", "hugetlb"
"""The controllers that are written."""

CPUS, MEMS = "cpuset.cpus", "cpuset.mems"

MIGRATE = "cpuset.memory_migrate"
"""Says on version 1 whether memory moves with a new set of nodes; on version 2 it always does."""

MEMSW = "memory.memsw.limit_in_bytes"
"""The limit of memory and swap together, on version 1."""

_EFFECTIVE = {
    1: {CPUS: "cpuset.effective_cpus", MEMS: "cpuset.effective_mems"},
    2: {CPUS: "cpuset.cpus.effective", MEMS: "cpuset.mems.effective"},
}

GONE = (errno.ENOENT, errno.ENODEV)
"""What the kernel answers for a cgroup that was removed, before it is opened or after."""

_UNIT_ENDINGS = (".slice", ".scope", ".service", ".mount", ".socket", ".swap")


class CgroupReader:
    """Reads cgroups by their path below the root, ``""``, on either version.

    Attributes:
        units: The systemd units; systemd owns their cgroups and writes them when asked.
        container_roots: The cgroups below which runtimes put containers.

    """

    def __init__(
        self,
        files: CgroupFilesystem,
        units: SystemdInterface | None = None,
        container_roots: Iterable[str] = CONTAINER_ROOTS,
    ) -> None:
        self.files = files
        self.container_roots = tuple(container_roots)
        if files.version == 1:
            units = UnavailableSystemd("it sets CPUs on cgroup v2 only")
        self.units: SystemdInterface = units or UnavailableSystemd("it cannot be asked here")
        self.version = files.version

    def path(self, controller: str, cgroup: str, name: str = "") -> str:
        """Return the path of a file of a cgroup, or of the cgroup, in a controller's hierarchy."""
        first = controller if self.version == 1 else ""
        return "/".join(part for part in (first, cgroup, name) if part)

    def effective_path(self, cgroup: str, name: str) -> str:
        """Return the path of the file that says what the kernel made of cpus or mems."""
        return self.path(CPUSET, cgroup, _EFFECTIVE[self.version][name])

    def exists(self, cgroup: str, controller: str = CPUSET) -> bool:
        """Return whether there is such a cgroup."""
        return self.files.exists(self.path(controller, cgroup))

    def effective(self, cgroup: str, name: str) -> CpuSet:
        """Return the CPUs, or the NUMA nodes, that processes of the cgroup can use."""
        try:
            return parse_cpuset(self.files.read(self.effective_path(cgroup, name)))
        except FileNotFoundError:
            if self.version == 1 or not cgroup:
                return parse_cpuset(self.files.read(self.path(CPUSET, cgroup, name)))
            return self.effective(
                parent_cgroup_path(cgroup), name
            )  # no controller: as in the one above

    def configured(self, cgroup: str, name: str) -> str:
        """Return the text in the cgroup's cpus or mems, empty without the controller."""
        try:
            return self.files.read(self.path(CPUSET, cgroup, name)).strip()
        except OSError as error:
            if error.errno not in GONE:
                raise
            return ""

    def has_file(self, cgroup: str, name: str) -> bool:
        """Return whether a cgroup has a file of the cpuset controller."""
        return self.files.exists(self.path(CPUSET, cgroup, name))

    def children(self, cgroup: str) -> list[str]:
        """Return the paths of the cgroups directly below a cgroup, ascending."""
        below = self.files.children(self.path(CPUSET, cgroup))
        return [child_cgroup_path(cgroup, name) for name in below]

    def children_if_there(self, cgroup: str) -> list[str]:
        """Return `children`, or none of a cgroup that somebody else has removed."""
        try:
            return self.children(cgroup)
        except OSError as error:
            if error.errno not in GONE:
                raise
            return []

    def below(self, cgroup: str) -> Iterator[str]:
        """Yield the cgroups below a cgroup, each before those below it."""
        return self._below(cgroup, lambda _: True)

    def below_with(self, cgroup: str, file: str) -> Iterator[str]:
        """Yield those of them that have a set of cpus or mems of their own.

        On version 1 there are none below one without: somebody else may nest as many as they
        like, and those need not be looked through.
        """
        return self._below(cgroup, lambda one: bool(self.configured(one, file)))

    def _below(self, cgroup: str, goes: Callable[[str], bool]) -> Iterator[str]:
        """Yield the cgroups below that go on; somebody else may make and remove some meanwhile."""
        waiting = [cgroup]
        while waiting:
            one = waiting.pop()
            if one != cgroup:
                if not goes(one):
                    continue
                yield one
            waiting += reversed(self.children_if_there(one))

    def has_processes(self, cgroup: str) -> bool:
        """Return whether a process is in the cgroup, or in one below it."""
        if self.version == 2:
            try:
                events = self.files.read(self.path(CPUSET, cgroup, "cgroup.events"))
                return "populated 1" in events.splitlines()
            except FileNotFoundError:
                pass  # the root has none, nor has a cgroup that went
        # Version 1 lets no process into a cgroup without CPUs.
        below = self.below_with(cgroup, CPUS) if self.version == 1 else self.below(cgroup)
        for one in chain((cgroup,), below):
            try:
                if self.files.read(self.path(CPUSET, one, "cgroup.procs")).strip():
                    return True
            except OSError as error:
                if error.errno == errno.EOPNOTSUPP:  # a threaded cgroup: its processes are above
                    continue
                if error.errno not in GONE:
                    raise
        return False


@lru_cache(1024)
def parse_cpuset(text: str) -> CpuSet:
    """Return the set in a cpuset file's text; cached, as hundreds of containers have the same."""
    return parse_cpu_list(text.strip())


@lru_cache(1024)
def cpuset_file_text(cpus: CpuSet) -> str:
    """Return a set as a cpuset file says it."""
    return format_cpu_list(cpus)


def child_cgroup_path(cgroup: str, name: str) -> str:
    """Return the path of a cgroup below another."""
    return f"{cgroup}/{name}" if cgroup else name


def parent_cgroup_path(cgroup: str) -> str:
    """Return the path of the cgroup above; the root is ``""``."""
    return cgroup.rpartition("/")[0]


def as_proc_cgroup_path(cgroup: str) -> str:
    """Return a cgroup's path as /proc/PID/cgroup says it."""
    return f"/{cgroup}"


def is_systemd_unit(cgroup: str) -> bool:
    """Return whether the cgroup is that of a systemd unit, by its name."""
    return cgroup.endswith(_UNIT_ENDINGS)


def is_systemd_system_unit(cgroup: str) -> bool:
    """Return whether a cgroup is a unit of the system's own systemd: only slices are above it.

    Inside any other unit a second systemd may run, as in a container or for a user.
    """
    *above, _ = cgroup.split("/")
    return is_systemd_unit(cgroup) and all(name.endswith(".slice") for name in above)
