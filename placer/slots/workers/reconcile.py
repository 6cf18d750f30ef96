"""Reconciling workers: which idle ones may go, and how many new ones the reserve wants."""

from dataclasses import dataclass

from placer.slots.resources import ZERO, add_slot_amounts
from placer.slots.workers.model import DataflowWorkers, RequestedWorker
from placer.slots.workers.reserve import free_and_total_of_workers, new_worker_count_to_fill_reserve


@dataclass(frozen=True, slots=True)
class WorkerChanges:
    """What to do with the workers.

    Attributes:
        release_registered: Idle workers that nobody needs, by index.
        release_pending: Pending workers that no slot waits for, by index.
        new_workers: Workers to start.

    """

    release_registered: tuple[int, ...]
    release_pending: tuple[int, ...]
    new_workers: int


def reconcile_workers(workers: DataflowWorkers) -> WorkerChanges:
    """Return which workers go and how many come, so that the reserve is just kept.

    Workers in use stay. If they do not make up the reserve, pending workers in use count
    too, then idle workers and unused pending ones are kept one by one until they do.
    """

    def suffices() -> bool:
        return not new_worker_count_to_fill_reserve(stock, workers.spec, workers.reserve)

    stock = free_and_total_of_workers(
        (worker.available, worker.total) for worker in workers.registered if not worker.idle
    )
    if not suffices():
        for waiting in workers.pending:
            if _in_use(waiting):
                free = add_slot_amounts(waiting.total, waiting.used, -1)
                stock = stock.plus(free, waiting.total)
    release_registered, release_pending = [], []
    for i, worker in enumerate(workers.registered):
        if not worker.idle:
            continue
        if suffices():
            release_registered.append(i)
        else:
            stock = stock.plus(worker.available, worker.total)
    for i, waiting in enumerate(workers.pending):
        if _in_use(waiting):
            continue
        if suffices():
            release_pending.append(i)
        else:
            stock = stock.plus(waiting.total, waiting.total)
    return WorkerChanges(
        tuple(release_registered),
        tuple(release_pending),
        new_worker_count_to_fill_reserve(stock, workers.spec, workers.reserve),
    )


def _in_use(pending: RequestedWorker) -> bool:
    return pending.used != ZERO
