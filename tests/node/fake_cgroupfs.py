"""Cgroup files in memory that answer as the kernel does, errno by errno, with processes and CPUs.

`FakeV2` answers as Linux 6.12 does, `FakeV1` as 6.1 to 6.18 do with version 1: the tables in
`data/` hold them to it. Partitions and exclusive CPUs of version 2 are not modelled, for nothing
of Placer writes them; who asks for them gets NotImplementedError.
"""

import errno
from collections.abc import Mapping
from typing import Literal

from node.fake_controllers import (
    CONTROLLERS_V1,
    CONTROLLERS_V2,
    CpuV1,
    Hugetlb,
    parse_number,
    refuse,
)
from node.fake_tree import FakeTree, Group, said

THREADED = {"cpuset", "cpu", "pids"}
"""Controllers of version 2 that suffer processes beside cgroups."""

EIGHT_CPUS: Mapping[int, str] = {0: "0-3", 1: "4-7"}
"""NUMA node -> its CPUs, of the machine on which the tables were made."""


class FakeV2(FakeTree):
    """The unified hierarchy; the root hands out all controllers."""

    version: Literal[2] = 2

    def __init__(self, cpus: str = "0-7", nodes: Mapping[int, str] = EIGHT_CPUS) -> None:
        super().__init__(cpus, nodes)
        self.roots[""] = Group(None)
        self.roots[""].subtree_control = set(CONTROLLERS_V2)

    def cpus_of(self, pid: int) -> frozenset[int]:
        """Return the CPUs on which a process may run, as a set."""
        return self._effective(self.places[pid][""], "cpuset.cpus")

    def new_group(self, path: str, parent: Group) -> Group:
        group = Group(parent)
        for controller in parent.subtree_control:
            group.settings[controller] = CONTROLLERS_V2[controller]()
        return group

    def _effective(self, group: Group, name: str) -> frozenset[int]:
        cpus = name == "cpuset.cpus"
        if group.parent is None:
            return self.online if cpus else self.nodes
        above = self._effective(group.parent, name)
        return (group.cpus if cpus else group.mems) & above or above

    def read_file(self, path: str, group: Group, name: str) -> str:
        root = group.parent is None
        match name:
            case "cgroup.controllers":
                there = CONTROLLERS_V2 if root else group.settings
                return " ".join(c for c in CONTROLLERS_V2 if c in there)
            case "cgroup.subtree_control":
                return " ".join(c for c in CONTROLLERS_V2 if c in group.subtree_control)
            case "cgroup.procs":
                return "\n".join(map(str, sorted(group.pids)))
            case "cgroup.events" if not root:
                return f"populated {int(group.populated)}\nfrozen 0"
            case "cgroup.type" if not root:
                return "domain" if self._is_valid_domain(group) else "domain invalid"
            case "cpuset.cpus.effective" | "cpuset.mems.effective":
                if root or "cpuset" in group.settings:
                    return said(self._effective(group, name.removesuffix(".effective")))
        if not root and "cpuset" in group.settings:
            match name:
                case "cpuset.cpus":
                    return said(group.cpus)
                case "cpuset.mems":
                    return said(group.mems)
                case "cpuset.cpus.partition":
                    return "member"
                case "cpuset.cpus.exclusive" | "cpuset.cpus.exclusive.effective":
                    return ""
        settings = group.settings.get(name.partition(".")[0])
        if settings is None or name not in settings.texts():
            raise refuse(path, errno.ENOENT)
        return settings.texts()[name]

    def write_file(self, path: str, hierarchy: str, group: Group, name: str, text: str) -> None:
        match name:
            case "cpuset.cpus" | "cpuset.mems":
                self._write_set(path, group, name, text)
            case "cpuset.cpus.partition":
                if text in ("root", "isolated"):
                    raise NotImplementedError("the fake knows no partitions")
                if text != "member":
                    raise refuse(path)
            case "cpuset.cpus.exclusive":
                raise NotImplementedError("the fake knows no exclusive CPUs")
            case "cgroup.procs":
                pid = self.find_process(path, text)
                self._check_host(path, group)
                self.move(pid, hierarchy, group)
            case "cgroup.subtree_control":
                self._write_subtree_control(path, group, text)
            case _:
                settings = group.settings.get(name.partition(".")[0])
                if settings is None or name.endswith(".effective"):
                    raise refuse(path)
                settings.write(path, name, text)

    def _write_set(self, path: str, group: Group, name: str, text: str) -> None:
        field = name.removeprefix("cpuset.")
        found = self.parse_set(path, name, text)
        if getattr(group, field) and not found and group.populated:
            raise refuse(path, errno.ENOSPC)
        setattr(group, field, found)

    def _write_subtree_control(self, path: str, group: Group, text: str) -> None:
        wanted: dict[str, bool] = {}
        for word in text.split():
            if word[0] not in "+-" or word[1:] not in CONTROLLERS_V2:
                raise refuse(path)
            wanted[word[1:]] = word[0] == "+"
        enable = {c for c, on in wanted.items() if on} - group.subtree_control
        disable = {c for c, on in wanted.items() if not on} & group.subtree_control
        there = CONTROLLERS_V2 if group.parent is None else group.settings
        if not enable <= set(there):
            raise refuse(path, errno.ENOENT)
        if any(disable & child.subtree_control for child in group.children.values()):
            raise refuse(path, errno.EBUSY)
        if enable and group.parent is not None:
            self._check_division(path, group, enable)
        group.subtree_control = group.subtree_control - disable | enable
        for child in group.children.values():
            for controller in disable:
                del child.settings[controller]
            if "cpuset" in disable:
                child.cpus = child.mems = frozenset()
            for controller in enable:
                child.settings[controller] = CONTROLLERS_V2[controller]()

    def _check_division(self, path: str, group: Group, enable: set[str]) -> None:
        """Refuse controllers for the cgroups below where processes would compete with them."""
        if not self._is_valid_domain(group):
            raise refuse(path, errno.ENOTSUP)
        if enable <= THREADED:
            if self._can_be_thread_root(group):
                return
        elif self._is_thread_root(group):
            raise refuse(path, errno.ENOTSUP)
        if group.pids:
            raise refuse(path, errno.EBUSY)

    def _check_host(self, path: str, group: Group) -> None:
        """Refuse a process where resources are already divided among cgroups."""
        if not self._is_valid_domain(group):
            raise refuse(path, errno.ENOTSUP)
        if group.subtree_control and not self._can_be_thread_root(group):
            raise refuse(path, errno.EBUSY)

    @staticmethod
    def _can_be_thread_root(group: Group) -> bool:
        return group.parent is None or (
            group.subtree_control <= THREADED
            and not any(child.populated for child in group.children.values())
        )

    @staticmethod
    def _is_thread_root(group: Group) -> bool:
        return bool(group.pids and group.subtree_control & THREADED)

    def _is_valid_domain(self, group: Group) -> bool:
        above = group.parent
        while above is not None and above.parent is not None:
            if self._is_thread_root(above):
                return False
            above = above.parent
        return True


class FakeV1(FakeTree):
    """A hierarchy for each controller; cpusets of children lie inside their parents'."""

    version: Literal[1] = 1

    def __init__(self, cpus: str = "0-7", nodes: Mapping[int, str] = EIGHT_CPUS) -> None:
        super().__init__(cpus, nodes)
        for controller in CONTROLLERS_V1:
            self.roots[controller] = self._group_of(controller, None)
        top = self.roots["cpuset"]
        top.cpus, top.mems, top.exclusive = self.online, self.nodes, True

    def cpus_of(self, pid: int) -> frozenset[int]:
        """Return the CPUs on which a process may run, as a set."""
        return self.places[pid]["cpuset"].cpus

    def set_online(self, cpu: int, online: bool) -> None:
        """Plug or unplug a CPU: cpusets lose it for good, processes leave cpusets without any."""
        super().set_online(cpu, online)
        top = self.roots["cpuset"]
        top.cpus = self.online
        for group in top.below():
            group.cpus &= self.online
            if group.cpus and group.mems:
                continue
            refuge = group
            while not (refuge.cpus and refuge.mems) and refuge.parent is not None:
                refuge = refuge.parent
            for pid in list(group.pids):
                self.move(pid, "cpuset", refuge)

    def new_group(self, path: str, parent: Group) -> Group:
        """Return a cgroup as it is when it is made."""
        return self._group_of(path.partition("/")[0], parent)

    def _group_of(self, controller: str, parent: Group | None) -> Group:
        group = Group(parent)
        settings = group.settings[controller] = CONTROLLERS_V1[controller]()
        if isinstance(settings, CpuV1):
            settings.fits = self._all_quotas_fit
        if isinstance(settings, Hugetlb):
            settings.is_root = parent is None
        return group

    def _all_quotas_fit(self) -> bool:
        return _quotas_fit(self.roots["cpu"], None)

    def read_file(self, path: str, group: Group, name: str) -> str:
        """Return what a file says."""
        if name == "cgroup.procs":
            return "\n".join(map(str, sorted(group.pids)))
        if name == "cgroup.clone_children":
            return "0"
        if "cpuset" in group.settings:
            match name:
                case "cpuset.cpus" | "cpuset.effective_cpus":
                    return said(group.cpus)
                case "cpuset.mems" | "cpuset.effective_mems":
                    return said(group.mems)
                case "cpuset.cpu_exclusive":
                    return str(int(group.exclusive))
                case "cpuset.memory_migrate":
                    return str(int(group.migrate))
                case "cpuset.mem_exclusive":
                    return "0"
        settings = group.settings.get(name.partition(".")[0])
        if settings is None or name not in settings.texts():
            raise refuse(path, errno.ENOENT)
        return settings.texts()[name]

    def write_file(self, path: str, hierarchy: str, group: Group, name: str, text: str) -> None:
        """Take what is written, or raise what the kernel answers."""
        match name:
            case "cpuset.cpus" | "cpuset.mems":
                self._write_set(path, group, name, text)
            case "cpuset.cpu_exclusive":
                self._write_exclusive(path, group, parse_number(path, text) != 0)
            case "cpuset.memory_migrate":
                group.migrate = parse_number(path, text) != 0
            case "cgroup.procs":
                pid = self.find_process(path, text)
                if hierarchy == "cpuset" and not (group.cpus and group.mems):
                    raise refuse(path, errno.ENOSPC)
                self.move(pid, hierarchy, group)
            case _ if name.startswith(("cgroup.", "cpuset.mem_")):
                raise NotImplementedError(f"the fake takes nothing for {name}")
            case _:
                group.settings[hierarchy].write(path, name, text)

    def _write_set(self, path: str, group: Group, name: str, text: str) -> None:
        if group.parent is None:
            raise refuse(path, errno.EACCES)
        field = name.removeprefix("cpuset.")
        found = self.parse_set(path, name, text)
        if field == "cpus" and not found <= self.online:
            raise refuse(path)
        if any(not getattr(child, field) <= found for child in group.children.values()):
            raise refuse(path, errno.EBUSY)
        if not found <= getattr(group.parent, field):
            raise refuse(path, errno.EACCES)
        if field == "cpus":
            self._check_siblings(path, group, found, group.exclusive)
        if getattr(group, field) and not found and group.populated:
            raise refuse(path, errno.ENOSPC)
        setattr(group, field, found)

    def _write_exclusive(self, path: str, group: Group, exclusive: bool) -> None:
        if any(child.exclusive > exclusive for child in group.children.values()):
            raise refuse(path, errno.EBUSY)
        if group.parent is not None:
            if exclusive > group.parent.exclusive:
                raise refuse(path, errno.EACCES)
            self._check_siblings(path, group, group.cpus, exclusive)
        group.exclusive = exclusive

    @staticmethod
    def _check_siblings(path: str, group: Group, cpus: frozenset[int], exclusive: bool) -> None:
        for other in group.parent.children.values() if group.parent else ():
            if other is not group and (exclusive or other.exclusive) and other.cpus & cpus:
                raise refuse(path)


def _quotas_fit(group: Group, above: float | None) -> bool:
    """Return whether no quota below is worth more than the one above it."""
    settings = group.settings["cpu"]
    assert isinstance(settings, CpuV1)
    share = settings.bandwidth.share()
    if share is None:
        share = above
    elif above is not None and share > above:
        return False
    return all(_quotas_fit(child, share) for child in group.children.values())
