"""Cores of a node in classes, both ways: owned CPUs as counts of a class, and counts as CPU ids.

The owners of CPUs among the running pods are where others meet them, on their cores and NUMA nodes:
with an exclusive policy they keep others away (C9). Others may want to be beside them (C18).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placer_models.bound import numa_nodes_of_cpus
from placer_models.cluster import Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.effective import effective_exclusive_policy
from placer_models.goals import CACHES, PACKAGES, Tier
from placer_models.policy import BindPolicy, ExclusivePolicy, HybridCoreKind, RequiredOrPreferred
from placer_models.problem.node_state import CoreClass, CoreClassGranularity
from placer_models.problem.problem import CoreTake, Fit

Held = Mapping[int, RequiredOrPreferred]
"""Core, or NUMA node -> how strongly it is kept; those that nobody keeps are missing."""


def cpus_still_on_node(node: Node, runner: RunningPod) -> CpuSet:
    """Return the pod's CPUs without those that an update took from the node."""
    return runner.placement.cpuset & node.machine.topology.cpu.keys()


def numa_nodes_held_exclusively(node: Node, running: Iterable[RunningPod]) -> Held:
    """Return the NUMA nodes with CPUs of running pods under NUMANodeLevel."""
    held: dict[int, RequiredOrPreferred] = {}
    for pod in _under(node, ExclusivePolicy.NUMA_NODE_LEVEL, running):
        for numa_node in _numa_nodes(node, pod):
            _keep(held, numa_node, pod)
    return held


def cores_held_exclusively(node: Node, running: Iterable[RunningPod]) -> Held:
    """Return the cores with CPUs of running pods that count as PCPULevel."""
    running = tuple(running)
    levelled = _under(node, ExclusivePolicy.NUMA_NODE_LEVEL, running)
    guests = Counter(n for pod in levelled for n in _numa_nodes(node, pod))
    fallen = [
        pod
        for pod in levelled
        if not pod.pod.spec.exclusive_required
        and any(guests[numa_node] > 1 for numa_node in _numa_nodes(node, pod))
    ]
    held: dict[int, RequiredOrPreferred] = {}
    cpus = node.machine.topology.cpu
    for pod in (*_under(node, ExclusivePolicy.PCPU_LEVEL, running), *fallen):
        for cpu in cpus_still_on_node(node, pod):
            _keep(held, cpus[cpu].core, pod)
    return held


def cpu_owners_relevant_to_affinity(running: Iterable[RunningPod]) -> tuple[RunningPod, ...]:
    """Return the pods that own CPUs and have labels or affinities of their own, by name."""
    found = [
        runner
        for runner in running
        if (runner.pod.spec.labels or runner.pod.spec.affinity) and runner.pod.spec.qos.owns_cpus
    ]
    return tuple(sorted(found, key=lambda runner: runner.pod.key))


def owners_of_cores(node: Node, owners: Iterable[RunningPod]) -> dict[int, tuple[int, ...]]:
    """Return core -> positions of the owners that are on it. Cores without any are left out."""
    found: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
    cpus = node.machine.topology.cpu
    for position, runner in enumerate(owners):
        for core in {cpus[cpu].core for cpu in cpus_still_on_node(node, runner)}:
            found[core] += (position,)
    return dict(found)


def _under(node: Node, policy: ExclusivePolicy, running: Iterable[RunningPod]) -> list[RunningPod]:
    return [pod for pod in running if effective_exclusive_policy(pod.pod.spec, node) is policy]


def _numa_nodes(node: Node, pod: RunningPod) -> frozenset[int]:
    return numa_nodes_of_cpus(pod.placement.cpuset, node.machine.topology)


def _keep(held: dict[int, RequiredOrPreferred], place: int, pod: RunningPod) -> None:
    if held.get(place) is not RequiredOrPreferred.REQUIRED:
        required = pod.pod.spec.exclusive_required
        held[place] = RequiredOrPreferred.REQUIRED if required else RequiredOrPreferred.PREFERRED


_HELD = (None, RequiredOrPreferred.PREFERRED, RequiredOrPreferred.REQUIRED)
"""How strongly a core may be held (None: not at all), in the order of classes."""


class FreeCore(NamedTuple):
    """A core with the threads that a pod may still own, ascending."""

    key: int
    free: tuple[int, ...]


Classes = tuple[tuple[CoreClass, tuple[int, ...]], ...]
"""Core classes, each with the positions of its cores in the topology, in the order of taking."""


@dataclass(frozen=True, slots=True)
class CoresLeft:
    """What is left of the cores of a node.

    Attributes:
        free_cpus: CPUs that a pod may own: allocatable ones that no pod owns.
        held: Cores that running pods keep from other pods of the policy PCPULevel.
        numa_nodes_held: NUMA nodes that running pods keep from other pods of NUMANodeLevel.
        owners: Running pods that own CPUs and have labels or affinities of their own, by name.
        classes: The classes found so far, kept so that cores are put in classes only once; then
            the same without the cores of each class.

    """

    free_cpus: CpuSet
    held: Held
    numa_nodes_held: Held
    owners: tuple[RunningPod, ...]
    classes: dict[Hashable, tuple[Classes, tuple[CoreClass, ...]]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )


def cores_left(node: Node, free_cpus: CpuSet, pods: Sequence[RunningPod]) -> CoresLeft:
    """Return what the pods that run on the node leave of its cores."""
    return CoresLeft(
        free_cpus,
        cores_held_exclusively(node, pods),
        numa_nodes_held_exclusively(node, pods),
        cpu_owners_relevant_to_affinity(pods),
    )


@dataclass(frozen=True, slots=True)
class PodCoresToAssign:
    """What one pod takes of a class.

    Attributes:
        spread: Whether the pod would rather have its single threads on different cores.

    """

    take: CoreTake
    spread: bool


def core_distinction_for_pods(
    fits: Sequence[Sequence[Fit | None]], pods: Collection[int]
) -> CoreClassGranularity:
    """Return how finely cores have to be told apart for the pods that wait.

    Args:
        fits: As in ``Problem``.
        pods: As in ``Problem``.

    """
    keeps_cores = [any(fit is not None and fit.keeps_cores for fit in row) for row in fits]
    wary = sum(keeps_cores[index] for index in pods)
    return (CoreClassGranularity.ALIKE, CoreClassGranularity.HELD, CoreClassGranularity.PAIRS)[
        min(wary, 2)
    ]


def core_classes(
    node: Node, left: CoresLeft, tiers: Collection[Tier], granularity: CoreClassGranularity
) -> Classes:
    """Return the classes of the cores that have a free thread, each with its cores.

    They are ordered by cell, then widest cores first. The cores of a class are ordered by cache,
    so that neighbours share one. The result is kept in ``left``.

    Args:
        node: The node.
        left: What is left of its cores.
        tiers: As ``core_tiers`` of the Problem.
        granularity: Whether it matters who else is on a core, and to how many pods.

    """
    return _known_classes(node, left, tiers, granularity)[0]


def core_classes_without_ids(
    node: Node, left: CoresLeft, tiers: Collection[Tier], granularity: CoreClassGranularity
) -> tuple[CoreClass, ...]:
    """Return the same classes without their cores: one object wherever `left` is one."""
    return _known_classes(node, left, tiers, granularity)[1]


def _known_classes(
    node: Node, left: CoresLeft, tiers: Collection[Tier], granularity: CoreClassGranularity
) -> tuple[Classes, tuple[CoreClass, ...]]:
    """Return the classes, and the same without their cores, as they are kept in ``left``."""
    by_package, by_cache = PACKAGES in tiers, CACHES in tiers
    # What tells the classes of nodes apart that have one machine and leave as much.
    key = int(granularity), by_package, by_cache, tuple(h.cpuset for h in node.homes)
    found = left.classes.get(key)
    if found is None:
        grouped = _grouped(node, left, granularity, by_package=by_package, by_cache=by_cache)
        classes = tuple(grouped)
        found = left.classes[key] = classes, tuple(one for one, _ in classes)
    return found


def cores_with_free_threads(
    node: Node, left: CoresLeft, found: CoreClass, positions: Iterable[int]
) -> tuple[FreeCore, ...]:
    """Return the cores of a class with the threads that a pod may still own."""
    cores = map(node.machine.topology.core_facts.__getitem__, positions)
    if found.whole:
        return tuple([FreeCore(core.key, core.in_order) for core in cores])
    free = [(core.key, core.threads & left.free_cpus) for core in cores]
    return tuple(FreeCore(key, tuple(sorted(cpus))) for key, cpus in free)


def core_takes_of_cpus(
    node: Node,
    left: CoresLeft,
    tiers: Collection[Tier],
    granularity: CoreClassGranularity,
    bind: BindPolicy | None,
    cpus: CpuSet,
) -> tuple[CoreTake, ...]:
    """Count a pod's CPUs class by class; a pod of a pool, which has no bind policy, owns none."""
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
    granularity: CoreClassGranularity,
    *,
    by_package: bool,
    by_cache: bool,
) -> Iterator[tuple[CoreClass, tuple[int, ...]]]:
    """Yield each class with its cores."""
    topology = node.machine.topology
    cell_of: dict[int | None, int] = {numa.id: i for i, numa in enumerate(topology.numa_nodes)}
    cell_of[None] = len(cell_of)
    held = left.held if granularity is not CoreClassGranularity.ALIKE else {}
    owners = owners_of_cores(node, left.owners) if granularity is CoreClassGranularity.WHO else {}
    numbers = {who: number for number, who in enumerate(sorted({(), *owners.values()}))}
    marks = _marks(node)
    free_cpus, efficiency = left.free_cpus, HybridCoreKind.EFFICIENCY
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
        # A core with one free thread takes one more pod, whichever that is.
        wide = granularity >= CoreClassGranularity.EACH or (
            granularity is CoreClassGranularity.PAIRS and threads_ < -2
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
    """Return key -> mark for each core of which pods with homes here own CPUs.

    Marks tell cores apart. The cores that one pod has all of have one mark, so that counts of
    them mean just these. A core that it has in part has a mark of its own.
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


def core_count_for_leftover_threads(free: int, threads: int, touched: int) -> int:
    """Return how many cores single threads are dealt over, if a pod touches ``touched`` or more."""
    return max(-(-threads // free), touched)


def pick_cpus(
    found: CoreClass, cores: Sequence[FreeCore], wants: Sequence[PodCoresToAssign]
) -> list[list[int]] | None:
    """Return the CPUs of each want, in the order of the wants, or None if they do not fit.

    Whole cores come first. The single threads go on the next b cores, where b is the
    larger of ceil(all threads / free) and the most that a pod promises to touch. Dealing
    them out in one round over those cores (thread i to core i mod b) always works: no
    core gets more than ceil(threads / b) <= free, and a pod's threads follow one another,
    so they touch min(threads, b) cores, no fewer than promised. Pods that promise
    nothing come last. Any free thread will do for them, so their threads are kept together.
    """
    takes = [_with_whole_cores(found, wants, i) for i in range(len(wants))]
    takes = _if_no_worse(found, wants, takes)
    whole = sum(take.whole for take in takes)
    broken = _broken(found, takes)
    if whole + broken > len(cores):
        return None
    # The largest first: runs of a power of two then end at the borders of caches.
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
        picked[i].extend(take_threads_from_few_cores(rooms, takes[i].threads))
    return picked


def _indices(flags: Sequence[bool], *, wanted: bool) -> list[int]:
    return [i for i, flag in enumerate(flags) if flag is wanted]


def _broken(found: CoreClass, takes: Sequence[CoreTake]) -> int:
    return core_count_for_leftover_threads(
        found.free,
        sum(take.threads for take in takes),
        max((take.touched for take in takes), default=0),
    )


def _with_whole_cores(found: CoreClass, wants: Sequence[PodCoresToAssign], i: int) -> CoreTake:
    """Return the take with single threads gathered to whole cores, unless the pod spreads them."""
    take = wants[i].take
    if wants[i].spread or not found.whole:
        return take
    gathered, left = divmod(take.threads, found.free)
    return CoreTake(take.whole + gathered, left, min(left, max(0, take.touched - gathered)))


def _if_no_worse(
    found: CoreClass, wants: Sequence[PodCoresToAssign], gathered: Sequence[CoreTake]
) -> list[CoreTake]:
    """Return each gathered take if it costs no more cores than promised, else the plain one."""
    takes = [want.take for want in wants]
    for i, take in enumerate(gathered):
        trial = [*takes[:i], take, *takes[i + 1 :]]
        more = take.whole - takes[i].whole
        if _broken(found, trial) + more <= _broken(found, takes):
            takes = trial
    return takes


def take_threads_from_few_cores(rooms: list[list[int]], threads: int) -> list[int]:
    """Take threads from as few of the cores as possible.

    Each step takes the core with the fewest threads that suffice, else the one with the most.
    """
    taken: list[int] = []
    while len(taken) < threads:
        left = threads - len(taken)
        enough = [room for room in rooms if len(room) >= left]
        room = min(enough, key=len) if enough else max(rooms, key=len)
        taken.extend(room[:left])
        del room[:left]
    return taken
