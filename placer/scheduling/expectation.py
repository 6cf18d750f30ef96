"""Expectations: what a Scheduler expects at one moment, as a value."""

from dataclasses import dataclass, field

from placer_models.demand import ExpectedDemand, ExpectedShape
from placer_models.placement import NamespacedName
from placer_models.typed import TypeChecked

Arrived = tuple[NamespacedName, ExpectedShape | None]
"""Key of a pod, and what it asks for; None if the strategy does not look at it."""


@dataclass(frozen=True, slots=True)
class Expectation(TypeChecked):
    """What a Scheduler expects, at one moment.

    Attributes:
        demand: What it keeps room for, with prices; None before the first look.
        is_given: Whether the demand was given. Else it is learned.
        arrived: The pods that it remembers, oldest first, if it learns.
        arrivals: How many pods it has seen.
        next_count: Once it has seen so many, what it learned is counted again.
        idle_milli: Thousandths of GPUs that were left when prices were found last.

    """

    demand: ExpectedDemand | None = None
    is_given: bool = False
    arrived: tuple[Arrived, ...] = field(default=(), repr=False)
    arrivals: int = 0
    next_count: int = 0
    idle_milli: int = 0

    @property
    def given(self) -> ExpectedDemand | None:
        """The demand that was given, without prices; None if it is learned."""
        return self.demand.priced(None) if self.is_given and self.demand else None


NOTHING_EXPECTED = Expectation()
"""What a Scheduler expects that has seen no pod."""
