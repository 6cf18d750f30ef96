"""The sweep: independent tasks, each with one result, however many workers die on the way."""

import heapq
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

from placer.sweep.halting import NotDoneError, halted
from placer.sweep.workers import SweepWorkers, WorkersError

T = TypeVar("T")
R = TypeVar("R")

_LOOK_EVERY_S = 0.1
_AHEAD = 2
"""So many tasks a slot are handed out: a worker that is done finds the next one waiting."""
_BREAKS = 3
"""After so many losses in a row, with no task done between them, the sweep gives up."""


@dataclass(frozen=True, slots=True)
class Swept(Generic[T, R]):
    """What came of a sweep.

    Attributes:
        done: Task and result of all that were done, in the order of the tasks.
        left: The tasks that have no result: the sweep was halted, or their workers died.
        lost: Whether workers died again and again, so that it was given up.

    """

    done: tuple[tuple[T, R], ...]
    left: tuple[T, ...]
    lost: bool


def sweep(
    work: Callable[[T], R],
    tasks: Sequence[T],
    workers: SweepWorkers,
    stop: Callable[[], bool] = lambda: False,
    on_done: Callable[[int], None] = lambda count: None,
) -> Swept[T, R]:
    """Do each task once, and return the results in the order of the tasks.

    A task whose worker dies is done again by another one; a result that has come is never asked
    for a second time. So ``work`` may begin more often than once, and must change nothing.

    Args:
        work: Does one task; a function of a module. Tasks and results have to be picklable if
            workers are elsewhere.
        tasks: The tasks.
        workers: Where they run.
        stop: Asked now and then whether to end with what is done.
        on_done: Told how many are done, after each.

    Raises:
        WorkersError: The workers cannot be had, or cannot do the work.

    """
    run = _Run(work, tasks, workers, stop, on_done)
    try:
        return run.all()
    finally:
        workers.close()


@dataclass(slots=True)
class _Run(Generic[T, R]):
    """A sweep while it runs.

    Attributes:
        waiting: Numbers of the tasks that nobody does now, as a heap.
        running: Which task a future is for.
        results: Number of a task -> its result.

    """

    work: Callable[[T], R]
    tasks: Sequence[T]
    workers: SweepWorkers
    stop: Callable[[], bool]
    on_done: Callable[[int], None]
    waiting: list[int] = field(default_factory=list)
    running: dict[Future[R], int] = field(default_factory=dict)
    results: dict[int, R] = field(default_factory=dict)

    def all(self) -> Swept[T, R]:
        """Return what came of all tasks."""
        self.waiting = list(range(len(self.tasks)))
        breaks, told = 0, False
        executor = self.workers.open(self.stop) if self.tasks else None
        while executor is not None and breaks < _BREAKS:
            if not told and self.stop():
                told = True
                if not self.workers.halt():
                    break
            broken = not told and not self._hand_out(executor)
            if not (self.running or broken or (self.waiting and not told)):
                break
            before = len(self.results)
            broken = self._collect() or broken
            if len(self.results) > before:
                breaks = 0
            if broken:
                breaks += 1
                self._take_back()
                executor = None if told else self.workers.open(self.stop)
        done = tuple((self.tasks[i], self.results[i]) for i in sorted(self.results))
        left = tuple(task for i, task in enumerate(self.tasks) if i not in self.results)
        return Swept(done, left, breaks == _BREAKS)

    def _hand_out(self, executor: Executor) -> bool:
        """Hand out tasks as long as workers want some; return False if they cannot be had."""
        remote = self.workers.remote
        wanted = _AHEAD * self.workers.slots if remote else 1
        while self.waiting and len(self.running) < wanted:
            number = self.waiting[0]
            try:
                if remote:
                    packed = pickle.dumps((self.work, self.tasks[number]))
                    future = cast("Future[R]", executor.submit(_unpack_and_do, packed))
                else:
                    future = executor.submit(self.work, self.tasks[number])
            except BrokenExecutor:
                return False
            heapq.heappop(self.waiting)
            self.running[future] = number
        return True

    def _collect(self) -> bool:
        """Take what is done; return whether a worker is gone."""
        done, _ = wait(self.running, _LOOK_EVERY_S, FIRST_COMPLETED)
        return sum(map(self._took, done)) > 0

    def _took(self, future: Future[R]) -> bool:
        """Take the result of a task that ended; return whether its worker is gone."""
        number = self.running.pop(future)
        # A future that was cancelled raises that, and has no exception to ask for.
        try:
            self.results[number] = future.result()
        except NotDoneError:
            heapq.heappush(self.waiting, number)
            return False
        except ModuleNotFoundError as error:
            raise WorkersError(
                f"the workers cannot do the work: {error}; install there what is installed here"
            ) from None
        except BaseException as error:
            if not self.workers.is_loss(error):
                raise
            heapq.heappush(self.waiting, number)
            return True
        self.on_done(len(self.results))
        return False

    def _take_back(self) -> None:
        """Take back all tasks that are still out; what came in meanwhile is kept."""
        for future in list(self.running):
            if future.done():
                self._took(future)
            else:
                heapq.heappush(self.waiting, self.running.pop(future))


def _unpack_and_do(packed: bytes) -> object:
    """Do a task that was sent as bytes, into which no executor looks."""
    if halted()():
        raise NotDoneError
    work, task = pickle.loads(packed)
    return work(task)
