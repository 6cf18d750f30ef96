"""What is kept beyond what jobs ask for: redundancy, and least totals."""

from collections.abc import Iterable
from dataclasses import dataclass

from placer.slots.resources import PLAIN, ZERO, Amounts, add
from placer.slots.workers.words import Reserve, WorkerSpec


@dataclass(frozen=True, slots=True)
class Stock:
    """Resources of workers, added up.

    Attributes:
        free: What no slot takes.
        total: All of it.

    """

    free: Amounts = ZERO
    total: Amounts = ZERO

    def plus(self, free: Amounts, total: Amounts) -> "Stock":
        """Return the stock with one more worker."""
        return Stock(add(self.free, free), add(self.total, total))


def stock_of(parts: Iterable[tuple[Amounts, Amounts]]) -> Stock:
    """Return the stock of workers, each given as (free, total)."""
    stock = Stock()
    for free, total in parts:
        stock = stock.plus(free, total)
    return stock


def workers_short(stock: Stock, spec: WorkerSpec, reserve: Reserve) -> int:
    """Return how many new workers the stock needs to make up the reserve.

    Raises:
        ValueError: A new worker has nothing of what is short.

    """
    one, spare = spec.total, reserve.redundant_workers
    lacks = [
        ("cpu_e8", reserve.min_cpu_e8 - stock.total.cpu_e8, one.cpu_e8),
        (
            "memory",
            reserve.min_memory_bytes - stock.total.total_memory_bytes,
            one.total_memory_bytes,
        ),
        *(
            (name, spare * each - free, each)
            for name, free, each in zip(PLAIN, stock.free.plain, one.plain, strict=True)
        ),
        *(
            (name, spare * each - stock.free.extended_of(name), each)
            for name, each in one.extended_e8
        ),
    ]
    workers = 0
    for name, lack, each in lacks:
        if lack > 0 and not each:
            raise ValueError(f"{name}: the reserve lacks {lack}, and a new worker has none")
        if lack > 0:
            workers = max(workers, -(-lack // each))
    return workers
