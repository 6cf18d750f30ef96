"""The sweep: independent tasks, each with one result, however many workers die on the way."""

import heapq
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

from placer.sweep.halting import SweepTaskHaltedError, stop_check_of_task
from placer.sweep.workers import (
    InProcessSweepWorker,
    SweepBackend,
    SweepLossExtent,
    SweepWorkersError,
)

T = TypeVar("T")
R = TypeVar("R")

_LOOK_EVERY_S = 0.1
_AHEAD = 2
"""So many tasks a slot are handed out: a worker that is done finds the next one waiting."""
_TRIES = 3
"""After so many workers that died of it, or with it, a task is given up."""


@dataclass(frozen=True, slots=True)
class SweepOutcome(Generic[T, R]):
    """What came of a sweep.

    Attributes:
        done: Task and result of all that were done, in the order of the tasks.
        left: The tasks that have no result: the sweep was halted, or their workers died.
        lost: Whether tasks were given up, because their workers died again and again.

    """

    done: tuple[tuple[T, R], ...]
    left: tuple[T, ...]
    lost: bool


def run_sweep(
    work: Callable[[T], R],
    tasks: Sequence[T],
    workers: SweepBackend,
    stop: Callable[[], bool] = lambda: False,
    on_done: Callable[[int], None] = lambda count: None,
) -> SweepOutcome[T, R]:
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
        SweepWorkersError: The workers cannot be had, or cannot do the work.

    """
    run = _Run(work, tasks, workers, stop)
    for count, _ in enumerate(run.all(), 1):
        on_done(count)
    done = tuple((tasks[number], run.results[number]) for number in sorted(run.results))
    left = tuple(task for number, task in enumerate(tasks) if number not in run.results)
    return SweepOutcome(done, left, run.given_up)


def sweep_results_as_completed(
    work: Callable[[T], R],
    tasks: Sequence[T],
    workers: SweepBackend | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, R]]:
    """Yield the index and the result of each task of a sweep as it is done, in any order.

    Args:
        work: As in `run_sweep`.
        tasks: The tasks.
        workers: Where they run; None: one after the other in this process.
        stop: Asked now and then whether the rest is left out.

    Raises:
        SweepWorkersError: The workers cannot be had, or cannot do the work.

    """
    return _Run(work, tasks, workers or InProcessSweepWorker(), stop).all()


@dataclass(slots=True)
class _Run(Generic[T, R]):
    """A sweep while it runs.

    Attributes:
        waiting: (how often its worker was lost, number) of the tasks that nobody does now, as a
            heap.
        ahead: How many tasks are out at a time.
        running: The same of the task that a future is for.
        results: Number of a task -> its result.
        fresh: Numbers of the results that nobody was told of yet.
        given_up: Whether some task is not tried again.

    """

    work: Callable[[T], R]
    tasks: Sequence[T]
    workers: SweepBackend
    stop: Callable[[], bool]
    waiting: list[tuple[int, int]] = field(default_factory=list)
    ahead: int = 1
    running: dict[Future[R], tuple[int, int]] = field(default_factory=dict)
    results: dict[int, R] = field(default_factory=dict)
    fresh: list[int] = field(default_factory=list)
    given_up: bool = False

    def all(self) -> Iterator[tuple[int, R]]:
        """Yield the results, each once."""
        try:
            for number in self._done():
                yield number, self.results[number]
        finally:
            self.workers.close()

    def _done(self) -> Iterator[int]:
        """Yield the numbers of tasks as they are done."""
        self.waiting = [(0, number) for number in range(len(self.tasks))]
        executor = self._opened() if self.tasks else None
        told = False
        while executor is not None:
            if not told and self.stop():
                told = True
                if not self.workers.halt():
                    break
            broken = not told and not self._hand_out(executor)
            if not self.running and not broken and (told or not self.waiting):
                break
            if self._collect() or broken:
                self._take_back()
                executor = None if told else self._opened()
            yield from self.fresh
            self.fresh.clear()

    def _opened(self) -> Executor | None:
        """Return an executor, or None if there is none any more: what is done is kept."""
        try:
            executor = self.workers.open(self.stop)
            if self.workers.remote:
                self.ahead = _AHEAD * self.workers.slots
        except SweepWorkersError:
            if not self.results:
                raise
            self.given_up = True
            return None
        return executor

    def _hand_out(self, executor: Executor) -> bool:
        """Hand out tasks as long as workers want some; return False if they cannot be had."""
        while self.waiting and len(self.running) < self.ahead:
            losses, number = self.waiting[0]
            # Whoever was there when a worker died may have killed it, and is tried alone.
            if losses and self.running:
                return True
            try:
                if self.workers.remote:
                    packed = pickle.dumps((self.work, self.tasks[number]))
                    future = cast("Future[R]", executor.submit(_unpack_and_do, packed))
                else:
                    future = executor.submit(self.work, self.tasks[number])
            except BrokenExecutor:
                return False
            self.running[future] = heapq.heappop(self.waiting)
            if losses:
                return True
        return True

    def _collect(self) -> bool:
        """Take what is done; return whether the executor is broken."""
        done, _ = wait(self.running, _LOOK_EVERY_S, FIRST_COMPLETED)
        return sum(map(self._took, done)) > 0

    def _took(self, future: Future[R]) -> bool:
        """Take the result of a task that ended; return whether the executor is broken."""
        losses, number = self.running.pop(future)
        try:
            self.results[number] = future.result()
        except SweepTaskHaltedError:
            heapq.heappush(self.waiting, (losses, number))
            return False
        except ModuleNotFoundError as error:
            raise SweepWorkersError(
                f"the workers cannot do the work: {error}; install there what is installed here"
            ) from None
        # A future that was cancelled says so in its own way.
        except BaseException as error:
            loss = self.workers.loss_of(error)
            if loss is None:
                raise
            self._lost(losses, number)
            return loss is SweepLossExtent.OF_ALL
        self.fresh.append(number)
        return False

    def _lost(self, losses: int, number: int) -> None:
        """Let a task wait again whose worker is gone, but not for ever."""
        if losses + 1 < _TRIES:
            heapq.heappush(self.waiting, (losses + 1, number))
        else:
            self.given_up = True

    def _take_back(self) -> None:
        """Take back all tasks that are still out; what came in meanwhile is kept."""
        for future in list(self.running):
            if future.done():
                self._took(future)
            else:
                self._lost(*self.running.pop(future))


def _unpack_and_do(packed: bytes) -> object:
    """Do a task that was sent as bytes, into which no executor looks."""
    if stop_check_of_task()():
        raise SweepTaskHaltedError
    work, task = pickle.loads(packed)
    return work(task)
