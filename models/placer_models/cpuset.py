"""Sets of CPUs, read and written in the kernel's list format (``0-3,8``)."""

from collections.abc import Collection, Iterable

CpuSet = frozenset[int]
"""The ids of logical CPUs. Ids are names, not ranks: they may have holes."""

NO_CPUS: CpuSet = frozenset()
"""The one empty set that is kept: Python makes a new empty set each time."""

MAX_CPU_ID = 65_535
"""Largest CPU id that is read; Linux itself builds for at most 8,192 CPUs."""


def cpus_without(cpus: CpuSet, gone: Collection[int]) -> CpuSet:
    """Return the CPUs that are not gone: the same object if none of them is gone."""
    return cpus if cpus.isdisjoint(gone) else cpus.difference(gone)


def is_same_cpu_set(some: CpuSet, others: CpuSet) -> bool:
    """Return whether two sets are equal; at once if they are the same object."""
    return some is others or some == others


def parse_cpu_list(text: str) -> CpuSet:
    """Read a list such as ``0-3,8``; the empty text is the empty set.

    Ranges may overlap and come in any order. Anything else (blanks, signs, a
    reversed range, a missing number) is refused, as the kubelet does.

    Raises:
        ValueError: The text is not a CPU list; the message names the part.

    """
    if text == "":
        return frozenset()
    ranges = []
    for part in text.split(","):
        first_text, dash, last_text = part.partition("-")
        first = _cpu_id(first_text, part, text)
        last = _cpu_id(last_text, part, text) if dash else first
        if last < first:
            raise ValueError(f"CPU list {text!r}: the range {part!r} runs backwards")
        ranges.append((first, last))
    cpus: set[int] = set()
    reached = -1
    # Each CPU is added once, however often a long list names it.
    for first, last in sorted(ranges):
        cpus.update(range(max(first, reached + 1), last + 1))
        reached = max(reached, last)
    return frozenset(cpus)


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Write CPUs as the shortest list: ascending, runs joined by ``-``."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(f"{a}-{b}" if b > a else f"{a}" for a, b in runs)


def _cpu_id(digits: str, part: str, text: str) -> int:
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"CPU list {text!r}: {part!r} is neither a CPU id nor a range such as 0-3")
    if len(digits) > 9 or int(digits) > MAX_CPU_ID:
        raise ValueError(f"CPU list {text!r}: CPU ids end at {MAX_CPU_ID}, got {digits}")
    return int(digits)
