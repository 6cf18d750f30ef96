"""Counts of whole cores and single threads become CPU ids, one core class at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.counting.core_classes import FreeCore
from placer_models.problem import CoreClass, CoreTake


@dataclass(frozen=True, slots=True)
class Want:
    """What one pod takes of a class.

    Attributes:
        spread: The pod would rather have its single threads on different cores.

    """

    take: CoreTake
    spread: bool


def broken_cores(free: int, threads: int, touched: int) -> int:
    """Return how many cores hold single threads, where pods promise to touch so many."""
    return max(-(-threads // free), touched)


def pick_cpus(
    found: CoreClass, cores: Sequence[FreeCore], wants: Sequence[Want]
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


def _with_whole_cores(found: CoreClass, wants: Sequence[Want], i: int) -> CoreTake:
    """Return the take with single threads gathered to whole cores, where that is liked."""
    take = wants[i].take
    if wants[i].spread or not found.whole:
        return take
    gathered, left = divmod(take.threads, found.free)
    return CoreTake(take.whole + gathered, left, min(left, max(0, take.touched - gathered)))


def _if_no_worse(
    found: CoreClass, wants: Sequence[Want], gathered: Sequence[CoreTake]
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
