"""Partition tables over single devices: which devices a table does not tell apart."""

from collections.abc import Sequence

from placer_models.device import PartitionTable


def of_devices(table: PartitionTable, minors: Sequence[int]) -> frozenset[frozenset[int]]:
    """Return the partitions that consist of these devices only.

    A partition with a device that is broken or missing cannot be made.
    """
    known = set(minors)
    return frozenset(frozenset(part) for part in table if known.issuperset(part))


def interchangeable(parts: frozenset[frozenset[int]], a: int, b: int) -> bool:
    """Return whether the partitions stay the same when the two devices change places."""
    return all(part ^ {a, b} in parts for part in parts if (a in part) != (b in part))
