"""Ctrl-C that works at once, also while compiled code searches."""

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

_LOOK_EVERY_S = 0.1


def interruptible(work: Callable[[], T]) -> T:
    """Return what the work returns, or raise what it raises.

    Python runs signal handlers in the main thread between two of its own steps, and a
    search is one long step of compiled code. So the search runs in a thread beside, and
    the main thread does nothing but wait. After Ctrl-C that thread is still busy: the
    process must end by ``os._exit``.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK_EVERY_S)
    if errors:
        raise errors[0]
    return results[0]
