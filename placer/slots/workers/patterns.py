"""The ways to fill one bin."""

from collections.abc import Sequence

from placer.slots.workers.packing import Bin, Counts


class WorkLimitError(Exception):
    """The work that was allowed is done."""


class Work:
    """A budget of steps, so that an answer does not depend on the machine's speed."""

    def __init__(self, limit: int) -> None:
        self._left = limit

    def spend(self) -> None:
        """Use one step.

        Raises:
            WorkLimitError: There is none left.

        """
        self._left -= 1
        if self._left < 0:
            raise WorkLimitError


def full_patterns(bin: Bin, counts: Sequence[int], work: Work) -> list[Counts]:
    """Return every choice out of the counts that fills the bin: nothing more goes in.

    Raises:
        WorkLimitError: There are too many.

    """
    found: list[Counts] = []
    chosen: list[int] = []
    last = len(counts)

    def choose(thing: int, room: tuple[int, ...]) -> None:
        work.spend()
        if thing == last:
            if not any(chosen[t] < counts[t] and bin.fits(room, t) for t in range(last)):
                found.append(tuple(chosen))
            return
        size = bin.sizes[thing]
        most = min([counts[thing], *(b // a for a, b in zip(size, room, strict=True) if a)])
        for times in range(most, -1, -1):
            chosen.append(times)
            choose(thing + 1, bin.without(room, thing, times))
            chosen.pop()

    choose(0, bin.room)
    return found
