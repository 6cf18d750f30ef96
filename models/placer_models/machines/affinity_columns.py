"""NUMA nodes and cores inferred from affinity columns, as far as those are consistent."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from placer_models.cpuset import CpuSet, format_cpu_list


@dataclass(frozen=True, slots=True)
class GpuAffinityInTopoMatrix:
    """What a text says about the surroundings of one GPU.

    Attributes:
        cpus: CPUs near it; None where the text does not say.
        numa_nodes: NUMA nodes near it; empty where the text does not say.
        memory_node: The NUMA node that is its own memory, on Grace machines.

    """

    cpus: CpuSet | None = None
    numa_nodes: frozenset[int] = frozenset()
    memory_node: int | None = None


@dataclass(frozen=True, slots=True)
class NumaNodesFromGpuAffinity:
    """NUMA nodes with their CPUs, and the NUMA node of each GPU, in order of the GPUs.

    Attributes:
        loose: CPUs whose NUMA node is unknown, although others have one.
        note: What had to be assumed, for people.

    """

    nodes: Mapping[int, CpuSet]
    of_gpu: tuple[int | None, ...]
    loose: CpuSet
    note: str


def numa_nodes_from_gpu_affinity(
    affinities: Sequence[GpuAffinityInTopoMatrix],
) -> NumaNodesFromGpuAffinity:
    """Return the NUMA nodes that the affinities tell of, or a single one if they tell of none."""
    cpus = frozenset().union(*(a.cpus or () for a in affinities))
    told = _told(affinities) if any(a.numa_nodes for a in affinities) else _by_cpus(affinities)
    if told is None:
        return NumaNodesFromGpuAffinity(
            {0: cpus},
            (None,) * len(affinities),
            frozenset(),
            "NUMA nodes are not in the text, or contradict each other: "
            "all CPUs count as one, and no GPU has any.",
        )
    nodes, of_gpu, note = told
    return NumaNodesFromGpuAffinity(nodes, tuple(of_gpu), cpus.difference(*nodes.values()), note)


def cores_assumed_from_numbering(nodes: Mapping[int, CpuSet]) -> tuple[list[CpuSet], str]:
    """Return the cores that the numbering suggests, and what was assumed for it.

    Cores have two threads if the CPUs of every NUMA node come in two runs, and the second
    starts at the same distance behind the first in all of them.
    """
    cpus = sorted(frozenset().union(*nodes.values()))
    distances = {_run_distance(node) for node in nodes.values() if node}
    distance = distances.pop() if len(distances) == 1 else None
    if distance is None:
        return [frozenset({cpu}) for cpu in cpus], "Every CPU counts as a core of its own."
    cores: dict[int, set[int]] = defaultdict(set)
    for node in nodes.values():
        for cpu in node:
            first = cpu - distance
            cores[first if first in node else cpu].add(cpu)
    note = f"CPUs {distance} apart count as two threads of one core."
    return [frozenset(core) for _, core in sorted(cores.items())], note


def _told(
    affinities: Sequence[GpuAffinityInTopoMatrix],
) -> tuple[dict[int, CpuSet], list[int | None], str] | None:
    """Return what the NUMA column says, or None if it is smeared or contradicts the CPUs."""
    spans = {a.numa_nodes for a in affinities if a.numa_nodes}
    if any(a & b for a, b in combinations(spans, 2)):
        return None
    notes: list[str] = []
    nodes: dict[int, CpuSet] = {}
    of_gpu: list[int | None] = []
    for affinity in affinities:
        if not affinity.numa_nodes:
            of_gpu.append(None)
            continue
        home = min(affinity.numa_nodes)
        of_gpu.append(home)
        nodes[home] = nodes.get(home, frozenset()) | (affinity.cpus or frozenset())
        if affinity.memory_node is not None:
            empty = (affinity.numa_nodes - {home}) | {affinity.memory_node}
            for node in empty:
                nodes.setdefault(node, frozenset())
            notes = ["NUMA nodes beside that of the CPUs are GPU memory and hold nothing for pods."]
        elif len(affinity.numa_nodes) > 1:
            if len(spans) == 1:
                return None
            notes = ["Which CPUs of a span of NUMA nodes are whose is not said: it counts as one."]
    if any(a & b for a, b in combinations(nodes.values(), 2)):
        return None
    return dict(sorted(nodes.items())), of_gpu, " ".join(notes)


def _by_cpus(
    affinities: Sequence[GpuAffinityInTopoMatrix],
) -> tuple[dict[int, CpuSet], list[int | None], str] | None:
    """Take each set of CPUs as a NUMA node, or return None if there are not two or they overlap."""
    groups = sorted({a.cpus for a in affinities if a.cpus}, key=min)
    if len(groups) < 2 or any(a & b for a, b in combinations(groups, 2)):
        return None
    index = {group: i for i, group in enumerate(groups)}
    of_gpu = [index.get(a.cpus) if a.cpus else None for a in affinities]
    lists = ", ".join(format_cpu_list(group) for group in groups)
    note = f"NUMA nodes are not in the text; CPUs {lists} count as one each."
    return dict(enumerate(groups)), of_gpu, note


def _run_distance(cpus: CpuSet) -> int | None:
    """Return how far behind the first run of CPUs the second starts.

    None if there are not two runs, or if the second is longer than the first.
    """
    ids = sorted(cpus)
    starts = [i for i, cpu in enumerate(ids) if i == 0 or cpu != ids[i - 1] + 1]
    if len(starts) != 2 or len(ids) - starts[1] > starts[1]:
        return None
    return ids[starts[1]] - ids[0]
