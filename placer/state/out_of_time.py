"""Out of time: how work that nobody has to wait for is given up half-way."""

from collections.abc import Callable

Stop = Callable[[], bool]
"""Asked now and then whether the time is over."""


class OutOfTimeError(Exception):
    """The time was over before the work was done."""


def raise_if_out_of_time(stop: Stop | None) -> None:
    """Raise an error if there is something to ask and it says that the time is over.

    Raises:
        OutOfTimeError: The time is over.

    """
    if stop is not None and stop():
        raise OutOfTimeError
