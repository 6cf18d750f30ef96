"""Strangers: what may run on CPUs that pods own alone, though it belongs to no pod.

These are processes outside all pods, kernel threads that may be moved, interrupts, and the masks
of the kernel's work queues. A cpuset keeps other *pods* away from an owner's CPUs; these are in
no cpuset of a pod. Threads of the kernel that are bound to their CPU do its housekeeping and have
to stay: they are no strangers.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from placer.node.discover.machine_files import parse_kernel_cpu_mask
from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list

PF_KTHREAD, PF_NO_SETAFFINITY = 0x00200000, 0x04000000
"""Flags of a task in /proc/PID/stat: a thread of the kernel; one whose CPUs cannot be changed."""

_WORKQUEUES = "sys/devices/virtual/workqueue"
_IRQS = "proc/irq"
_KUBELET = "kubepods"


class StrangerKind(StrEnum):
    """What a stranger is."""

    PROCESS = "process"
    KERNEL_THREAD = "kernel-thread"
    IRQ = "irq"
    WORKQUEUE = "workqueue"


@dataclass(frozen=True, slots=True)
class Stranger:
    """One of them.

    Attributes:
        key: Tells it apart: a task's id and its start in clock ticks since boot, or a file's path
            below the root.
        name: For people.
        cpus: CPUs that it may use now.
        kubelets: Whether it is in a pod of the kubelet that no document has.

    """

    kind: StrangerKind
    key: str
    name: str
    cpus: CpuSet
    kubelets: bool = False

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"{self.kind} {self.name}"


def strangers_on_owned_cpus(
    owned: CpuSet,
    in_pods: Iterable[str],
    version: int,
    root: Path = Path("/"),
    affinity: Callable[[int], Iterable[int]] = os.sched_getaffinity,
) -> Iterator[Stranger]:
    """Yield what may run on owned CPUs, and is in none of the pods.

    Args:
        owned: CPUs that pods own alone.
        in_pods: Cgroups of pods, in the hierarchy of cpusets; what is below them counts, too.
        version: The version of the cgroups.
        root: Below which /proc and /sys are.
        affinity: Returns the CPUs that a task may use.

    """
    if not owned:
        return
    pods = frozenset(in_pods)
    for stranger in (*_tasks(pods, version, root, affinity), *_irqs(root), *_workqueues(root)):
        if stranger.cpus & owned:
            yield stranger


def cpu_mask_text(cpus: Iterable[int]) -> str:
    """Return CPUs as such a mask."""
    bits = sum(1 << cpu for cpu in set(cpus))
    groups: list[str] = []
    while bits or not groups:
        groups.append(f"{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join(reversed(groups))


def read_task_stat(root: Path, task: int) -> tuple[str, int, str]:
    """Return the name of a task, its flags, and its start in clock ticks since boot.

    Raises:
        OSError: It ended.

    """
    text = (root / f"proc/{task}/stat").read_text(encoding="utf-8", errors="replace")
    name = text[text.index("(") + 1 : text.rindex(")")]
    words = text[text.rindex(")") + 2 :].split()  # the third field and those after it
    return name, int(words[6]), words[19]


def _tasks(
    pods: frozenset[str], version: int, root: Path, affinity: Callable[[int], Iterable[int]]
) -> Iterator[Stranger]:
    for entry in sorted(root.glob("proc/[0-9]*"), key=lambda one: int(one.name)):
        try:
            cgroup = _cgroup_of(entry, version)
            if _within(cgroup, pods):
                continue
            tasks = sorted(int(task.name) for task in (entry / "task").iterdir())
        except OSError:  # it ended meanwhile
            continue
        kubelets = any(part.startswith(_KUBELET) for part in cgroup.split("/"))
        for task in tasks:
            try:
                name, flags, start = read_task_stat(root, task)
                cpus = frozenset(affinity(task))
            except OSError:
                continue
            if flags & PF_NO_SETAFFINITY:
                continue
            kind = StrangerKind.KERNEL_THREAD if flags & PF_KTHREAD else StrangerKind.PROCESS
            where = "" if flags & PF_KTHREAD else f" in /{cgroup}"
            yield Stranger(kind, f"{task} {start}", f"{task} ({name}){where}", cpus, kubelets)


def _cgroup_of(process: Path, version: int) -> str:
    text = (process / "cgroup").read_text(encoding="utf-8", errors="surrogateescape")
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        named = controllers.split(",")
        if (version == 2 and named == [""]) or (version == 1 and "cpuset" in named):
            return path.strip("/")
    return ""


def _within(cgroup: str, pods: frozenset[str]) -> bool:
    while cgroup:
        if cgroup in pods:
            return True
        cgroup = cgroup.rpartition("/")[0]
    return False


def _irqs(root: Path) -> Iterator[Stranger]:
    """Yield interrupts that somebody handles: those have a folder by the handler's name."""
    for folder in sorted(root.glob(f"{_IRQS}/[0-9]*"), key=lambda one: int(one.name)):
        handlers = sorted(one.name for one in folder.iterdir() if one.is_dir())
        path = f"{_IRQS}/{folder.name}/smp_affinity_list"
        try:
            cpus = parse_cpu_list((root / path).read_text().strip())
        except (OSError, ValueError):
            continue
        if handlers:
            name = f"{folder.name} ({', '.join(handlers)})"
            yield Stranger(StrangerKind.IRQ, path, name, cpus)


def _workqueues(root: Path) -> Iterator[Stranger]:
    """Yield the mask of all work queues that are bound to no CPU, and those of each."""
    folder = root / _WORKQUEUES
    for file in (folder / "cpumask", *sorted(folder.glob("*/cpumask"))):
        try:
            cpus = parse_kernel_cpu_mask(file.read_text())
        except (OSError, ValueError):
            continue
        name = "all" if file.parent == folder else file.parent.name
        yield Stranger(StrangerKind.WORKQUEUE, str(file.relative_to(root)), name, cpus)


def stranger_in_words(stranger: Stranger, owned: CpuSet) -> str:
    """Return what is wrong, in words."""
    on = format_cpu_list(stranger.cpus & owned)
    return f"{stranger.title} may run on CPUs {on}, which pods own alone"
