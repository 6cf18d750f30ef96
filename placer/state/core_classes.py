"""Which cores of a node are equal to a solver."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.goals import CACHES, PACKAGES, Tier
from placer_models.problem import Cell, CoreClass


@dataclass(frozen=True, slots=True)
class FreeCore:
    """A core with the threads that a pod may still own, ascending."""

    key: int
    free: tuple[int, ...]


def core_classes(
    node: Node, free_cpus: CpuSet, cells: Sequence[Cell], asked: Collection[Tier] = ()
) -> tuple[tuple[CoreClass, tuple[FreeCore, ...]], ...]:
    """Group the cores that have a free thread; each group with its cores.

    Cores of a group stand in the order in which they should be taken: caches one
    after the other, so that neighbours share one. Groups are ordered by cell, then
    widest cores first.

    Args:
        node: The node.
        free_cpus: What a pod may still own.
        cells: As `cells_of` returns them.
        asked: Tiers of the instance: packages and caches are told apart where one looks
            at them.

    """
    by_package, by_cache = PACKAGES in asked, CACHES in asked
    topology = node.machine.topology
    cell_of = {cell.numa_node: index for index, cell in enumerate(cells)}
    groups: defaultdict[tuple[int, ...], list[tuple[int, FreeCore]]] = defaultdict(list)
    for key, threads in topology.cores.items():
        free = tuple(sorted(threads & free_cpus))
        if not free:
            continue
        some = topology.cpu[free[0]]
        cache = -1 if some.llc is None else some.llc
        group = (
            cell_of[some.numa_node],
            -len(threads),
            -len(free),
            some.package if by_package else 0,
            cache if by_cache else 0,
        )
        groups[group].append((cache, FreeCore(key, free)))
    result = []
    for (cell, threads_, free_, package, cache), members in sorted(groups.items()):
        members.sort(key=lambda item: (item[0], item[1].free))
        found = CoreClass(
            cell=cell,
            cores=len(members),
            threads=-threads_,
            free=-free_,
            package=package if by_package else None,
            cache=cache if by_cache else None,
        )
        result.append((found, tuple(core for _, core in members)))
    return tuple(result)
