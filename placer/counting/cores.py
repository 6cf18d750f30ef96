"""Cores of a node in classes, both ways: owned CPUs as counts of a class, and counts as CPU ids."""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placer.counting.owners import Held, cores_held, numa_nodes_held, owners_beside, owners_of_cores
from placer_models.cluster import Node, RunningPod
from placer_models.core_granularity import CoreGranularity
from placer_models.cpuset import CpuSet
from placer_models.goals import CACHES, PACKAGES, Tier
from placer_models.node_state import CoreClass
from placer_models.policy import BindPolicy, CoreKind, Strength
from placer_models.problem import CoreTake, Shape

_HELD = (None, Strength.PREFERRED, Strength.REQUIRED)
"""What a core may be held by, in the order of classes."""


class FreeCore(NamedTuple):
    """A core with the threads that a pod may still own, ascending."""

    key: int
    free: tuple[int, ...]


Classes = tuple[tuple[CoreClass, tuple[int, ...]], ...]
"""Classes with their cores, by position in the topology, in the order to take them in."""


@dataclass(frozen=True, slots=True)
class CoresLeft:
    """What is left of the cores of a node.

    Attributes:
        free_cpus: CPUs that a pod may own: allocatable, owned by nobody.
        held: Cores that running pods keep from others of the policy PCPULevel.
        numa_nodes_held: NUMA nodes that they keep from others of NUMANodeLevel.
        owners: Running pods that own CPUs and have labels or affinities of their own, by name.
        classes: What was counted of the cores already: they are put in classes once.

    """

    free_cpus: CpuSet
    held: Held
    numa_nodes_held: Held
    owners: tuple[RunningPod, ...]
    classes: dict[Hashable, Classes] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )


def cores_left(node: Node, free_cpus: CpuSet, pods: Sequence[RunningPod]) -> CoresLeft:
    """Return what the pods that run on the node leave of its cores."""
    return CoresLeft(
        free_cpus, cores_held(node, pods), numa_nodes_held(node, pods), owners_beside(pods)
    )


@dataclass(frozen=True, slots=True)
class CoreWant:
    """What one pod takes of a class.

    Attributes:
        spread: The pod would rather have its single threads on different cores.

    """

    take: CoreTake
    spread: bool


def granularity_of(shapes: Sequence[Shape], pods: Collection[int]) -> CoreGranularity:
    """Return how finely cores have to be told apart for the pods that wait."""
    wary = sum(shapes[index].keeps_cores for index in pods)
    return (CoreGranularity.ALIKE, CoreGranularity.HELD, CoreGranularity.PAIRS)[min(wary, 2)]


def core_classes(
    node: Node, left: CoresLeft, tiers: Collection[Tier], granularity: CoreGranularity
) -> Classes:
    """Return the classes of the cores that have a free thread, each with its cores.

    They are ordered by cell, then widest cores first; in a class caches come one after the
    other, so that neighbours share one. What was counted is kept.

    Args:
        node: The node.
        left: What is left of its cores.
        tiers: As the Problem's ``core_tiers``.
        granularity: Whether it matters who else is on a core, and to how many.

    """
    by_package, by_cache = PACKAGES in tiers, CACHES in tiers
    # They are of one machine; of all that its nodes differ in, only homes tell cores apart.
    key = granularity, by_package, by_cache, tuple(home.cpuset for home in node.homes)
    found = left.classes.get(key)
    if found is None:
        grouped = _grouped(node, left, granularity, by_package=by_package, by_cache=by_cache)
        found = left.classes[key] = tuple(grouped)
    return found


def free_cores(
    node: Node, left: CoresLeft, found: CoreClass, positions: Iterable[int]
) -> tuple[FreeCore, ...]:
    """Return the cores of a class with the threads that a pod may still own."""
    cores = map(node.machine.topology.core_facts.__getitem__, positions)
    if found.whole:
        return tuple([FreeCore(core.key, core.in_order) for core in cores])
    free = [(core.key, core.threads & left.free_cpus) for core in cores]
    return tuple(FreeCore(key, tuple(sorted(cpus))) for key, cpus in free)


def takes_of(
    node: Node,
    left: CoresLeft,
    tiers: Collection[Tier],
    granularity: CoreGranularity,
    bind: BindPolicy | None,
    cpus: CpuSet,
) -> tuple[CoreTake, ...]:
    """Count what CPUs are of each class; a pod of a pool, which has no bind policy, owns none."""
    topology = node.machine.topology
    owned = cpus & left.free_cpus if bind is not None else ()
    mine = Counter(topology.cpu[cpu].core for cpu in owned)
    takes = []
    for found, positions in core_classes(node, left, tiers, granularity):
        keys = (topology.core_facts[at].key for at in positions if mine)
        held = [mine[key] for key in keys if key in mine]
        full = found.whole and bind is BindPolicy.FULL_PCPUS
        whole = held.count(found.free) if full else 0
        takes.append(CoreTake(whole, sum(held) - whole * found.free, len(held) - whole))
    return tuple(takes)


def _grouped(
    node: Node,
    left: CoresLeft,
    granularity: CoreGranularity,
    *,
    by_package: bool,
    by_cache: bool,
) -> Iterator[tuple[CoreClass, tuple[int, ...]]]:
    """Yield each class with its cores."""
    topology = node.machine.topology
    cell_of: dict[int | None, int] = {numa.id: i for i, numa in enumerate(topology.numa_nodes)}
    cell_of[None] = len(cell_of)
    held = left.held if granularity is not CoreGranularity.ALIKE else {}
    owners = owners_of_cores(node, left.owners) if granularity is CoreGranularity.WHO else {}
    numbers = {who: number for number, who in enumerate(sorted({(), *owners.values()}))}
    marks = _marks(node)
    free_cpus, efficiency = left.free_cpus, CoreKind.EFFICIENCY
    groups: defaultdict[tuple[int, ...], list[tuple[int, int, int]]] = defaultdict(list)
    for at, core in enumerate(topology.core_facts):
        key, threads, in_order, numa_node, package, llc, core_kind = core
        if threads <= free_cpus:
            count, first = len(threads), in_order[0]
        elif free := threads & free_cpus:
            count, first = len(free), min(free)
        else:
            continue
        cache = -1 if llc is None else llc
        group = (
            cell_of[numa_node],
            -len(threads),
            -count,
            core_kind is efficiency and len(threads) > 1,
            _HELD.index(held.get(key)) if held else 0,
            numbers[owners.get(key, ())] if owners else 0,
            package if by_package else 0,
            cache if by_cache else 0,
            marks.get(key, 0) if marks else 0,
        )
        groups[group].append((cache, first, at))
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
            yield found, tuple(at for _, _, at in part)


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


def broken_cores(free: int, threads: int, touched: int) -> int:
    """Return how many cores hold single threads, where pods promise to touch so many."""
    return max(-(-threads // free), touched)


def pick_cpus(
    found: CoreClass, cores: Sequence[FreeCore], wants: Sequence[CoreWant]
) -> list[list[int]] | None:
    """Return the CPUs of every want, in the order of the wants; None: they do not fit.

    Whole cores come first. The single threads go on the next b cores, where b is the
    larger of ceil(all threads / free) and the most that a pod promises to touch. Dealing
    them out in one round over those cores (thread i to core i mod b) always works: no
    core gets more than ceil(threads / b) <= free, and a pod's threads follow one another,
    so they touch min(threads, b) cores, no fewer than promised. Pods that promise
    nothing are dealt last, and then any free thread will do: theirs are kept together.
    """
    takes = [_with_whole_cores(found, wants, i) for i in range(len(wants))]
    takes = _if_no_worse(found, wants, takes)
    whole = sum(take.whole for take in takes)
    broken = _broken(found, takes)
    if whole + broken > len(cores):
        return None
    # Large first: runs of a power of two then fall on the caches' own borders.
    by_size = sorted(range(len(takes)), key=lambda i: -takes[i].whole)
    picked: list[list[int]] = [[] for _ in takes]
    start = 0
    for i in by_size:
        for core in cores[start : start + takes[i].whole]:
            picked[i].extend(core.free)
        start += takes[i].whole
    rooms = [list(core.free) for core in cores[whole : whole + broken]]
    spread = [w.spread or t.touched > 1 for w, t in zip(wants, takes, strict=True)]
    dealt = 0
    for i in _indices(spread, wanted=True):
        for _ in range(takes[i].threads):
            picked[i].append(rooms[dealt % broken].pop(0))
            dealt += 1
    for i in sorted(_indices(spread, wanted=False), key=lambda i: -takes[i].threads):
        picked[i].extend(together(rooms, takes[i].threads))
    return picked


def _indices(flags: Sequence[bool], *, wanted: bool) -> list[int]:
    return [i for i, flag in enumerate(flags) if flag is wanted]


def _broken(found: CoreClass, takes: Sequence[CoreTake]) -> int:
    return broken_cores(
        found.free,
        sum(take.threads for take in takes),
        max((take.touched for take in takes), default=0),
    )


def _with_whole_cores(found: CoreClass, wants: Sequence[CoreWant], i: int) -> CoreTake:
    """Return the take with single threads gathered to whole cores, where that is liked."""
    take = wants[i].take
    if wants[i].spread or not found.whole:
        return take
    gathered, left = divmod(take.threads, found.free)
    return CoreTake(take.whole + gathered, left, min(left, max(0, take.touched - gathered)))


def _if_no_worse(
    found: CoreClass, wants: Sequence[CoreWant], gathered: Sequence[CoreTake]
) -> list[CoreTake]:
    """Return each gathered take that costs no core more than was promised, else the plain one."""
    takes = [want.take for want in wants]
    for i, take in enumerate(gathered):
        trial = [*takes[:i], take, *takes[i + 1 :]]
        more = take.whole - takes[i].whole
        if _broken(found, trial) + more <= _broken(found, takes):
            takes = trial
    return takes


def together(rooms: list[list[int]], threads: int) -> list[int]:
    """Take threads from as few of the cores as can be, the fullest that is enough first."""
    taken: list[int] = []
    while len(taken) < threads:
        left = threads - len(taken)
        enough = [room for room in rooms if len(room) >= left]
        room = min(enough, key=len) if enough else max(rooms, key=len)
        taken.extend(room[:left])
        del room[:left]
    return taken
