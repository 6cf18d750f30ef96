"""Parts of devices: what they are in bytes, and when one device can give them."""

from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer_models.device_share import DeviceShare, filled, fits, memory_centi_bytes

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

    assert filled(half, 8 * 2**30).memory_bytes == 4 * 2**30
    assert filled(half, 80 * 2**30).memory_bytes == 40 * 2**30


@given(percent=PERCENTS, total=TOTALS)
def test_percent_become_bytes_rounded_down(percent: int, total: int) -> None:
    """
    What is written is the exact part of the GPU's memory, without its broken byte.
    """
    share = filled(DeviceShare(memory_percent=percent), total)

    assert share == DeviceShare(
        memory_percent=percent, memory_bytes=floor(Fraction(percent * total, 100))
    )


@given(size=st.integers(0, 2**42), total=TOTALS)
def test_bytes_become_percent_rounded_down(size: int, total: int) -> None:
    """
    29 of 100 bytes are 29 percent: no floating point comes between.
    """
    share = filled(DeviceShare(memory_bytes=size), total)

    assert share == DeviceShare(
        memory_bytes=size, memory_percent=floor(Fraction(100 * size, total))
    )


def test_of_an_unknown_memory_nothing_is_said() -> None:
    """
    A whole GPU of unknown memory is written without bytes.
    """
    share = DeviceShare(percent=100, memory_percent=100)

    assert filled(share, 0) == share


@given(percent=PERCENTS, total=TOTALS, free=st.integers(0, 2**42))
def test_a_share_is_rounded_up_to_fit_whole_bytes(percent: int, total: int, free: int) -> None:
    """
    A broken byte needs a whole one.
    """
    share = DeviceShare(memory_percent=percent)

    assert fits(share, free_percent=0, free_centi_bytes=100 * free, total_bytes=total) == (
        ceil(Fraction(percent * total, 100)) <= free
    )


def test_ten_tenths_fit_a_memory_of_any_size() -> None:
    """
    Ten pods with 10 percent each fill an H100; ten times the bytes rounded up would not fit.
    """
    tenth = DeviceShare(memory_percent=10)
    left = 100 * H100_BYTES
    for _ in range(10):
        assert fits(tenth, free_percent=0, free_centi_bytes=left, total_bytes=H100_BYTES)
        left -= memory_centi_bytes(tenth, H100_BYTES)

    assert left == 0
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
    share = DeviceShare(percent=50, memory_bytes=8)

    assert does is fits(
        share, free_percent=free_percent, free_centi_bytes=100 * free_bytes, total_bytes=16
    )


def test_a_percent_of_an_unknown_memory_is_refused() -> None:
    """
    The message says what is missing.
    """
    share = DeviceShare(memory_percent=50)

    with pytest.raises(ValueError, match="50 percent of an unknown memory; say how much"):
        fits(share, free_percent=100, free_centi_bytes=0, total_bytes=0)
