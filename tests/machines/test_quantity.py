"""Amounts are read exactly, or refused."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer_models.quantity import (
    MAX_AMOUNT,
    cpu_count_with_noun,
    format_bytes,
    parse_bytes,
    parse_milli,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1024", 1024),
        (4096, 4096),
        ("64Gi", 64 * 2**30),
        ("1.5Gi", 3 * 2**29),
        ("512Mi", 512 * 2**20),
        ("1k", 1000),
        ("2M", 2_000_000),
        ("1G", 10**9),
        ("1T", 10**12),
        ("2e3", 2000),
        ("2E3", 2000),
        ("1.2e3", 1200),
        ("1E", 10**18),
        ("1Ei", 2**60),
        ("1000m", 1),
        ("+5", 5),
        ("5.", 5),
        (".5k", 500),
    ],
)
def test_memory_is_read_as_kubernetes_writes_it(text: str | int, size: int) -> None:
    """
    Binary and decimal units, fractions of units and exponents all mean whole bytes.
    """
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "milli"),
    [("500m", 500), ("1.5", 1500), (2.5, 2500), (0.1, 100), (3, 3000), ("2e3", 2_000_000)],
)
def test_cpus_are_read_in_thousandths(text: str | float, milli: int) -> None:
    """
    Half a CPU is 500; a number from a file means what was written, 0.1 too.
    """
    assert parse_milli(text) == milli


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is no amount"),
        ("64GB", "'64GB' is no amount"),
        ("1 Gi", "is no amount"),
        ("1_000", "is no amount"),
        ("0x10", "is no amount"),
        ("ten", "is no amount; write a number, with a unit if you like: 64Gi"),
        ("٣", "is no amount"),
        ("NaN", "is no amount"),
        (float("nan"), "is no amount"),
        (float("inf"), "is no amount"),
        (True, "True is no amount"),
        ("-1", "'-1' is negative; an amount is 0 or more"),
        (-1, "-1 is negative"),
        ("0.5", "'0.5' is not a whole number of bytes"),
        ("0.5", "not a whole number of bytes; round it"),
        ("1m", "'1m' is not a whole number of bytes"),
        (
            "100m",
            "bytes: m stands for a thousandth; write 100M or 100Mi for megabytes or mebibytes",
        ),
        ("2Ei", "is more than any machine has; amounts end at 2**60"),
        ("1e999", "is more than any machine has"),
        pytest.param(10**5000, "an integer of 16610 bits is more than any machine", id="huge"),
        ("9" * 41, "is no amount"),
    ],
)
def test_what_is_no_amount_of_memory_is_refused(text: str | float, words: str) -> None:
    """
    The message shows the value, short, and what an amount looks like.
    """
    with pytest.raises(ValueError, match=re.escape(words)) as refused:
        parse_bytes(text)

    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("text", ["0.0001", "1u", "1e-4"])
def test_finer_than_a_thousandth_is_refused(text: str) -> None:
    """
    Nothing is rounded behind the user's back.
    """
    with pytest.raises(ValueError, match="not a whole number of thousandths"):
        parse_milli(text)


@given(st.integers(0, MAX_AMOUNT))
def test_bytes_written_are_the_bytes_read(size: int) -> None:
    """
    Writing loses nothing.
    """
    assert parse_bytes(format_bytes(size)) == size


def test_bytes_are_written_in_the_largest_unit_that_fits() -> None:
    """
    64 GiB is 64Gi; a byte more stays a number.
    """
    assert format_bytes(64 * 2**30) == "64Gi"
    assert format_bytes(64 * 2**30 + 1) == "68719476737"
    assert format_bytes(1536 * 2**20) == "1536Mi"
    assert format_bytes(0) == "0"


@given(st.text(max_size=20))
def test_any_text_is_an_amount_or_refused(text: str) -> None:
    """
    Nothing but ValueError comes out, whatever goes in.
    """
    for parse in (parse_bytes, parse_milli):
        with suppress(ValueError):
            assert 0 <= parse(text) <= MAX_AMOUNT


@pytest.mark.parametrize(
    ("milli", "told"),
    [(1000, "1 CPU"), (1500, "1.5 CPUs"), (0, "0 CPUs"), (12_345_678, "12345.678 CPUs")],
)
def test_cpus_are_told_to_the_thousandth(milli: int, told: str) -> None:
    """
    However many there are: what somebody asked for is what messages say.
    """
    assert cpu_count_with_noun(milli) == told
