"""Parts of devices: what they are in bytes, and when one device can give them (D3)."""

from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.device_share import (
    DeviceCapacity,
    DeviceShare,
    amounts_of_share,
    share_amounts_left,
    share_fits,
    whole_device_amounts,
    with_memory_in_both_units,
)

TOTALS = st.integers(1, 2**41)
PERCENTS = st.integers(0, 300)
H100_BYTES = 85_198_045_184
"""Not a multiple of 100, as no memory of a GPU is."""


@pytest.mark.parametrize(
    ("share", "shared"),
    [
        (DeviceShare(percent=100, memory_percent=100), False),
        (DeviceShare(percent=50, memory_percent=100), False),
        (DeviceShare(percent=100, memory_percent=99), True),
        (DeviceShare(percent=100, memory_bytes=1), True),
        (DeviceShare(percent=100), False),
        (DeviceShare(percent=99), True),
    ],
)
def test_a_device_is_shared_unless_all_of_it_is_taken(share: DeviceShare, shared: bool) -> None:
    """
    All of the memory is all of a GPU; a device without memory is shared below 100 percent.
    """
    assert share.shared is shared


def test_one_request_is_other_bytes_on_other_gpus() -> None:
    """
    Half the memory is 4 GiB of an 8 GiB GPU and 40 GiB of one with 80 GiB.
    """
    half = DeviceShare(percent=50, memory_percent=50)

    assert with_memory_in_both_units(half, 8 * 2**30).memory_bytes == 4 * 2**30
    assert with_memory_in_both_units(half, 80 * 2**30).memory_bytes == 40 * 2**30


@given(percent=PERCENTS, total=TOTALS)
def test_percent_become_bytes_rounded_down(percent: int, total: int) -> None:
    """
    What is written is the exact part of the GPU's memory, without its broken byte.
    """
    share = with_memory_in_both_units(DeviceShare(memory_percent=percent), total)

    assert share == DeviceShare(
        memory_percent=percent, memory_bytes=floor(Fraction(percent * total, 100))
    )


@given(size=st.integers(0, 2**42), total=TOTALS)
def test_bytes_become_percent_rounded_down(size: int, total: int) -> None:
    """
    29 of 100 bytes are 29 percent: no floating point comes between.
    """
    share = with_memory_in_both_units(DeviceShare(memory_bytes=size), total)

    assert share == DeviceShare(
        memory_bytes=size, memory_percent=floor(Fraction(100 * size, total))
    )


def test_of_an_unknown_memory_nothing_is_said() -> None:
    """
    A whole GPU of unknown memory is written without bytes.
    """
    share = DeviceShare(percent=100, memory_percent=100)

    assert with_memory_in_both_units(share, 0) == share


@given(percent=st.integers(0, 100), total=TOTALS, free=st.integers(0, 2**42))
def test_a_share_is_rounded_up_to_fit_whole_bytes(percent: int, total: int, free: int) -> None:
    """
    A broken byte needs a whole one.
    """
    amounts = amounts_of_share(DeviceShare(memory_percent=percent), DeviceCapacity(total))

    assert amounts is not None
    assert share_fits(amounts, (0, 100 * free)) == (ceil(Fraction(percent * total, 100)) <= free)


def test_ten_tenths_fit_a_memory_of_any_size() -> None:
    """
    Ten pods with 10 percent each fill an H100; ten times the bytes rounded up would not fit.
    """
    h100 = DeviceCapacity(H100_BYTES)
    tenth = amounts_of_share(DeviceShare(memory_percent=10), h100)
    assert tenth is not None
    left = whole_device_amounts(h100)
    for _ in range(10):
        assert share_fits(tenth, left)
        left = share_amounts_left(left, tenth)

    assert left == (100, 0)
    assert 10 * ceil(Fraction(H100_BYTES, 10)) > H100_BYTES


@pytest.mark.parametrize(
    ("free_percent", "free_bytes", "does"), [(50, 8, True), (49, 8, False), (50, 7, False)]
)
def test_compute_and_memory_must_both_be_free(
    free_percent: int, free_bytes: int, does: bool
) -> None:
    """
    50 percent and 8 bytes fit where just that is left, and not with less of either.
    """
    amounts = amounts_of_share(DeviceShare(percent=50, memory_bytes=8), DeviceCapacity(16))

    assert amounts is not None
    assert does is share_fits(amounts, (free_percent, 100 * free_bytes))


DISK = DeviceCapacity(
    0,
    (DeviceQuantity("bandwidth", 1000), DeviceQuantity("space", 7, DeviceQuantityUnit.BYTES)),
    of_all=True,
)


@pytest.mark.parametrize(
    ("share", "amounts"),
    [
        (
            DeviceShare(capacity=(DeviceQuantity("space", 5, DeviceQuantityUnit.BYTES),)),
            (0, 0, 0, 500),
        ),
        (
            DeviceShare(
                capacity=(
                    DeviceQuantity("bandwidth", 30),
                    DeviceQuantity("space", 7, DeviceQuantityUnit.BYTES),
                )
            ),
            (0, 0, 3000, 700),
        ),
        (DeviceShare(percent=50), (50, 0, 50_000, 350)),
        (DeviceShare(capacity=(DeviceQuantity("space", 8, DeviceQuantityUnit.BYTES),)), None),
        (DeviceShare(capacity=(DeviceQuantity("space", 5),)), None),
        (DeviceShare(capacity=(DeviceQuantity("queues", 1),)), None),
        (DeviceShare(memory_bytes=1), None),
    ],
    ids=[
        "one quantity",
        "two of one device",
        "half of all that it has",
        "more than it has",
        "in another unit",
        "what it has not",
        "memory, of a device without",
    ],
)
def test_what_a_share_takes_of_each_quantity(
    share: DeviceShare, amounts: tuple[int, ...] | None
) -> None:
    """
    Percent, memory, and what the disk lists, each in 0.01; None where it cannot be had (B1).
    """
    assert amounts_of_share(share, DISK) == amounts


def test_a_percent_of_a_gpu_is_of_its_compute_alone() -> None:
    """
    What else a GPU shares is asked for by name.
    """
    gpu = DeviceCapacity(16, (DeviceQuantity("encoders", 3),))

    assert amounts_of_share(DeviceShare(percent=50, memory_percent=25), gpu) == (50, 400, 0)


def test_of_an_unknown_memory_percent_are_counted_and_bytes_are_not_there() -> None:
    """
    As if the memory were one byte.
    """
    assert amounts_of_share(DeviceShare(memory_percent=50), DeviceCapacity()) == (0, 50)
    assert amounts_of_share(DeviceShare(memory_bytes=1), DeviceCapacity()) is None
