"""Model that is given up half-way where the time is over: a large one takes long to write."""

from collections.abc import Callable
from typing import Any

from ortools.sat.python.cp_model import Constraint, CpModel, IntVar

CALLS_AT_ONCE = 64
"""How many variables and constraints are written from one look at the clock to the next."""


class StoppedError(Exception):
    """The time was over before the model was written."""


class StoppableModel(CpModel):
    """A model that asks while it is written whether the time is over.

    Rules and goals know nothing of that: they make variables and add constraints, as ever.
    """

    def __init__(self, stop: Callable[[], bool]) -> None:
        """Begin an empty model.

        Args:
            stop: Asked now and then whether the time is over; then `StoppedError` is raised.

        """
        super().__init__()
        self._stop: Callable[[], bool] | None = stop
        self._calls = 0

    def ask_no_more(self) -> None:
        """Ask no more: what is added from now on is part of the search."""
        self._stop = None

    def new_int_var(self, lb: Any, ub: Any, name: str) -> IntVar:
        """Create an integer variable."""
        self._go_on()
        return super().new_int_var(lb, ub, name)

    def new_bool_var(self, name: str) -> IntVar:
        """Create a literal."""
        self._go_on()
        return super().new_bool_var(name)

    def add(self, ct: Any) -> Constraint:
        """Add a constraint."""
        self._go_on()
        return super().add(ct)

    def _go_on(self) -> None:
        self._calls += 1
        if self._calls % CALLS_AT_ONCE == 0 and self._stop is not None and self._stop():
            raise StoppedError
