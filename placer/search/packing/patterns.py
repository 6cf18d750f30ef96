"""The ways to fill one bin."""

from collections.abc import Sequence

from placer.search.packing.bins import Bin, Counts, Vector
from placer.search.packing.knapsack import most
from placer.search.packing.work import Work


def full_patterns(bin: Bin, counts: Sequence[int], work: Work) -> list[Counts]:
    """Return every choice out of the counts that fills the bin: nothing more goes in.

    Raises:
        WorkLimitError: There are too many.

    """
    found: list[Counts] = []
    chosen: list[int] = []
    last = len(counts)

    def choose(thing: int, room: Vector) -> None:
        work.spend()
        if thing == last:
            if not any(chosen[t] < counts[t] and bin.fits(room, t) for t in range(last)):
                found.append(tuple(chosen))
            return
        for times in range(most(bin, room, thing, counts[thing]), -1, -1):
            chosen.append(times)
            choose(thing + 1, bin.without(room, thing, times))
            chosen.pop()

    choose(0, bin.room)
    return found
