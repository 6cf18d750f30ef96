"""Quotas of managed memory: as Apache Flink counts them, and never more than the slot."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer.slots.fractions import fraction_to_16_places
from placer.slots.slot_memory import (
    MAX_SLOT_BYTES,
    OperatorMemoryQuota,
    SlotManagedMemory,
    SlotMemoryExceededError,
)
from slots.job_files import Row, row_id, rows


@pytest.mark.parametrize("row", rows("memory.json"), ids=row_id)
def test_quotas_are_the_peers(row: Row) -> None:
    """
    Bytes and pages of a fraction agree to the last one.
    """
    memory = SlotManagedMemory(row["size_bytes"], row["page_bytes"])

    assert memory.pages == row["total_pages"]
    assert memory.quota(row["fraction"]) == OperatorMemoryQuota(*row["quota"])


@given(
    st.lists(st.integers(0, 10**9), min_size=1, max_size=40).filter(any),
    st.integers(0, MAX_SLOT_BYTES),
    st.integers(1, 2**20),
)
def test_quotas_of_a_group_never_exceed_the_slot(
    weights: list[int], size_bytes: int, page_bytes: int
) -> None:
    """
    However the weights are, all operators together get the slot at most (F9, F11).

    And they get nearly all of it: fractions come to 1 but for the last place of each.
    """
    memory = SlotManagedMemory(size_bytes, page_bytes)
    fractions = [fraction_to_16_places(weight, sum(weights)) for weight in weights]

    quotas = [
        memory.register(str(i), fraction if i % 2 else float(fraction))
        for i, fraction in enumerate(fractions)
        if fraction
    ]

    assert 1 - Fraction(len(weights), 10**16) <= sum(map(Fraction, fractions)) <= 1
    assert sum(quota.size_bytes for quota in quotas) <= size_bytes
    assert sum(quota.pages for quota in quotas) <= memory.pages


@pytest.mark.parametrize("fraction", [0, 0.0, -0.1, 1.0000000000000002, 2, float("nan")])
def test_a_fraction_outside_of_the_slot_is_refused(fraction: float) -> None:
    """
    The message tells whoever has a fraction of 0 where weights are set.
    """
    with pytest.raises(ValueError, match=r"more than 0 and at most 1\. .*consumerWeights"):
        SlotManagedMemory(1024).quota(fraction)


def test_an_operator_cannot_go_beyond_its_quota() -> None:
    """
    Memory that is free all the same is not lent: the refusal takes nothing (F12, F26).
    """
    memory = SlotManagedMemory(1000, page_bytes=10)
    memory.register("sort", 0.5)
    memory.reserve("sort", 400)

    with pytest.raises(
        SlotMemoryExceededError, match="'sort' asks for 101 bytes and has 100 of its quota"
    ):
        memory.reserve("sort", 101)

    memory.reserve("sort", 100)
    assert memory.free_bytes == 500


def test_giving_back_too_much_makes_no_memory() -> None:
    """
    Released twice, or more than was taken: what is free never exceeds the slot.
    """
    memory = SlotManagedMemory(1000)
    memory.register("sort", 1)
    memory.reserve("sort", 300)

    memory.release("sort", 300)
    memory.release("sort", 300)

    assert memory.free_bytes == 1000


def test_memory_is_had_after_registration_only() -> None:
    """
    Each owner registers once, before use, and what it held is free when it leaves.
    """
    memory = SlotManagedMemory(1000)
    with pytest.raises(ValueError, match="'sort' is not registered"):
        memory.reserve("sort", 1)
    memory.register("sort", 0.6)
    with pytest.raises(ValueError, match="'sort' is registered already"):
        memory.register("sort", 0.1)
    with pytest.raises(ValueError, match="600 bytes, of which 400 are nobody's quota"):
        memory.register("join", 0.6)
    memory.reserve("sort", 600)

    memory.unregister("sort")

    assert memory.free_bytes == 1000
    assert memory.register("join", 0.6) == OperatorMemoryQuota(600, 0)


@pytest.mark.parametrize(
    ("size_bytes", "page_bytes", "message"),
    [(-1, 1, "-1 bytes"), (2**50 + 1, 1, "2\\*\\*50"), (1, 0, "a page has 0 bytes")],
)
def test_a_slot_has_a_size(size_bytes: int, page_bytes: int, message: str) -> None:
    """
    Sizes that no slot has are refused with what is allowed.
    """
    with pytest.raises(ValueError, match=message):
        SlotManagedMemory(size_bytes, page_bytes)


def test_amounts_of_memory_are_not_negative() -> None:
    """
    To release less than nothing would be to take without asking.
    """
    memory = SlotManagedMemory(1000)
    memory.register("sort", 1)

    with pytest.raises(ValueError, match="-5 bytes"):
        memory.release("sort", -5)
    with pytest.raises(ValueError, match="-5 bytes"):
        memory.reserve("sort", -5)
