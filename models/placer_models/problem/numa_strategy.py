"""NUMA allocate strategies as arithmetic: what their points are counted from (C11)."""

from dataclasses import dataclass

from placer_models.policy import NumaStrategy


@dataclass(frozen=True, slots=True)
class NumaStrategyOnCells:
    """A NUMA allocate strategy, and what it looks at on a node of several cells.

    Attributes:
        free: CPUs of each cell that a pod may still own.
        points: What one step in the first part of the value counts: more than the whole second
            part can ever be.

    """

    strategy: NumaStrategy
    free: tuple[int, ...]
    points: int

    @property
    def least_free(self) -> int:
        """The fewest free CPUs of a cell that has any."""
        return min((count for count in self.free if count), default=0)

    @property
    def most_free(self) -> int:
        """The most free CPUs of a cell."""
        return max(self.free)


def unordered_pair_count(count: int) -> int:
    """Return how many pairs ``count`` CPUs make."""
    return count * (count - 1) // 2


def fewest_pairs_in_same_part(cpus: int, parts: int) -> int:
    """Return how many pairs lie inside parts if the CPUs are split as equally as possible."""
    size, larger = divmod(cpus, parts)
    return larger * unordered_pair_count(size + 1) + (parts - larger) * unordered_pair_count(size)


def cpu_count_beside_whole_cores(cpus: int, parts: int, threads: int) -> int:
    """Return how many CPUs such parts have beside whole cores of so many threads."""
    size, larger = divmod(cpus, parts)
    return larger * ((size + 1) % threads) + (parts - larger) * (size % threads)
