"""Clearing: strangers are moved off the CPUs that pods own, and back when the owners are gone.

Before anything is moved, what it was and what it becomes are on disk (`cleared.json`), so that
also a later agent can put it back. What somebody else has changed since is left as it is.

Strays, too, go back: processes that the kernel moved out of a cpuset (version 1). When the last CPU
of a cpuset goes offline, its processes go to the cpuset above, and stay there when the CPU comes
back. The other hierarchies keep them, and so say where they belong.
"""

import errno
import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from placer.node.agent.strangers import (
    Stranger,
    StrangerKind,
    cpu_mask_text,
    read_task_stat,
)
from placer.node.cgroups import CPU, CPUSET, CgroupReader
from placer.node.discover.machine_files import parse_kernel_cpu_mask
from placer.node.state import AppliedStateFolder
from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list

log = logging.getLogger(__name__)

SetAffinity = Callable[[int, Iterable[int]], None]


@dataclass(frozen=True, slots=True)
class MovedStranger:
    """One stranger that was moved.

    Attributes:
        old: CPUs that it might use before we first moved it.
        was: CPUs that it might use before our last write, which a crash may have prevented.
        new: CPUs that our last write leaves it.

    """

    kind: StrangerKind
    key: str
    name: str
    old: CpuSet
    was: CpuSet
    new: CpuSet

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"{self.kind} {self.name}"


class StrangerMover:
    """Moves strangers, and knows what it moved."""

    def __init__(
        self,
        state: AppliedStateFolder,
        root: Path = Path("/"),
        affinity: Callable[[int], Iterable[int]] = os.sched_getaffinity,
        set_affinity: SetAffinity = os.sched_setaffinity,
    ) -> None:
        """Read what an earlier agent moved.

        Raises:
            ObserveOnlyError: What it says of that was changed.

        """
        self._state = state
        self._root = root
        self._affinity = affinity
        self._set_affinity = set_affinity
        self._fixed: dict[str, CpuSet] = {}  # what the kernel refused to move, and its CPUs then
        self._online: CpuSet = frozenset()
        self._moved = {one["key"]: _read(one) for one in state.cleared()}

    @property
    def moved(self) -> tuple[MovedStranger, ...]:
        """What is moved at present."""
        return tuple(self._moved.values())

    def clear(
        self, strangers: Iterable[Stranger], owned: CpuSet, online: CpuSet, present: CpuSet
    ) -> None:
        """Move strangers off owned CPUs, and give back what no owner wants any more.

        Args:
            strangers: All that may run on owned CPUs.
            owned: CPUs that pods own alone.
            online: CPUs that are online.
            present: CPUs that are there, online or not.

        """
        self._online = online
        wanted: dict[str, MovedStranger] = {}
        ours = set()
        for moved in self._moved.values():
            now = self._now(moved)
            if now is None or not self._is_ours(moved, now):
                continue  # it ended, or somebody else moved it
            ours.add(moved.key)
            if moved.old & owned and (left := self._left(moved.old, owned)):
                wanted[moved.key] = replace(moved, was=now, new=left)
        refused = {}
        for one in strangers:
            if self._fixed.get(one.key) == one.cpus:
                refused[one.key] = one.cpus
            elif one.key not in ours and not one.kubelets:
                # A task that may run anywhere may do so on CPUs that come later, too.
                old = present if one.cpus == online else one.cpus
                if left := self._left(old, owned):
                    wanted[one.key] = MovedStranger(
                        one.kind, one.key, one.name, old, one.cpus, left
                    )
        self._fixed = refused
        self._carry_out(wanted)

    def _left(self, old: CpuSet, owned: CpuSet) -> CpuSet:
        """Return the CPUs that are left to a stranger: of its own, or else all that are shared."""
        return (old - owned) & self._online or self._online - owned

    def _is_ours(self, one: MovedStranger, now: CpuSet) -> bool:
        """Return whether something has the CPUs that we left it, or had before."""
        return any(self._same(now, cpus) for cpus in (one.new, one.was, one.old))

    def _same(self, cpus: CpuSet, others: CpuSet) -> bool:
        return cpus & self._online == others & self._online

    def _carry_out(self, wanted: dict[str, MovedStranger]) -> None:
        """Note old and new CPUs on disk, then write what is not so yet."""
        back = [one for key, one in self._moved.items() if key not in wanted]
        fresh = [one for one in wanted.values() if not self._same(one.was, one.new)]
        if not back and not fresh:
            return
        self._note({**self._moved, **wanted})
        for one in back:
            now = self._now(one)
            if now is None or not self._is_ours(one, now) or self._same(now, one.old):
                continue
            if self._write(one, one.old):
                log.info("given back", extra={"what": one.title, "cpus": format_cpu_list(one.old)})
        for one in fresh:
            if self._write(one, one.new):
                log.info(
                    "moved off owned CPUs",
                    extra={"what": one.title, "cpus": format_cpu_list(one.new)},
                )
            else:
                self._fixed[one.key] = one.was
                del wanted[one.key]
        self._moved = wanted
        self._note(wanted)

    def _note(self, moved: dict[str, MovedStranger]) -> None:
        self._state.note_cleared([_written(one) for one in moved.values()])

    def _now(self, one: MovedStranger) -> CpuSet | None:
        """Return the CPUs that something may use now, or None if it is gone."""
        try:
            match one.kind:
                case StrangerKind.IRQ:
                    return parse_cpu_list((self._root / one.key).read_text().strip())
                case StrangerKind.WORKQUEUE:
                    return parse_kernel_cpu_mask((self._root / one.key).read_text())
                case _:
                    task, start = one.key.split()
                    if read_task_stat(self._root, int(task))[2] != start:
                        return None  # another one has its number by now
                    return frozenset(self._affinity(int(task)))
        except (OSError, ValueError):
            return None

    def _write(self, one: MovedStranger, cpus: CpuSet) -> bool:
        """Let something have CPUs, and return whether the kernel took that."""
        try:
            match one.kind:
                case StrangerKind.IRQ:
                    (self._root / one.key).write_text(format_cpu_list(cpus))
                case StrangerKind.WORKQUEUE:
                    (self._root / one.key).write_text(cpu_mask_text(cpus))
                case _:
                    self._set_affinity(int(one.key.split()[0]), cpus)
        except OSError as error:
            if error.errno not in (errno.ESRCH, errno.ENOENT):
                log.warning(
                    "cannot be moved",
                    extra={"what": one.title, "why": error.strerror},
                )
            return False
        return True


def _written(one: MovedStranger) -> dict[str, str]:
    sets = {name: format_cpu_list(getattr(one, name)) for name in ("old", "was", "new")}
    return {"kind": str(one.kind), "key": one.key, "name": one.name, **sets}


def _read(tree: dict[str, str]) -> MovedStranger:
    old, was, new = (parse_cpu_list(tree[name]) for name in ("old", "was", "new"))
    return MovedStranger(StrangerKind(tree["kind"]), tree["key"], tree["name"], old, was, new)


def move_stray_processes_back(cgroups: CgroupReader, leaves: Iterable[str]) -> int:
    """Move strayed processes back to their containers' cgroups, and return how many there were."""
    if cgroups.version == 2:
        return 0
    moved = 0
    for cgroup in leaves:
        here = _processes(cgroups, CPUSET, cgroup)
        for process in sorted(_processes(cgroups, CPU, cgroup) - here):
            try:
                cgroups.files.write(cgroups.path(CPUSET, cgroup, "cgroup.procs"), process)
            except ProcessLookupError:
                continue  # it ended meanwhile
            log.info(
                "brought a process back to its cpuset", extra={"pid": process, "cgroup": cgroup}
            )
            moved += 1
    return moved


def _processes(cgroups: CgroupReader, controller: str, cgroup: str) -> set[str]:
    try:
        return set(cgroups.files.read(cgroups.path(controller, cgroup, "cgroup.procs")).split())
    except FileNotFoundError:
        return set()
