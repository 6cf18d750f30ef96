"""What both versions of the fake cgroup files have in common: cgroups, processes, CPUs, rights."""

import errno
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal

from node.fake_controllers import Settings, parse_ids, refuse
from placer_models.cpuset import format_cpu_list, parse_cpu_list

said = lru_cache(format_cpu_list)
"""A set as text: a fake of hundreds of cgroups says the same again and again."""

ROOT_USER = 0


class Group:
    """One cgroup.

    Attributes:
        settings: Controller -> what is written in its files.
        cpus: What cpuset.cpus says.
        mems: What cpuset.mems says.

    """

    def __init__(self, parent: "Group | None") -> None:
        self.parent = parent
        self.children: dict[str, Group] = {}
        self.subtree_control: set[str] = set()
        self.settings: dict[str, Settings] = {}
        self.cpus: frozenset[int] = frozenset()
        self.mems: frozenset[int] = frozenset()
        self.exclusive = False
        self.migrate = False
        self.pids: set[int] = set()

    def below(self) -> "Iterator[Group]":
        """Yield the cgroup and all below it, parents first."""
        yield self
        for child in self.children.values():
            yield from child.below()

    @property
    def populated(self) -> bool:
        return any(group.pids for group in self.below())


class FakeTree:
    """What both versions have in common."""

    version: Literal[1, 2]

    def __init__(self, cpus: str, nodes: Mapping[int, str]) -> None:
        self.possible = frozenset(parse_cpu_list(cpus))
        self.online = self.possible
        self.nodes = frozenset(nodes)
        self.read_only = False
        self.user = ROOT_USER
        self.files = self
        self._next_pid = 1000
        self.places: dict[int, dict[str, Group]] = {}
        self.roots: dict[str, Group] = {}
        self.owners: dict[str, tuple[int, int]] = {}

    # The files.

    def read(self, path: str) -> str:
        """Return what a file says, without the line end behind it."""
        _, group, name = self.find_file(path)
        return self.read_file(path, group, name)

    def write(self, path: str, text: str) -> None:
        """Write the text and a line end, in one system call."""
        hierarchy, group, name = self.find_file(path)
        self.read_file(path, group, name)
        self._check_rights(path)
        self.write_file(path, hierarchy, group, name, text)

    def make_directory(self, path: str) -> None:
        """Make a cgroup; the one above it must be there."""
        above, _, name = path.rpartition("/")
        parent = self.find(above)[1]
        if name in parent.children:
            raise refuse(path, errno.EEXIST)
        self._check_rights(path)
        parent.children[name] = self.new_group(path, parent)

    def remove_directory(self, path: str) -> None:
        """Remove a cgroup that has no cgroups below it and no processes."""
        group = self.find(path)[1]
        self._check_rights(path)
        if group.children or group.pids or group.parent is None:
            raise refuse(path, errno.EBUSY)
        del group.parent.children[path.rpartition("/")[2]]

    def children(self, path: str) -> list[str]:
        """Return the names of the cgroups directly below a cgroup, ascending."""
        return sorted(self.find(path)[1].children)

    def exists(self, path: str) -> bool:
        """Return whether there is such a file or cgroup."""
        try:
            self.find(path)
        except OSError:
            try:
                self.read(path)
            except OSError:
                return False
        return True

    def owner(self, path: str) -> tuple[int, int]:
        """Return the uid of the owner of a file or cgroup, and its permission bits."""
        if not self.exists(path):
            raise refuse(path, errno.ENOENT)
        return self.owners.get(path, (ROOT_USER, 0o755))

    def identity(self) -> str:
        """Return what tells this tree from any other."""
        return f"fake:{id(self)}"

    # The machine.

    def start(self, path: str) -> int:
        """Start a process in a cgroup and return its id; none is left on an error."""
        self._next_pid += 1
        pid = self._next_pid
        self.places[pid] = {}
        for hierarchy, root in self.roots.items():
            self.move(pid, hierarchy, root)
        try:
            self.write(f"{path}/cgroup.procs", str(pid))
        except OSError:
            self.stop(pid)
            raise
        return pid

    def stop(self, pid: int) -> None:
        """End a process."""
        for group in self.places.pop(pid).values():
            group.pids.discard(pid)

    def affinity(self, pid: int) -> str:
        """Return the CPUs on which a process may run."""
        return format_cpu_list(self.cpus_of(pid))

    def cpus_of(self, pid: int) -> frozenset[int]:
        """Return the CPUs on which a process may run, as a set."""
        raise NotImplementedError("each version of cgroups does it in its own way")

    def set_online(self, cpu: int, online: bool) -> None:
        """Plug or unplug a CPU."""
        self.online = self.online | {cpu} if online else self.online - {cpu}

    def set_read_only(self, read_only: bool) -> None:
        """Mount anew, without or with the right to write."""
        self.read_only = read_only

    def set_user(self, user: int) -> None:
        """Act as another user from now on."""
        self.user = user

    def processes(self) -> list[int]:
        """Return the ids of all processes that were started."""
        return sorted(self.places)

    # How it is done.

    def new_group(self, path: str, parent: Group) -> Group:
        raise NotImplementedError("each version of cgroups does it in its own way")

    def read_file(self, path: str, group: Group, name: str) -> str:
        raise NotImplementedError("each version of cgroups does it in its own way")

    def write_file(self, path: str, hierarchy: str, group: Group, name: str, text: str) -> None:
        raise NotImplementedError("each version of cgroups does it in its own way")

    def _check_rights(self, path: str) -> None:
        if self.read_only:
            raise refuse(path, errno.EROFS)
        if self.user != ROOT_USER:
            raise refuse(path, errno.EACCES)

    def find_file(self, path: str) -> tuple[str, Group, str]:
        above, _, name = path.rpartition("/")
        hierarchy, group = self.find(above)
        return hierarchy, group, name

    def find(self, path: str) -> tuple[str, Group]:
        parts = path.split("/") if path else []
        hierarchy = parts.pop(0) if self.version == 1 and parts else ""
        group = self.roots.get(hierarchy)
        if group is None:
            raise refuse(path, errno.ENOENT)
        for part in parts:
            if part not in group.children:
                raise refuse(path, errno.ENOENT)
            group = group.children[part]
        return hierarchy, group

    def find_process(self, path: str, text: str) -> int:
        """Return the process that a text names."""
        if not text.strip().isdecimal():
            raise refuse(path)
        pid = int(text)
        if pid not in self.places:
            raise refuse(path, errno.ESRCH)
        return pid

    def move(self, pid: int, hierarchy: str, group: Group) -> None:
        if pid in (old := self.places[pid].get(hierarchy, group)).pids:
            old.pids.discard(pid)
        group.pids.add(pid)
        self.places[pid][hierarchy] = group

    def parse_set(self, path: str, name: str, text: str) -> frozenset[int]:
        """Return the CPUs or NUMA nodes that a text names, as far as the kernel knows them."""
        if name == "cpuset.cpus":
            return parse_ids(path, text, len(self.possible))
        found = parse_ids(path, text, 1024)
        if not found <= self.nodes:
            raise refuse(path)
        return found
