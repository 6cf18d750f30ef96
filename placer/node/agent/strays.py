"""Strays: processes that the kernel moved out of a cpuset (version 1), brought back.

When the last CPU of a cpuset goes offline, its processes go to the cpuset above, and stay there
when the CPU comes back. The other hierarchies keep them, and so say where they belong.
"""

import logging
from collections.abc import Iterable

from placer.node.cgroups import CPU, CPUSET, Cgroups

log = logging.getLogger(__name__)


def return_stray_processes(cgroups: Cgroups, leaves: Iterable[str]) -> int:
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


def _processes(cgroups: Cgroups, controller: str, cgroup: str) -> set[str]:
    try:
        return set(cgroups.files.read(cgroups.path(controller, cgroup, "cgroup.procs")).split())
    except FileNotFoundError:
        return set()
