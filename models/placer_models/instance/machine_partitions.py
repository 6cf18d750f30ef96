"""Partition tables: sets of GPUs, as people write them."""

from collections.abc import Collection, Iterable, Sequence

from placer_models.cpuset import format_cpu_list, parse_cpu_list
from placer_models.device import PartitionTable
from placer_models.message_text import in_quotes

MAX_PARTITIONS = 1_024
"""No fabric manager has nearly as many."""


def read_partitions(written: Sequence[str], minors: Collection[int]) -> PartitionTable:
    """Return the table, small partitions first; each is written as a list of minors: ``0-3``.

    Raises:
        ValueError: A set is empty, is there twice, or names a GPU that does not exist.

    """
    if len(written) > MAX_PARTITIONS:
        raise ValueError(f"got {len(written):,} partitions; expected {MAX_PARTITIONS:,} at most")
    found: set[tuple[int, ...]] = set()
    for text in written:
        part = tuple(sorted(parse_cpu_list(text)))
        if not part:
            raise ValueError("a partition is empty; expected GPUs such as '0-3'")
        if strangers := set(part) - set(minors):
            known = format_cpu_list(minors) or "none"
            raise ValueError(
                f"the partition {in_quotes(text)} has GPU {min(strangers)}; the machine has {known}"
            )
        if part in found:
            raise ValueError(f"the partition {in_quotes(text)} is given twice")
        found.add(part)
    return tuple(sorted(found, key=lambda part: (len(part), part)))


def write_partitions(table: Iterable[Sequence[int]]) -> list[str]:
    """Return the table as `read_partitions` reads it."""
    return [format_cpu_list(part) for part in table]
