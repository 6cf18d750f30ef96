"""Threads of two-thread cores, dealt out so that pods share cores only as was counted.

The counts are those of `placer_models.cpsat.core_pairs`. Cores of which one pod has both threads
come first. Then each pod that requires it has its single threads on cores without another
pod that minds. Pods that only prefer it are dealt one round over the cores that are left, so
that as few as possible are shared. All others have what remains of each core, those that touch
most cores first. Each takes the cores with most threads left, which no later pod misses.
"""

from collections import Counter
from collections.abc import Sequence

from placer.counting.cores import FreeCore, PodCoresToAssign, take_threads_from_few_cores
from placer_models.policy import ExclusivePolicy, RequiredOrPreferred
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Fit, cells_of_cpus


def core_exclusivity_of_new_pods(
    state: NodeState, fits: Sequence[Fit | None], choices: Sequence[Choice]
) -> list[RequiredOrPreferred | None]:
    """Return how strongly each new pod of a node keeps its cores; None: it does not mind."""
    cells = [
        cells_of_cpus(state, choice.cores)
        if fit is not None and fit.apart is ExclusivePolicy.NUMA_NODE_LEVEL
        else set()
        for fit, choice in zip(fits, choices, strict=True)
    ]
    guests = Counter(cell for used in cells for cell in used)
    found: list[RequiredOrPreferred | None] = []
    for fit, used in zip(fits, cells, strict=True):
        fell = any(guests[cell] > 1 or state.cells[cell].held is not None for cell in used)
        by_core = fit is not None and fit.apart is ExclusivePolicy.PCPU_LEVEL
        if fit is not None and fit.keeps_cores and (fell or by_core):
            found.append(
                RequiredOrPreferred.REQUIRED
                if fit.apart_required
                else RequiredOrPreferred.PREFERRED
            )
        else:
            found.append(None)
    return found


def pick_cpus_for_exclusive_pods(
    cores: Sequence[FreeCore],
    wants: Sequence[PodCoresToAssign],
    keeps: Sequence[RequiredOrPreferred | None],
) -> list[list[int]] | None:
    """Return the CPUs of every want, in the order of the wants, or None if they do not fit."""
    picked: list[list[int]] = [[] for _ in wants]
    left = [list(core.free) for core in cores]
    by_size = sorted(range(len(wants)), key=lambda i: -wants[i].take.whole)
    minding = [i for i, strength in enumerate(keeps) if strength is not None]
    of_one_pod = [(i, wants[i].take.whole) for i in by_size]
    of_one_pod += [(i, _doubles(wants[i])) for i in minding]
    for i, count in of_one_pod:
        for _ in range(count):
            if not left:
                return None
            picked[i] += left.pop(0)
    alone = [i for i in minding if keeps[i] is RequiredOrPreferred.REQUIRED]
    wishing = [i for i in minding if keeps[i] is RequiredOrPreferred.PREFERRED]
    covered = 0
    for i in alone:
        for _ in range(_singles(wants[i])):
            if covered == len(left):
                return None
            picked[i].append(left[covered].pop(0))
            covered += 1
    if not _go_round(left[covered:], wishing, wants, picked):
        return None
    others = [i for i, strength in enumerate(keeps) if strength is None]
    return picked if _fill(left, others, wants, picked) else None


def _doubles(want: PodCoresToAssign) -> int:
    """Return on how many cores, besides whole ones, a pod that minds has both threads."""
    return want.take.threads - want.take.touched if want.spread else 0


def _singles(want: PodCoresToAssign) -> int:
    return want.take.threads - 2 * _doubles(want)


def _go_round(
    left: list[list[int]],
    wishing: Sequence[int],
    wants: Sequence[PodCoresToAssign],
    picked: list[list[int]],
) -> bool:
    """Deal out the singles of the pods that wish, in one round. Return whether they fit."""
    singles = [i for i in wishing for _ in range(_singles(wants[i]))]
    cores = min(len(left), len(singles))
    widest = max((_singles(wants[i]) for i in wishing), default=0)
    if len(singles) > 2 * cores or widest > cores:
        return False
    for turn, i in enumerate(singles):
        picked[i].append(left[turn % cores].pop(0))
    return True


def _fill(
    left: list[list[int]],
    others: Sequence[int],
    wants: Sequence[PodCoresToAssign],
    picked: list[list[int]],
) -> bool:
    """Deal out what is left of the cores. Return whether it is enough."""
    used = [room for room in left if len(room) == 1]
    broken = max(
        len([room for room in left if len(room) < 2]) + _more(len(used), others, wants),
        *(_touched(wants[i]) + sum(not room for room in left) for i in others),
        0,
    )
    # Cores that are broken already come first, so that as many as possible stay whole.
    rooms = sorted(left, key=len)[:broken]
    spread = sorted((i for i in others if wants[i].spread), key=lambda i: -_touched(wants[i]))
    for i in spread:
        roomy = sorted((room for room in rooms if room), key=len, reverse=True)
        if len(roomy) < _touched(wants[i]):
            return False
        picked[i] += [room.pop(0) for room in roomy[: _touched(wants[i])]]
    for i in others:
        rest = wants[i].take.threads - _touched(wants[i])
        if rest > sum(map(len, rooms)):
            return False
        picked[i] += take_threads_from_few_cores(rooms, rest)
    return True


def _touched(want: PodCoresToAssign) -> int:
    return want.take.touched if want.spread else 0


def _more(used: int, others: Sequence[int], wants: Sequence[PodCoresToAssign]) -> int:
    """Return how many cores have to be broken for threads that the used ones cannot take."""
    threads = sum(wants[i].take.threads for i in others)
    return max(0, -(-(threads - used) // 2))
