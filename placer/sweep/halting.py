"""Halt of a sweep, as its tasks see it: wherever one runs, it may ask whether to end early."""

import os
from collections.abc import Callable
from contextvars import ContextVar
from multiprocessing import parent_process
from threading import Thread
from typing import Protocol


class SweepTaskHaltedError(Exception):
    """A task has no result, because the sweep was halted before it was done."""


def never_halted() -> bool:
    """Return False: nobody halts."""
    return False


_HALTED: ContextVar[Callable[[], bool]] = ContextVar("halted", default=never_halted)


def stop_check_of_task() -> Callable[[], bool]:
    """Return what a task asks now and then: whether to end with what it has."""
    return _HALTED.get()


def set_stop_for_tasks(stop: Callable[[], bool]) -> None:
    """Let tasks that run in this context ask ``stop``."""
    _HALTED.set(stop)


class SweepHaltFlag(Protocol):
    """A number in memory that processes share: not 0 once they are to halt."""

    value: int


def init_worker_process(flag: SweepHaltFlag) -> None:
    """Begin a process that works for another: it hears of a halt, and ends with the other."""
    set_stop_for_tasks(lambda: flag.value != 0)
    parent = parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent.join,), daemon=True).start()


def _end_with(wait: Callable[[], object]) -> None:
    wait()
    os._exit(1)
