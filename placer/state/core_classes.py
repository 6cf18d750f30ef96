"""Which cores of a node are equal to a solver."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.problem import Cell, CoreClass


@dataclass(frozen=True, slots=True)
class FreeCore:
    """A core with the threads that a pod may still own, ascending."""

    key: int
    free: tuple[int, ...]


def core_classes(
    node: Node, free_cpus: CpuSet, cells: Sequence[Cell]
) -> tuple[tuple[CoreClass, tuple[FreeCore, ...]], ...]:
    """Group the cores that have a free thread; each group with its cores.

    Cores of a group stand in the order in which they should be taken: caches one
    after the other, so that neighbours share one. Groups are ordered by cell, then
    widest cores first.
    """
    topology = node.machine.topology
    cell_of = {cell.numa_node: index for index, cell in enumerate(cells)}
    groups: defaultdict[tuple[int, int, int], list[tuple[int, FreeCore]]] = defaultdict(list)
    for key, threads in topology.cores.items():
        free = tuple(sorted(threads & free_cpus))
        if not free:
            continue
        some = topology.cpu[free[0]]
        group = (cell_of[some.numa_node], -len(threads), -len(free))
        cache = -1 if some.llc is None else some.llc
        groups[group].append((cache, FreeCore(key, free)))
    result = []
    for (cell, threads_, free_), members in sorted(groups.items()):
        members.sort(key=lambda item: (item[0], item[1].free))
        found = CoreClass(cell=cell, cores=len(members), threads=-threads_, free=-free_)
        result.append((found, tuple(core for _, core in members)))
    return tuple(result)
