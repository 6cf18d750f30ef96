"""Ctrl-C that ends a search with its best answer, also while compiled code searches."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from types import FrameType
from typing import TypeVar

from placer.search.halt import SearchHalt

T = TypeVar("T")

_LOOK_EVERY_S = 0.1

_NOTE = "placer: interrupted: the answer is the best so far; Ctrl-C again ends without one\n"


class InterruptedSolveError(Exception):
    """Ctrl-C came before there was an answer."""


@contextmanager
def ctrl_c_as_interrupted_solve() -> Iterator[None]:
    """Tell of Ctrl-C before there is an answer as such.

    Raises:
        InterruptedSolveError: It came.

    """
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedSolveError from None


@contextmanager
def halt_on_ctrl_c() -> Iterator[SearchHalt]:
    """Yield what the first Ctrl-C calls; the second one ends the command."""
    halt = SearchHalt()

    def on_interrupt(_signal: int, _frame: FrameType | None) -> None:
        if halt.called_s is not None:
            raise KeyboardInterrupt
        halt.call()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield halt
    finally:
        signal.signal(signal.SIGINT, before)


def run_interruptibly(work: Callable[[], T], halt: SearchHalt) -> T:
    """Return what the work returns, or raise what it raises; a halt is said on standard error.

    Python runs signal handlers in the main thread between two of its own steps, and a
    search is one long step of compiled code. So the search runs in a thread beside, and
    the main thread does nothing but wait. After a second Ctrl-C that thread is still busy:
    the process must end by ``os._exit``.
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
    said = False
    while thread.is_alive():
        thread.join(_LOOK_EVERY_S)
        if halt.called_s is not None:
            halt.call()
            if not said:
                sys.stderr.write(_NOTE)
                sys.stderr.flush()
                said = True
    if errors:
        raise errors[0]
    return results[0]
