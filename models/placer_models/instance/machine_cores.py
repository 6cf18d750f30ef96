"""Cores and caches, from the regular ways in which firmware numbers CPUs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.message_text import count_with_noun, cpu_ids_with_noun


class ThreadNumbering(StrEnum):
    """How the threads of a core are numbered."""

    STRIDED = "strided"
    """First one thread of every core, then the next of every core (most x86 servers)."""

    ADJACENT = "adjacent"
    """The threads of a core follow each other (POWER, hybrid Intel)."""


def cores_of_numbered_cpus(
    cpus: CpuSet, threads_per_core: int, numbering: ThreadNumbering
) -> list[CpuSet]:
    """Return the cores of a regular set of CPUs, ascending by their first thread."""
    ids = sorted(cpus)
    count, rest = divmod(len(ids), threads_per_core)
    if rest:
        raise ValueError(
            f"{count_with_noun(len(ids), 'CPU')} "
            f"{'does' if len(ids) == 1 else 'do'} not make cores of {threads_per_core} threads each"
        )
    if numbering is ThreadNumbering.STRIDED:
        return [frozenset(ids[i::count]) for i in range(count)]
    starts = range(0, len(ids), threads_per_core)
    return [frozenset(ids[i : i + threads_per_core]) for i in starts]


def cpus_of_each_cache(
    cores: Sequence[CpuSet], cores_per_cache: int, package_of: Mapping[int, int]
) -> list[CpuSet]:
    """Return the CPUs of each last-level cache: consecutive cores of one package."""
    by_package: dict[int, list[CpuSet]] = defaultdict(list)
    for core in sorted(cores, key=min):
        by_package[package_of[min(core)]].append(core)
    caches = []
    for package, members in sorted(by_package.items()):
        if len(members) % cores_per_cache:
            raise ValueError(
                f"the {len(members)} cores of package {package} do not make groups of "
                f"{cores_per_cache}; list its caches in llcs"
            )
        for i in range(0, len(members), cores_per_cache):
            caches.append(frozenset().union(*members[i : i + cores_per_cache]))
    return caches


def group_number_by_cpu(groups: Iterable[CpuSet], present: CpuSet, what: str) -> dict[int, int]:
    """Number the groups by their lowest CPU and return CPU -> number.

    Raises:
        ValueError: A CPU stands in two groups, or is not there at all.

    """
    ordered = sorted((group for group in groups if group), key=min)
    keys: dict[int, int] = {}
    for key, group in enumerate(ordered):
        if strangers := group - present:
            raise ValueError(
                f"{what} {format_cpu_list(group)}: "
                f"the machine has no {cpu_ids_with_noun(strangers)}"
            )
        if twice := keys.keys() & group:
            raise ValueError(
                f"{cpu_ids_with_noun(twice)}: in two {what}s at once; a CPU has one {what}"
            )
        keys |= dict.fromkeys(group, key)
    return keys
