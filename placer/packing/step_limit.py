"""A budget of steps, so that an answer does not depend on the machine's speed."""

from collections.abc import Callable

_LOOKS_AT_THE_CLOCK = 1_000
"""Steps between two checks of whether the time is over."""


class PackingStepLimitError(Exception):
    """The steps that were allowed are spent."""


class PackingStepBudget:
    """Steps that may still be spent.

    Args:
        limit: How many steps may be spent.
        stop: Asked now and then whether the time is over.

    """

    def __init__(self, limit: int, stop: Callable[[], bool] = lambda: False) -> None:
        self._left = limit
        self._stop = stop
        self._next_look = limit

    def spend(self, steps: int = 1) -> None:
        """Spend steps.

        Raises:
            PackingStepLimitError: Fewer steps than that are left, or the time is over.

        """
        self._left -= steps
        if self._left <= self._next_look:
            self._next_look = self._left - _LOOKS_AT_THE_CLOCK
            if self._left < 0 or self._stop():
                raise PackingStepLimitError
        if self._left < 0:
            raise PackingStepLimitError
