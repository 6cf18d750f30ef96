"""Which cores of a node are equal to a solver."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from placer.counting.account import Account
from placer.counting.owners import owners_of_cores
from placer_models.cluster import Node
from placer_models.core_granularity import CoreGranularity
from placer_models.goals import CACHES, LOCALITY_PACKAGES, PACKAGES, Tier
from placer_models.policy import CoreKind, Strength
from placer_models.problem import Cell, CoreClass

_HELD = (None, Strength.PREFERRED, Strength.REQUIRED)
"""What a core may be held by, in the order of classes."""


class FreeCore(NamedTuple):
    """A core with the threads that a pod may still own, ascending."""

    key: int
    free: tuple[int, ...]


_Member = tuple[int, tuple[int, ...], int]
"""A core of a group: its cache, its free threads, and its key."""


def core_classes(
    node: Node,
    account: Account,
    cells: Sequence[Cell],
    asked: Collection[Tier] = (),
    granularity: CoreGranularity = CoreGranularity.ALIKE,
) -> tuple[tuple[CoreClass, tuple[FreeCore, ...]], ...]:
    """Group the cores that have a free thread; each group with its cores.

    Cores of a group stand in the order in which they should be taken: caches one
    after the other, so that neighbours share one. Groups are ordered by cell, then
    widest cores first.

    Args:
        node: The node.
        account: What is left on it.
        cells: As `cells_of` returns them.
        asked: Tiers of the instance: packages and caches are told apart where one looks
            at them.
        granularity: Whether it matters who else is on a core, and to how many.

    """
    return tuple(
        (found, tuple(FreeCore(key, free) for _, free, key in members))
        for found, members in _grouped(node, account, cells, asked, granularity)
    )


def classes_alone(
    node: Node,
    account: Account,
    cells: Sequence[Cell],
    asked: Collection[Tier] = (),
    granularity: CoreGranularity = CoreGranularity.ALIKE,
) -> tuple[CoreClass, ...]:
    """Return the groups without their cores."""
    return tuple(found for found, _ in _grouped(node, account, cells, asked, granularity))


def _grouped(
    node: Node,
    account: Account,
    cells: Sequence[Cell],
    asked: Collection[Tier],
    granularity: CoreGranularity,
) -> Iterator[tuple[CoreClass, list[_Member]]]:
    """Yield each group with its cores."""
    by_package = PACKAGES in asked or LOCALITY_PACKAGES in asked
    by_cache = CACHES in asked
    topology = node.machine.topology
    cell_of = {cell.numa_node: index for index, cell in enumerate(cells)}
    held = account.cores_held if granularity is not CoreGranularity.ALIKE else {}
    owners = owners_of_cores(node, account.beside) if granularity is CoreGranularity.WHO else {}
    numbers = {who: number for number, who in enumerate(sorted({(), *owners.values()}))}
    marks = _marks(node)
    free_cpus, efficiency = account.free_cpus, CoreKind.EFFICIENCY
    groups: defaultdict[tuple[int, ...], list[_Member]] = defaultdict(list)
    for key, threads, in_order, numa_node, package, llc, core_kind in topology.core_facts:
        if threads <= free_cpus:
            free = in_order
        elif left := threads & free_cpus:
            free = tuple(sorted(left))
        else:
            continue
        cache = -1 if llc is None else llc
        group = (
            cell_of[numa_node],
            -len(threads),
            -len(free),
            core_kind is efficiency and len(threads) > 1,
            _HELD.index(held.get(key)) if held else 0,
            numbers[owners.get(key, ())] if owners else 0,
            package if by_package else 0,
            cache if by_cache else 0,
            marks.get(key, 0) if marks else 0,
        )
        groups[group].append((cache, free, key))
    for kind, members in sorted(groups.items()):
        cell, threads_, free_, efficient, rank, _, package_, cache_, _ = kind
        members.sort()
        # A core with one free thread takes one more pod, whoever that is.
        wide = granularity >= CoreGranularity.EACH or (
            granularity is CoreGranularity.PAIRS and threads_ < -2
        )
        alone = free_ < -1 and (wide or rank > 0)
        for part in [[one] for one in members] if alone else [members]:
            found = CoreClass(
                cell=cell,
                cores=len(part),
                threads=-threads_,
                free=-free_,
                package=package_ if by_package else None,
                cache=cache_ if by_cache else None,
                held=_HELD[rank],
                efficient=bool(efficient),
            )
            yield found, part


def _marks(node: Node) -> dict[int, int]:
    """Tell the cores that pods at home here own from others; the key of a core -> a mark.

    Cores that one pod has all of stay together: by count it then has just these. A core
    that it has in part stands alone.
    """
    marks: dict[int, int] = {}
    if any(home.cpuset for home in node.homes):
        for key, threads in node.machine.topology.cores.items():
            for position, home in enumerate(node.homes, start=1):
                if threads <= home.cpuset:
                    marks[key] = position
                elif threads & home.cpuset:
                    marks[key] = -1 - key
    return marks
