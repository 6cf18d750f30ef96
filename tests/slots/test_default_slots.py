"""A worker is cut into default slots as Apache Flink cuts it (F20)."""

from decimal import Decimal

import pytest

from placer.slots.resources import UNKNOWN, ZERO, SlotResourceAmounts
from placer.slots.workers.default_slots import default_slot, slots_per_worker, worker_spec
from slots.clusters import amounts, profile
from slots.job_files import Row, row_id, rows

ROWS = rows("worker_slots.json")
WORKER = SlotResourceAmounts(cpu_e8=4 * 10**8, heap_bytes=4 * 2**30, managed_on_heap_bytes=10)


@pytest.mark.parametrize("row", [r for r in ROWS if "slots" in r], ids=row_id)
def test_default_slots_are_the_peers(row: Row) -> None:
    """
    Each field is divided and rounded down, CPUs at the eighth place.
    """
    assert default_slot(amounts(row["total"]), row["slots"]) == amounts(row["slot"])


@pytest.mark.parametrize("row", [r for r in ROWS if "count" in r], ids=row_id)
def test_a_worker_holds_as_many_slots_as_the_peers(row: Row) -> None:
    """
    The scarcest field decides how often a slot fits.
    """
    assert slots_per_worker(profile(row["total"]), amounts(row["slot"])) == row["count"]


def test_a_fraction_of_a_worker_is_a_slot() -> None:
    """
    Instead of a number of slots, a file may say what part of the worker one slot is.
    """
    assert worker_spec(WORKER, fraction=Decimal("0.3")).default_slot == SlotResourceAmounts(
        cpu_e8=120_000_000, heap_bytes=1288490188, managed_on_heap_bytes=3
    )


@pytest.mark.parametrize(
    ("slots", "fraction"), [(4, "0.25"), (3, "0.333333333333"), (1, "1"), (3, "0.3333334")]
)
def test_slots_and_fraction_that_agree_are_the_slots(slots: int, fraction: str) -> None:
    """
    Whoever gives both means the number; the fraction is its rounding.
    """
    both = worker_spec(WORKER, slots=slots, fraction=Decimal(fraction))

    assert both.default_slot == default_slot(WORKER, slots)


def test_slots_and_fraction_that_differ_are_refused() -> None:
    """
    Three slots of a quarter are a contradiction, and the message says both.
    """
    with pytest.raises(ValueError, match=r"3 slots, and one slot is 0.25 of it, not 1/3"):
        worker_spec(WORKER, slots=3, fraction=Decimal("0.25"))


@pytest.mark.parametrize(
    ("slots", "fraction", "message"),
    [
        (None, None, "give the number of slots"),
        (0, None, "has 0 slots"),
        (-1, None, "has -1 slots"),
        (None, "0", "a slot is 0 of a worker"),
        (None, "1.01", "a slot is 1.01 of a worker"),
    ],
)
def test_a_worker_without_slots_is_refused(
    slots: int | None, fraction: str | None, message: str
) -> None:
    """
    Each message names the value and what is allowed.
    """
    with pytest.raises(ValueError, match=message):
        worker_spec(WORKER, slots=slots, fraction=None if fraction is None else Decimal(fraction))


def test_slots_of_nothing_and_unknown_workers_have_no_number() -> None:
    """
    Neither question has an answer, so neither gets one.
    """
    with pytest.raises(ValueError, match="a slot of nothing"):
        slots_per_worker(WORKER, ZERO)
    with pytest.raises(ValueError, match="the worker's total is unknown"):
        slots_per_worker(UNKNOWN, SlotResourceAmounts(1))
