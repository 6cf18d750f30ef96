"""Arithmetic of resource profiles, as Apache Flink does it (F4, F24)."""

from collections.abc import Callable
from copy import copy

import pytest

from placer.slots.amount_text import format_hundred_millionths, parse_hundred_millionths
from placer.slots.resources import (
    ANY,
    MAX_BYTES,
    PLAIN,
    UNKNOWN,
    ZERO,
    ResourceProfile,
    SlotResourceAmounts,
    merge_all_resource_profiles,
    merge_resource_profiles,
    multiplied_resource_profile,
    subtract_resource_profile,
)
from slots.clusters import amounts, profile
from slots.job_files import Row, row_id, rows

KINDS = ("managed_on_heap_bytes", "managed_off_heap_bytes")

TWO: dict[str, Callable[[ResourceProfile, ResourceProfile], object]] = {
    "merge": merge_resource_profiles,
    "subtract": subtract_resource_profile,
    "equals": lambda a, b: a == b,
}


def answer(row: Row, kind: str) -> object:
    if row["op"] == "multiply":
        return multiplied_resource_profile(profile(row["a"], kind), row["by"])
    if row["op"] in TWO:
        return TWO[row["op"]](profile(row["a"], kind), profile(row["b"], kind))
    known = amounts(row["a"], kind)
    memories = {
        "total_memory": known.total_memory_bytes,
        "operators_memory": known.operators_memory_bytes,
    }
    return memories.get(row["op"], known)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", rows("profiles.json"), ids=row_id)
def test_profiles_compute_as_the_peers_do(row: Row, kind: str) -> None:
    """
    Merge, subtract, multiply: the same results and the same refusals (F4).
    """
    if "error" in row:
        with pytest.raises(ValueError, match=r"unknown|cannot take|the multiplier|0 or more"):
            answer(row, kind)
        return

    result = answer(row, kind)

    expected = row["result"]
    assert result == (profile(expected, kind) if isinstance(expected, dict | str) else expected)


def test_a_merge_that_no_machine_could_hold_is_refused() -> None:
    """
    Memory ends at 2**63 - 1 bytes; one byte more is an error, not a negative number.
    """
    most = SlotResourceAmounts(heap_bytes=MAX_BYTES)

    assert merge_resource_profiles(most, SlotResourceAmounts(cpu_e8=1)) == SlotResourceAmounts(
        1, MAX_BYTES
    )
    with pytest.raises(OverflowError, match="heap_bytes is 9223372036854775808"):
        merge_resource_profiles(most, SlotResourceAmounts(heap_bytes=1))


def test_tenths_of_cpus_add_up() -> None:
    """
    0.1 and 0.2 are 0.3, and three thirds of a CPU stay below one.
    """
    assert merge_resource_profiles(
        SlotResourceAmounts(parse_hundred_millionths("0.1")),
        SlotResourceAmounts(parse_hundred_millionths("0.2")),
    ) == SlotResourceAmounts(parse_hundred_millionths("0.3"))
    assert merge_all_resource_profiles(
        [SlotResourceAmounts(parse_hundred_millionths("0.33333333"))] * 3
    ) == SlotResourceAmounts(parse_hundred_millionths("0.99999999"))


@pytest.mark.parametrize(
    ("text", "written"),
    [("500m", "0.5"), ("2", "2"), (".25", "0.25"), ("0.123456789123", "0.12345678"), ("0", "0")],
)
def test_cpus_are_read_to_eight_places(text: str, written: str) -> None:
    """
    Finer places are cut off, never rounded up.
    """
    assert format_hundred_millionths(parse_hundred_millionths(text)) == written


@pytest.mark.parametrize("text", ["-1", "1e3", "", "half", "1.2.3", "0x1", "1 000", "９"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    """
    A sign, an exponent, a word: none of them is a number of CPUs.
    """
    with pytest.raises(ValueError, match="expected an amount such as"):
        parse_hundred_millionths(text)


def test_extended_resources_have_one_spelling() -> None:
    """
    Two equal needs compare equal: names ascend, and a zero is left out.
    """
    for strange in ((("gpu", 0),), (("gpu", 1), ("fpga", 1)), (("gpu", 1), ("gpu", 1))):
        with pytest.raises(ValueError, match="ascending by name"):
            SlotResourceAmounts(extended_e8=strange)


def test_any_is_more_than_unknown_is_more_than_nothing() -> None:
    """
    ANY wins over UNKNOWN, UNKNOWN over amounts, and ZERO over nobody (F4).
    """
    assert merge_all_resource_profiles([]) == ZERO
    assert merge_all_resource_profiles([ZERO, UNKNOWN, SlotResourceAmounts(1)]) is UNKNOWN
    assert merge_all_resource_profiles([UNKNOWN, ANY, ZERO]) is ANY
    assert multiplied_resource_profile(UNKNOWN, 2) is UNKNOWN
    assert multiplied_resource_profile(ANY, 0) == ZERO


@pytest.mark.parametrize(
    "name",
    [*PLAIN, "extended_e8", "plain", "extended_of", "total_memory_bytes", "operators_memory_bytes"],
)
def test_what_nobody_said_has_no_amounts(name: str) -> None:
    """
    Asking UNKNOWN or ANY for one is refused in words, and other attributes as usual.
    """
    for unsaid, word in ((UNKNOWN, "unknown"), (ANY, "any")):
        with pytest.raises(ValueError, match=f"^{name}: the resources are {word}, without"):
            getattr(unsaid, name)
    assert not hasattr(UNKNOWN, "colour")
    assert copy(UNKNOWN) is UNKNOWN
