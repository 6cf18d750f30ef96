"""Pipelined regions, what they wait for, and the gangs that come of it (F13, F21)."""

from collections.abc import Sequence
from itertools import count

from placer.slots.compiled import EdgeBetweenChains, PipelinedRegion, RegionDependencyCycle
from placer.slots.graph import EdgeExchangeMode


def pipelined_regions_of(
    chains: int, links: Sequence[EdgeBetweenChains]
) -> tuple[PipelinedRegion, ...]:
    """Return the connected parts of the graph whose edges are the pipelined links."""
    root = list(range(chains))

    def find(chain: int) -> int:
        while root[chain] != chain:
            root[chain] = root[root[chain]]
            chain = root[chain]
        return chain

    for link in links:
        if link.exchange is EdgeExchangeMode.PIPELINED:
            a, b = find(link.producer), find(link.consumer)
            root[max(a, b)] = min(a, b)
    members: dict[int, list[int]] = {}
    for chain in range(chains):
        members.setdefault(find(chain), []).append(chain)
    return tuple(PipelinedRegion(tuple(found)) for found in members.values())


def part_index_by_item(parts: Sequence[tuple[int, ...]], size: int) -> tuple[int, ...]:
    """Return for each of ``size`` things the index of the part that holds it."""
    index = [0] * size
    for i, part in enumerate(parts):
        for item in part:
            index[item] = i
    return tuple(index)


def regions_started_together(
    regions: int, links: Sequence[EdgeBetweenChains], region_of: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """Return sets of regions that start together, each after those that it waits for.

    A region waits for what it reads through blocking links. Regions that wait for one
    another in a cycle are one set.
    """
    waits_for: list[list[int]] = [[] for _ in range(regions)]
    for link in links:
        if link.exchange is EdgeExchangeMode.BLOCKING:
            waits_for[region_of[link.consumer]].append(region_of[link.producer])
    return _strong_components(waits_for)


def region_dependency_cycles(
    runs: Sequence[tuple[int, ...]], links: Sequence[EdgeBetweenChains], region_of: Sequence[int]
) -> tuple[RegionDependencyCycle, ...]:
    """Return the sets that hold a blocking link, with those links.

    One region alone may be such a set: a part of it then waits for another part that
    runs beside it.
    """
    run_of = part_index_by_item(runs, len(region_of))
    inside: dict[int, list[int]] = {}
    for i, link in enumerate(links):
        run = run_of[region_of[link.producer]]
        if link.exchange is EdgeExchangeMode.BLOCKING and run == run_of[region_of[link.consumer]]:
            inside.setdefault(run, []).append(i)
    return tuple(
        RegionDependencyCycle(runs[run], tuple(found)) for run, found in sorted(inside.items())
    )


def _strong_components(successors: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the strongly connected components, successors before whoever reaches them.

    Tarjan's algorithm, with its own stack: a deep graph must not exhaust Python's.
    """
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    components: list[tuple[int, ...]] = []
    clock = count()
    for start in range(len(successors)):
        if start in number:
            continue
        work = [(start, iter(successors[start]))]
        while work:
            node, rest = work[-1]
            if node not in number:
                number[node] = low[node] = next(clock)
                path.append(node)
                on_path.add(node)
            for successor in rest:
                if successor not in number:
                    work.append((successor, iter(successors[successor])))
                    break
                if successor in on_path:
                    low[node] = min(low[node], low[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    component: list[int] = []
                    while not component or component[-1] != node:
                        component.append(path.pop())
                    on_path.difference_update(component)
                    components.append(tuple(sorted(component)))
    return tuple(components)
