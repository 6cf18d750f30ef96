"""Boards: a node's devices as equivalence classes, and what a set of them is worth."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from placer_models.cpuset import format_cpu_list
from placer_models.device import GPU, Device, GpuLinkMatrix, PartitionTable, is_mig_instance
from placer_models.records import CachedHash, record


def partition_table_sets_among(
    table: PartitionTable, minors: Sequence[int]
) -> frozenset[frozenset[int]]:
    """Return the partitions that consist of these devices only.

    A partition with a device that is broken or missing cannot be made.
    """
    known = set(minors)
    return frozenset(frozenset(part) for part in table if known.issuperset(part))


def are_alike_in_partitions(parts: frozenset[frozenset[int]], a: int, b: int) -> bool:
    """Return whether the partitions stay the same when the two devices change places."""
    return all(part ^ {a, b} in parts for part in parts if (a in part) != (b in part))


@dataclass(frozen=True, slots=True)
class LinkedDeviceClasses(CachedHash):
    """The healthy devices of one type on a node, in equivalence classes.

    Devices of a class have equal links to every other device of the board, and the same NUMA
    node, package, PCIe root and switch, model, memory, capacity and labels of virtual functions.
    Where pods look at a partition table, swapping devices of a class does not change it either.
    Each MIG instance is a class of its own.

    Attributes:
        classes: Minors of each class, ascending; classes ordered by their first minor.
        numa_nodes: The NUMA node of each class; None where unknown.
        packages: The package of each class; None where unknown.
        switches: The PCIe switch of each class; None where unknown.
        inner: Centi GB/s between two devices of one class; 0 for a class of one.
        across: Centi GB/s between devices of two classes; the diagonal is ``inner``.
        partitions: What each partition of the table takes of each class; partitions that differ
            only by devices of the same class stand here once. None: there is no table.
        honored: Whether a pod may have nothing but partitions.

    """

    classes: tuple[tuple[int, ...], ...]
    numa_nodes: tuple[int | None, ...]
    packages: tuple[int | None, ...]
    switches: tuple[str | None, ...]
    inner: tuple[int, ...]
    across: tuple[tuple[int, ...], ...]
    partitions: tuple[tuple[int, ...], ...] | None = None
    honored: bool = False

    __hash__ = CachedHash.__hash__

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many devices each class has: the counts of the empty board."""
        return tuple(len(minors) for minors in self.classes)


@record(frozen=True, slots=True)
class LinkedDeviceSetCounts:
    """A set of devices, up to swapping devices of a class.

    Attributes:
        counts: How many devices are taken from each class.
        pair_minimum: Centi GB/s of the slowest pair; 0 for fewer than two devices.
        pair_sum: Centi GB/s of all pairs together.

    """

    counts: tuple[int, ...]
    pair_minimum: int
    pair_sum: int


@lru_cache(maxsize=4096)
def linked_classes_of_devices(
    devices: tuple[Device, ...],
    links: GpuLinkMatrix | None,
    table: PartitionTable | None = None,
    *,
    honored: bool = False,
    marks: tuple[tuple[int, int], ...] = (),
) -> LinkedDeviceClasses:
    """Return the board of a node's healthy devices of one type.

    Only GPUs have links; a pair that the matrix does not know has 0 GB/s.

    Args:
        devices: The devices.
        links: The links between GPUs.
        table: The partition table that pods look at; None: there is none.
        honored: Whether pods may have nothing but its partitions.
        marks: (minor, mark): a device is told apart from others with another mark or none.

    """
    ordered = sorted(devices, key=lambda device: device.minor)
    rows = _bandwidths(ordered, links)
    marked = dict(marks)
    facts = [
        (
            *(d.numa_node, d.package, d.pcie_root, d.pcie_switch, d.model, d.memory_bytes),
            d.capacity,
            d.minor if is_mig_instance(d.type) else None,
            sorted(function.labels for function in d.virtual_functions),
            marked.get(d.minor),
        )
        for d in ordered
    ]
    minors = [d.minor for d in ordered]
    parts = partition_table_sets_among(table or (), minors)
    groups = equivalence_classes(
        rows, facts, lambda a, b: are_alike_in_partitions(parts, minors[a], minors[b])
    )
    first = [ordered[group[0]] for group in groups]
    inner = tuple(rows[group[0]][group[1]] if len(group) > 1 else 0 for group in groups)
    classes = tuple(tuple(minors[i] for i in group) for group in groups)
    counted = {tuple(len(part.intersection(c)) for c in classes) for part in parts}
    return LinkedDeviceClasses(
        classes=classes,
        numa_nodes=tuple(d.numa_node for d in first),
        packages=tuple(d.package for d in first),
        switches=tuple(d.pcie_switch for d in first),
        inner=inner,
        across=tuple(
            tuple(inner[a] if a == b else rows[g[0]][h[0]] for b, h in enumerate(groups))
            for a, g in enumerate(groups)
        ),
        partitions=None if table is None else tuple(sorted(counted, reverse=True)),
        honored=honored,
    )


def equivalence_classes(
    rows: Sequence[Sequence[int]],
    facts: Sequence[object],
    alike: Callable[[int, int], bool] = lambda *_: True,
) -> list[list[int]]:
    """Return the equivalence classes of a symmetric matrix, ordered by first member.

    Being equivalent is transitive (all pairs of three equivalent members are equal), so one
    member stands for its class.

    Args:
        rows: The matrix.
        facts: What else is true of each member; equal for all members of a class.
        alike: Whether two members may be swapped as far as anything else goes; transitive.

    """
    groups: list[list[int]] = []
    for i, row in enumerate(rows):
        for group in groups:
            j = group[0]
            same_links = facts[i] == facts[j] and all(
                a == b for k, (a, b) in enumerate(zip(row, rows[j], strict=True)) if k not in (i, j)
            )
            if same_links and alike(i, j):
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def counts_by_class(board: LinkedDeviceClasses, minors: Iterable[int]) -> tuple[int, ...]:
    """Return how many of the devices each class has.

    Raises:
        ValueError: A minor is not on the board.

    """
    wanted = set(minors)
    counts = tuple([len(wanted.intersection(members)) for members in board.classes])
    if sum(counts) < len(wanted):
        known = {minor for members in board.classes for minor in members}
        raise ValueError(
            f"devices {format_cpu_list(wanted - known)} are not on the board, "
            f"which has {format_cpu_list(known) or 'none'}"
        )
    return counts


def lowest_free_minors(
    board: LinkedDeviceClasses, counts: Sequence[int], free: Container[int]
) -> tuple[int, ...]:
    """Return the lowest free minors of each class, as many as ``counts`` says, ascending.

    Raises:
        ValueError: A class has fewer free devices than its count.

    """
    chosen: list[int] = []
    for members, count in zip(board.classes, counts, strict=True):
        ready = [minor for minor in members if minor in free]
        if len(ready) < count:
            raise ValueError(
                f"{count} of the devices {format_cpu_list(members)} "
                f"are wanted, {len(ready)} are free"
            )
        chosen += ready[:count]
    return tuple(sorted(chosen))


def pair_minimum(board: LinkedDeviceClasses, counts: Sequence[int]) -> int:
    """Return the centi GB/s of the slowest pair; 0 for fewer than two devices."""
    return min((board.across[a][b] for a, b in classes_of_device_pairs(counts)), default=0)


def pair_sum(board: LinkedDeviceClasses, counts: Sequence[int]) -> int:
    """Return the centi GB/s of all pairs together; 0 for fewer than two devices."""
    return sum(
        board.across[a][b] * _pairs_between(counts, a, b)
        for a, b in classes_of_device_pairs(counts)
    )


def total_device_pair_distance(board: LinkedDeviceClasses, counts: Sequence[int]) -> int:
    """Return how far apart the devices are, added up over all pairs.

    A pair counts 0 if it is below the same PCIe switch, 1 on the same NUMA node, 2 in the same
    package, and otherwise 3.
    """
    return sum(
        _apart(board, a, b) * _pairs_between(counts, a, b)
        for a, b in classes_of_device_pairs(counts)
    )


def classes_of_device_pairs(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the classes of each kind of pair: of two devices of one class, or of two classes."""
    used = [i for i, count in enumerate(counts) if count]
    return [(a, a) for a in used if counts[a] > 1] + list(combinations(used, 2))


def _pairs_between(counts: Sequence[int], a: int, b: int) -> int:
    """Return the number of pairs that the devices of two classes make, or those of one."""
    return counts[a] * counts[b] if a != b else number_of_device_pairs(counts[a])


def _apart(board: LinkedDeviceClasses, a: int, b: int) -> int:
    """Return how far apart devices of two classes are; unknown places are never the same."""
    for steps, places in enumerate((board.switches, board.numa_nodes, board.packages)):
        if places[a] is not None and places[a] == places[b]:
            return steps
    return 3


def number_of_device_pairs(count: int) -> int:
    """Return the number of pairs among ``count`` devices."""
    return count * (count - 1) // 2


def number_of_selectable_device_sets(
    board: LinkedDeviceClasses, size: int, free: tuple[int, ...]
) -> int:
    """Return how many selections there are, without listing them."""
    if size < 0:
        return 0
    ways = [1] + [0] * size
    for most, _ in zip(free, board.classes, strict=True):
        ways = [sum(ways[max(0, n - most) : n + 1]) for n in range(size + 1)]
    return ways[size]


def selectable_device_sets(
    board: LinkedDeviceClasses, size: int, free: tuple[int, ...]
) -> tuple[LinkedDeviceSetCounts, ...]:
    """Return every inequivalent set of the size within the free counts, best first.

    The best set has the fastest slowest pair, then the largest pair sum, then the lowest
    devices. There may be very many sets: ask ``number_of_selectable_device_sets`` first.
    """
    found = [
        LinkedDeviceSetCounts(counts, pair_minimum(board, counts), pair_sum(board, counts))
        for counts in counts_summing_to(size, free)
    ]
    # Counts come with the lowest devices first, and sorting keeps that order.
    return tuple(sorted(found, key=lambda s: (-s.pair_minimum, -s.pair_sum)))


def counts_summing_to(size: int, limits: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield each way to take ``size`` in all within the limits, highest counts first."""
    if not limits:
        if size == 0:
            yield ()
        return
    later = sum(limits[1:])
    for count in range(min(size, limits[0]), max(0, size - later) - 1, -1):
        for rest in counts_summing_to(size - count, limits[1:]):
            yield (count, *rest)


def _bandwidths(devices: Sequence[Device], links: GpuLinkMatrix | None) -> list[list[int]]:
    """Return the centi GB/s between every two of the devices."""
    row_of = {minor: i for i, minor in enumerate(links.minors)} if links else {}
    places = [row_of.get(device.minor) if device.type == GPU else None for device in devices]
    return [
        [
            links.centi_gb_per_s[a][b] if links and a is not None and b is not None else 0
            for b in places
        ]
        for a in places
    ]
