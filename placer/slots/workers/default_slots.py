"""A worker cut into default slots (F20)."""

from decimal import Decimal

from placer.slots.fractions import PLACES
from placer.slots.resources import (
    ANY,
    ZERO,
    ResourceProfile,
    SlotResourceAmounts,
    slot_amounts_of,
)
from placer.slots.workers.model import NewWorkerSpec

_UNITS = 10**PLACES
_AGREE = Decimal("1e-6")

NO_END = 2**31 - 1
"""More slots than any worker has."""


def worker_spec(
    total: SlotResourceAmounts, *, slots: int | None = None, fraction: Decimal | None = None
) -> NewWorkerSpec:
    """Return a worker whose default slot is given as a count, a fraction of it, or both.

    Raises:
        ValueError: Neither is given, one is out of range, or they contradict each other.

    """
    if slots is None and fraction is None:
        raise ValueError("give the number of slots of a worker, or the fraction of one slot")
    if slots is not None and slots < 1:
        raise ValueError(f"a worker has {slots} slots; expected 1 or more")
    if fraction is not None and not 0 < fraction <= 1:
        raise ValueError(f"a slot is {fraction} of a worker; expected more than 0, at most 1")
    if slots is not None and fraction is not None and abs(fraction * slots - 1) > _AGREE:
        raise ValueError(
            f"a worker has {slots} slots, "
            f"and one slot is {fraction} of it, not 1/{slots}; give one of the two"
        )
    numerator, denominator = (1, slots) if slots else (int((fraction or 0) * _UNITS), _UNITS)
    return NewWorkerSpec(total, _part(total, numerator, denominator))


def default_slot(total: SlotResourceAmounts, slots: int) -> SlotResourceAmounts:
    """Return one of so many equal slots of a worker, each field rounded down.

    Raises:
        ValueError: There is not even one slot.

    """
    return worker_spec(total, slots=slots).default_slot


def slots_per_worker(total: ResourceProfile, slot: SlotResourceAmounts) -> int:
    """Return how many slots of a size a worker holds; one of ``ANY`` holds ``NO_END``.

    Raises:
        ValueError: The slot is nothing at all, or the worker's total is unknown.

    """
    if total is ANY:
        return NO_END
    if not isinstance(total, SlotResourceAmounts):
        raise ValueError("the worker's total is unknown; say what it has")
    if slot == ZERO:
        raise ValueError("a slot of nothing fits any number of times; give it resources")
    plain = zip(total.plain, slot.plain, strict=True)
    more = ((total.extended_of(name), amount) for name, amount in slot.extended_e8)
    return min(has // wants for has, wants in (*plain, *more) if wants)


def _part(total: SlotResourceAmounts, numerator: int, denominator: int) -> SlotResourceAmounts:
    """Return the part of each field, rounded down; CPUs to hundred-millionths."""
    return slot_amounts_of(
        [amount * numerator // denominator for amount in total.plain],
        {name: amount * numerator // denominator for name, amount in total.extended_e8},
    )
