"""What a container's cgroup files are to say, on version 1 and on version 2."""

import mmap
from math import ceil, log2
from typing import Literal, NamedTuple

from placer.node.cgroups import CPU, CPUS, CPUSET, MEMORY, MEMS, PIDS
from placer.node.targets import Target
from placer_models.cpuset import format_cpu_list

PERIOD_US = 100_000
"""The kernel's own period of CPU quotas."""

LEAST_QUOTA_US = 1_000
"""The kernel refuses a smaller quota."""

NO_LIMIT = ("max", "-1")
"""What says that there is no limit, on version 2 and on version 1."""

UNLIMITED_BYTES = 2**62
"""Limits of memory beyond this stand for none; version 1 has no word for it."""


class Setting(NamedTuple):
    """One file of a cgroup and what it is to say."""

    controller: str
    file: str
    text: str
    why: str


def settings(target: Target, version: Literal[1, 2], *, ours: bool) -> tuple[Setting, ...]:
    """Return what the files of a container's cgroup are to say, cpuset first.

    In a cgroup that the kubelet made, weights and limits are the kubelet's: there only the
    cpuset is set, and the quota of a pod with CPUs of its own taken away.
    """
    found = [
        Setting(CPUSET, MEMS, format_cpu_list(target.mems), "memory beside its CPUs"),
        Setting(CPUSET, CPUS, format_cpu_list(target.cpus), _why_cpus(target)),
    ]
    if target.pinned:
        found.append(_quota(None, version, "its CPUs are its own: a quota would throttle it"))
    if not ours:
        return tuple(found)
    limits = target.limits
    if not target.pinned:
        if version == 1 and limits.cpu_milli is not None:
            found.append(Setting(CPU, "cpu.cfs_period_us", str(PERIOD_US), "its CPU limit"))
        why = "its CPU limit" if limits.cpu_milli is not None else "it has no CPU limit"
        found.append(_quota(limits.cpu_milli, version, why))
    found.append(_weight(target.cpu_milli, version))
    file = "memory.max" if version == 2 else "memory.limit_in_bytes"
    text, why = NO_LIMIT[version == 1], "it has no memory limit"
    if limits.memory_bytes is not None:
        text = str(max(1, limits.memory_bytes // mmap.PAGESIZE) * mmap.PAGESIZE)
        why = "its memory limit"
    found.append(Setting(MEMORY, file, text, why))
    text, why = NO_LIMIT[0], "it has no limit of processes"
    if limits.pids is not None:
        text, why = str(limits.pids), "its limit of processes"
    found.append(Setting(PIDS, "pids.max", text, why))
    return tuple(found)


def shares_of(cpu_milli: int) -> int:
    """Return the ``cpu.shares`` of a CPU request, as the kubelet works them out."""
    return min(max(2, cpu_milli * 1024 // 1000), 262_144)


def weight_of(shares: int) -> int:
    """Return the ``cpu.weight`` for ``cpu.shares``, as runc and crun convert since 2025.

    2 becomes 1, 1024 becomes 100 and 262144 becomes 10000.
    """
    power = log2(shares)
    return ceil(10 ** ((power * power + 125 * power) / 612 - 7 / 34))


def quota_us(limit_milli: int) -> int:
    """Return the CPU time in a period that a limit allows."""
    return max(LEAST_QUOTA_US, limit_milli * PERIOD_US // 1000)


def same(file: str, present: str, wanted: str) -> bool:
    """Return whether a file says what is wanted; the kernel words some values its own way."""
    now, want = present.split(), wanted.split()
    if file == "cpu.max":
        return now[: len(want)] == want
    if file == "memory.limit_in_bytes":
        return _bytes(now) == _bytes(want)
    return now == want


def _bytes(words: list[str]) -> int | None:
    size = int(words[0]) if words else 0
    return None if size < 0 or size > UNLIMITED_BYTES else size


def _quota(limit_milli: int | None, version: Literal[1, 2], why: str) -> Setting:
    if version == 1:
        text = "-1" if limit_milli is None else str(quota_us(limit_milli))
        return Setting(CPU, "cpu.cfs_quota_us", text, why)
    text = "max" if limit_milli is None else f"{quota_us(limit_milli)} {PERIOD_US}"
    return Setting(CPU, "cpu.max", text, why)


def _weight(cpu_milli: int, version: Literal[1, 2]) -> Setting:
    shares = shares_of(cpu_milli)
    if version == 1:
        return Setting(CPU, "cpu.shares", str(shares), "its CPU request")
    return Setting(CPU, "cpu.weight", str(weight_of(shares)), "its CPU request")


def _why_cpus(target: Target) -> str:
    match target.qos.value:
        case "LSE":
            return "CPUs that are shared with nobody"
        case "LSR":
            return "CPUs of its own, shared with BE pods only"
        case "LS":
            return "the shared pool"
        case _:
            return "the pool of best-effort pods"
