"""Model that is given up half-way where the time is over: a large one takes long to write."""

from collections.abc import Callable
from typing import Any

from ortools.sat.python.cp_model import Constraint, CpModel, IntVar

STEPS_AT_ONCE = 64
"""How many steps, such as a variable or a constraint, go from one look at the clock to the next."""


class ModelBuildTimeoutError(Exception):
    """The time was over before the model was written."""


class ModelStoppableWhileBuilt(CpModel):
    """A model that asks while it is written whether the time is over.

    Rules and goals know nothing of that: they make variables and add constraints, as ever. Who
    calls them says where else to ask, because not all of them make any.
    """

    def __init__(self, stop: Callable[[], bool]) -> None:
        """Begin an empty model.

        Args:
            stop: Asked now and then whether the time is over; then `ModelBuildTimeoutError` is
                raised.

        """
        super().__init__()
        self._stop: Callable[[], bool] | None = stop
        self._steps = 0

    def ask_no_more(self) -> None:
        """Ask no more: what is added from now on is part of the search."""
        self._stop = None

    def go_on(self) -> None:
        """Ask now.

        Raises:
            ModelBuildTimeoutError: The time is over.

        """
        if self._stop is not None and self._stop():
            raise ModelBuildTimeoutError

    def step(self) -> None:
        """Ask if enough has been done since the last time.

        Raises:
            ModelBuildTimeoutError: The time is over.

        """
        self._steps += 1
        if self._steps % STEPS_AT_ONCE == 0:
            self.go_on()

    def new_int_var(self, lb: Any, ub: Any, name: str) -> IntVar:
        """Create an integer variable."""
        self.step()
        return super().new_int_var(lb, ub, name)

    def new_bool_var(self, name: str) -> IntVar:
        """Create a literal."""
        self.step()
        return super().new_bool_var(name)

    def add(self, ct: Any) -> Constraint:
        """Add a constraint."""
        self.step()
        return super().add(ct)
