"""Arrivals of a batch's pods, one after the other: what is expected when each of them comes.

Where pods are placed in turn, what was learned is counted again and prices are renewed between
them just when calls of their own would do so. All of that happens ahead of the Scheduler, which
follows if the places are taken.
"""

from collections.abc import Callable, Iterable

from placer.scheduling.expecting import ExpectationTracker
from placer_models.demand import ExpectedDemand
from placer_models.placement import NamespacedName
from placer_models.pod import Pod

LookAtDemand = Callable[[ExpectationTracker], ExpectedDemand]
"""Asks what is expected on the nodes as they are by then."""


class BatchArrivals:
    """The pods of a batch as they come.

    Attributes:
        demand: What is expected when the last one comes of those that are there by now.
        ahead: What a Scheduler expects that follows them; None until a second pod comes.

    """

    def __init__(
        self, pods: Iterable[Pod], demand: ExpectedDemand, expecting: ExpectationTracker
    ) -> None:
        """Begin before the first one comes.

        Args:
            pods: All that arrive, the illegal ones too, in their order.
            demand: What is expected when the first one comes.
            expecting: What is expected before; it stays as it is.

        """
        self._pods = tuple(pods)
        self._first, self._before = demand, expecting
        self.restart()

    def restart(self) -> None:
        """Begin anew: no pod has come."""
        self._there = 0
        self.demand = self._first
        self.ahead: ExpectationTracker | None = None

    @property
    def is_one(self) -> bool:
        """Whether only one pod comes."""
        return len(self._pods) == 1

    def until(self, pod: NamespacedName, look: LookAtDemand) -> ExpectedDemand:
        """Let pods come, up to this one; return what is expected when it does."""
        while self._next(look) != pod:
            pass
        return self.demand

    def all(self, look: LookAtDemand) -> None:
        """Let the other pods come, too, who have no place."""
        while self._there < len(self._pods):
            self._next(look)
        if self.ahead is not None:
            self.ahead.arrive(self._pods[-1:])

    def _next(self, look: LookAtDemand) -> NamespacedName:
        if self._there:
            if self.ahead is None:
                self.ahead = self._before.forked()
            self.ahead.arrive(self._pods[self._there - 1 : self._there])
            self.demand = look(self.ahead)
        self._there += 1
        return self._pods[self._there - 1].key
