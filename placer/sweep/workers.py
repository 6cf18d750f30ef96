"""Workers on which the tasks of a sweep run: this process, others of this machine, a Dask cluster.

Each kind hands out a `concurrent.futures.Executor`, and a new one where the one before is broken.
"""

import re
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from enum import Enum, auto
from multiprocessing import get_context
from typing import Any, Protocol

from placer.sweep.halting import init_worker_process, never_halted, set_stop_for_tasks

DASK = "dask:"
_EXTRA = "pip install 'placer[dask]'"
_ANSWER_S = 10
_ADDRESS = re.compile(re.escape(DASK) + r"[a-z]+://[^/\s]+:[0-9]{1,5}")


class SweepWorkersError(Exception):
    """There are no such workers, or they cannot do the work. ``str()`` is the whole message."""


class SweepLossExtent(Enum):
    """What is gone when a task ends with an error that is not its own."""

    OF_WORKER = auto()
    """The worker of the task."""

    OF_ALL = auto()
    """The executor, with all that was on it."""


class SweepBackend(Protocol):
    """Where tasks run.

    Attributes:
        remote: Whether tasks go to other processes, so that they have to be pickled.

    """

    remote: bool

    @property
    def slots(self) -> int:
        """How many tasks run at a time.

        Raises:
            SweepWorkersError: There are no such workers.

        """

    def open(self, stop: Callable[[], bool]) -> Executor:
        """Return a new executor; the one before, if any, is given up.

        Args:
            stop: Asked by tasks of this process now and then whether to end with what they have.

        Raises:
            SweepWorkersError: There is none to be had.

        """

    def loss_of(self, error: BaseException) -> SweepLossExtent | None:
        """Return what an error says to be gone; None: it is the task's own error."""

    def halt(self) -> bool:
        """Ask the tasks that run to end with what they have; return whether they hear it."""

    def close(self) -> None:
        """Give up the executor, and what still runs."""


class _HereExecutor(Executor):
    """An executor that does each task at once, in the calling thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class InProcessSweepWorker:
    """Tasks run one after the other in this process."""

    remote = False
    slots = 1

    def open(self, stop: Callable[[], bool]) -> Executor:
        """Return an executor whose tasks may ask ``stop``."""
        set_stop_for_tasks(stop)
        return _HereExecutor()

    def loss_of(self, error: BaseException) -> SweepLossExtent | None:
        """Return None: who is gone here is gone with the sweep."""
        return None

    def halt(self) -> bool:
        """Return True: tasks have been told what to ask."""
        return True

    def close(self) -> None:
        """Let tasks ask nobody any more."""
        set_stop_for_tasks(never_halted)


class LocalProcessSweepWorkers:
    """Tasks run in further processes of this machine, which begin empty."""

    remote = True

    def __init__(self, slots: int) -> None:
        """Remember how many; none is started yet."""
        self._slots = slots
        # A forked process would inherit the threads' locks of compiled code, but no threads.
        self._context = get_context("spawn")
        # No event: a process that is killed while it looks at one would leave it locked.
        self._halted = self._context.RawValue("b", 0)
        self._pool: ProcessPoolExecutor | None = None

    @property
    def slots(self) -> int:
        """How many processes there are at most."""
        return self._slots

    def open(self, stop: Callable[[], bool]) -> Executor:
        """Return a new pool of processes."""
        self.close()
        self._pool = _QuietPool(
            self._slots, self._context, initializer=init_worker_process, initargs=(self._halted,)
        )
        return self._pool

    def loss_of(self, error: BaseException) -> SweepLossExtent | None:
        """Return whether a process of the pool has died, which breaks all of the pool."""
        return SweepLossExtent.OF_ALL if isinstance(error, BrokenExecutor) else None

    def halt(self) -> bool:
        """Let tasks that ask know."""
        self._halted.value = 1
        return True

    def close(self) -> None:
        """End the processes; what still runs is told to end."""
        if self._pool is not None:
            # Waited for: a pool that ends while the interpreter does raises an error there.
            before, self._halted.value = self._halted.value, 1
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool, self._halted.value = None, before


class _QuietPool(ProcessPoolExecutor):
    """A pool whose processes leave Ctrl-C to the process that started them."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # A process begins with the signal mask of the thread that starts it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class DaskSweepWorkers:
    """Tasks run on the workers of a Dask scheduler, where Placer is installed as well."""

    remote = True

    def __init__(self, address: str) -> None:
        """Remember the scheduler's address, such as ``tcp://10.0.0.7:8786``.

        Raises:
            SweepWorkersError: The package that speaks to Dask is not installed.

        """
        try:
            from distributed import Client, KilledWorker
            from distributed.comm.core import CommClosedError
        except ModuleNotFoundError:
            raise SweepWorkersError(
                f"{DASK}{address} needs a package that is not installed: {_EXTRA}"
            ) from None
        self._address = address
        self._client_of: Any = Client
        self._killed: type[BaseException] = KilledWorker
        self._gone: tuple[type[BaseException], ...] = (CommClosedError, CancelledError)
        self._client: Any = None

    @property
    def slots(self) -> int:
        """How many threads the workers have that are there now."""
        threads: dict[str, int] = self._connected().nthreads()
        return max(1, sum(threads.values()))

    def open(self, stop: Callable[[], bool]) -> Executor:
        """Return an executor of the scheduler."""
        # Not pure: equal tasks of two sweeps are two tasks, and no answer comes from a cache.
        executor: Executor = self._connected().get_executor(pure=False)
        return executor

    def _connected(self) -> Any:
        """Return the client of the scheduler, once that has a worker."""
        if self._client is not None and self._client.status == "running":
            return self._client
        self.close()
        try:
            self._client = self._client_of(self._address, timeout=_ANSWER_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise SweepWorkersError(
                f"no Dask scheduler answers at {self._address} ({error}); start one with "
                "'dask scheduler', and workers with 'dask worker'"
            ) from None
        try:
            self._client.wait_for_workers(1, _ANSWER_S)
        except TimeoutError:
            raise SweepWorkersError(
                f"the Dask scheduler at {self._address} has no worker; start one with "
                f"'dask worker {self._address}'"
            ) from None
        return self._client

    def loss_of(self, error: BaseException) -> SweepLossExtent | None:
        """Return whether the task's workers died again and again, or nobody answers."""
        if isinstance(error, self._killed):
            return SweepLossExtent.OF_WORKER
        return SweepLossExtent.OF_ALL if isinstance(error, self._gone) else None

    def halt(self) -> bool:
        """Return False: tasks elsewhere are given up."""
        return False

    def close(self) -> None:
        """Leave the scheduler, which gives up the tasks of whoever leaves."""
        if self._client is not None:
            self._client.close()
            self._client = None


def make_sweep_workers(processes: int | None, address: str | None) -> SweepBackend:
    """Return the workers that somebody asked for.

    Args:
        processes: How many processes of this machine; None or 1: this process alone.
        address: Where others are, as ``dask:tcp://HOST:PORT``.

    Raises:
        SweepWorkersError: Nobody has such an address, or both were asked for.

    """
    if address is None:
        return (
            InProcessSweepWorker()
            if processes in (None, 1)
            else LocalProcessSweepWorkers(processes or 1)
        )
    if processes is not None:
        raise SweepWorkersError(f"got {processes} processes and {address}; name one of them")
    # A client of Dask that never began to connect complains as it is let go, so it is not made.
    if not _ADDRESS.fullmatch(address):
        raise SweepWorkersError(f"got '{address}'; expected {DASK}tcp://HOST:PORT")
    return DaskSweepWorkers(address.removeprefix(DASK))
