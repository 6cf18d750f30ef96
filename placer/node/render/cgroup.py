"""Values for a container's cgroup files, on version 1 and on version 2."""

import mmap
from collections.abc import Iterator
from math import ceil, log2
from typing import Literal, NamedTuple

from placer.node.cgroups import (
    CPU,
    CPUS,
    CPUSET,
    HUGETLB,
    MEMORY,
    MEMS,
    MEMSW,
    MIGRATE,
    PIDS,
    cpuset_file_text,
)
from placer.node.targets import ContainerCgroupTarget
from placer_models.limits import ContainerLimits
from placer_models.policy import QosClass

PERIOD_US = 100_000
"""The kernel's own period of CPU quotas."""

LEAST_QUOTA_US = 1_000
"""The smallest quota that the kernel accepts."""

NO_LIMIT = ("max", "-1")
"""The values that mean no limit, on version 2 and on version 1."""

SWAP = "memory.swap.max"

_MEMORY_V1 = "memory.limit_in_bytes"

UNLIMITED_BYTES = 2**62
"""Memory limits beyond this mean no limit, for which version 1 has no word."""

_WHY_CPUS = {
    QosClass.LSE: "CPUs that are shared with nobody",
    QosClass.LSR: "CPUs of its own, shared with BE pods only",
    QosClass.LS: "the shared pool",
    QosClass.BE: "the pool of best-effort pods",
}


class CgroupSetting(NamedTuple):
    """One file of a cgroup and what it is to say."""

    controller: str
    file: str
    text: str
    why: str


def cgroup_settings(
    target: ContainerCgroupTarget, version: Literal[1, 2], *, ours: bool
) -> tuple[CgroupSetting, ...]:
    """Return what the files of a container's cgroup are to say, cpuset first.

    In a cgroup that the kubelet made, weights and limits are the kubelet's: there only the
    cpuset is set, and the quota of a pod with CPUs of its own is taken away.
    """
    found = []
    if version == 1:
        found.append(
            CgroupSetting(CPUSET, MIGRATE, "1", "its memory moves with it, as on version 2")
        )
    found += [
        CgroupSetting(CPUSET, MEMS, cpuset_file_text(target.mems), "memory beside its CPUs"),
        CgroupSetting(CPUSET, CPUS, cpuset_file_text(target.cpus), _WHY_CPUS[target.qos]),
    ]
    if target.pinned:
        found.append(_quota(None, version, "its CPUs are its own: a quota would throttle it"))
    if not ours:
        return tuple(found)
    limits = target.limits
    if not target.pinned:
        if version == 1 and limits.cpu_milli is not None:
            found.append(CgroupSetting(CPU, "cpu.cfs_period_us", str(PERIOD_US), "its CPU limit"))
        why = "its CPU limit" if limits.cpu_milli is not None else "it has no CPU limit"
        found.append(_quota(limits.cpu_milli, version, why))
    found.append(_weight(target.cpu_milli, version))
    found += _memory(limits, version)
    for page_bytes, size in target.hugepages:
        why = "the hugepages that it asks for" if size else "it asks for no hugepages of this size"
        found += [
            CgroupSetting(HUGETLB, f, str(size), why)
            for f in hugetlb_file_names(page_bytes, version)
        ]
    text, why = NO_LIMIT[0], "it has no limit of processes"
    if limits.pids is not None:
        text, why = str(limits.pids), "its limit of processes"
    found.append(CgroupSetting(PIDS, "pids.max", text, why))
    return tuple(found)


def hugetlb_file_names(page_bytes: int, version: Literal[1, 2]) -> tuple[str, str]:
    """Return the files that limit hugepages of a size: those in use, and those reserved.

    Without the second, a process that maps too many is killed when it touches them.
    """
    ending = "max" if version == 2 else "limit_in_bytes"
    size = page_size_name(page_bytes)
    return f"hugetlb.{size}.{ending}", f"hugetlb.{size}.rsvd.{ending}"


def page_size_name(page_bytes: int) -> str:
    """Return a size of pages as the kernel's files and OCI write it: 64KB, 2MB, 1GB."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB")):
        if page_bytes >= unit:
            return f"{page_bytes // unit}{name}"
    return f"{page_bytes >> 10}KB"


def cpu_shares_of(cpu_milli: int) -> int:
    """Return the ``cpu.shares`` of a CPU request, as the kubelet works them out."""
    return min(max(2, cpu_milli * 1024 // 1000), 262_144)


def cpu_weight_of_shares(shares: int) -> int:
    """Return the ``cpu.weight`` for ``cpu.shares``, as runc and crun convert since 2025.

    2 becomes 1, 1024 becomes 100 and 262144 becomes 10000.
    """
    power = log2(shares)
    return ceil(10 ** ((power * power + 125 * power) / 612 - 7 / 34))


def cfs_quota_us_of_limit(limit_milli: int) -> int:
    """Return the CPU time in a period that a limit allows, in microseconds."""
    return max(LEAST_QUOTA_US, limit_milli * PERIOD_US // 1000)


def is_same_cgroup_value(file: str, present: str, wanted: str) -> bool:
    """Return whether a file says what is wanted; the kernel words some values its own way."""
    now, want = present.split(), wanted.split()
    if file == "cpu.max":
        return now[: len(want)] == want
    if file in (_MEMORY_V1, MEMSW):
        return _bytes(now) == _bytes(want)
    return now == want


def is_higher_cgroup_v1_limit(limit: str, other: str) -> bool:
    """Return whether a limit of version 1 allows more bytes than another (empty for no limit)."""
    this, that = _bytes(limit.split()), _bytes(other.split() or [NO_LIMIT[1]])
    return that is not None and (this is None or this > that)


def _bytes(words: list[str]) -> int | None:
    size = int(words[0]) if words else 0
    return None if size < 0 or size > UNLIMITED_BYTES else size


def _memory(limits: ContainerLimits, version: Literal[1, 2]) -> Iterator[CgroupSetting]:
    """Yield the limits of memory and of swap; version 1 limits both together."""
    memory, swap = limits.memory_bytes, limits.swap_bytes
    why = "its memory limit" if memory is not None else "it has no memory limit"
    file = "memory.max" if version == 2 else _MEMORY_V1
    yield CgroupSetting(MEMORY, file, _pages(memory, version, least=1), why)
    why = "its swap limit" if swap is not None else "it has no swap limit"
    if version == 2:
        yield CgroupSetting(MEMORY, SWAP, _pages(swap, version), why)
        return
    both = None if memory is None or swap is None else memory + swap
    yield CgroupSetting(MEMORY, MEMSW, _pages(both, version, least=1), why)


def _pages(limit_bytes: int | None, version: Literal[1, 2], least: int = 0) -> str:
    """Return a limit in whole pages, as the kernel rounds it."""
    if limit_bytes is None:
        return NO_LIMIT[version == 1]
    return str(max(least, limit_bytes // mmap.PAGESIZE) * mmap.PAGESIZE)


def _quota(limit_milli: int | None, version: Literal[1, 2], why: str) -> CgroupSetting:
    if version == 1:
        text = "-1" if limit_milli is None else str(cfs_quota_us_of_limit(limit_milli))
        return CgroupSetting(CPU, "cpu.cfs_quota_us", text, why)
    text = "max" if limit_milli is None else f"{cfs_quota_us_of_limit(limit_milli)} {PERIOD_US}"
    return CgroupSetting(CPU, "cpu.max", text, why)


def _weight(cpu_milli: int, version: Literal[1, 2]) -> CgroupSetting:
    shares = cpu_shares_of(cpu_milli)
    if version == 1:
        return CgroupSetting(CPU, "cpu.shares", str(shares), "its CPU request")
    return CgroupSetting(CPU, "cpu.weight", str(cpu_weight_of_shares(shares)), "its CPU request")
