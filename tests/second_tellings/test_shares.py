"""What shares take of a device, told a second time from docs/rules/device-shares.md (D3, D5)."""

from fractions import Fraction
from math import floor
from random import Random

import pytest

from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.device import Device
from placer_models.device_share import (
    DeviceShare,
    amounts_of_share,
    device_capacity_of,
    device_usage_millionths,
    share_amounts_left,
    share_fits,
    share_unless_whole,
    whole_device_amounts,
    with_memory_in_both_units,
)

NAMES = ("bandwidth", "space")
Amounts = dict[str, Fraction]
"""Name of a quantity -> how much of it, percent of compute among them."""


def has(device: Device) -> Amounts:
    """Return all that a device shares; a memory that nobody knows counts as one byte."""
    found = {"percent": Fraction(100), "memory": Fraction(device.memory_bytes or 1)}
    return found | {one.name: Fraction(one.amount) for one in device.capacity}


def takes(share: DeviceShare, device: Device) -> Amounts | None:
    """Return what a share takes of a device, exactly; None if even an empty one has it not.

    Percent of a GPU are of its compute, percent of another device of all that it has.
    """
    there, percent = has(device), share.percent or 0
    found = {name: Fraction(0) for name in there}
    if device.type != "gpu":
        known = {name: 0 if name == "memory" and not device.memory_bytes else 1 for name in there}
        found = {name: amount * percent * known[name] / 100 for name, amount in there.items()}
    found["percent"] = Fraction(percent)
    if share.memory_percent is not None:
        found["memory"] = there["memory"] * share.memory_percent / 100
    if share.memory_bytes is not None:
        found["memory"] = Fraction(share.memory_bytes)
        if not device.memory_bytes:
            return None
    unit = {one.name: one.unit for one in device.capacity}
    for one in share.capacity:
        if unit.get(one.name) is not one.unit:
            return None
        found[one.name] = Fraction(one.amount)
    return found if all(found[name] <= there[name] for name in there) else None


def in_hundredths(amounts: Amounts) -> tuple[Fraction, ...]:
    """Return amounts as accounts have them: percent as they are, all else in 0.01."""
    return amounts["percent"], *(100 * v for name, v in amounts.items() if name != "percent")


def drawn_device(rng: Random) -> Device:
    """Draw a device with or without memory and quantities."""
    capacity = tuple(
        DeviceQuantity(
            name,
            rng.choice((1, 7, 100)),
            rng.choice((DeviceQuantityUnit.UNITS, DeviceQuantityUnit.BYTES)),
        )
        for name in NAMES
        if rng.random() < 0.6
    )
    memory = rng.choice((0, 1, 7, 200))
    return Device(rng.choice(("gpu", "disk")), 0, memory_bytes=memory, capacity=capacity)


def drawn_share(rng: Random) -> DeviceShare:
    """Draw a share that may be too large, or of what the device does not have."""
    memory = rng.choice(("", "bytes", "percent"))
    return DeviceShare(
        rng.choice((None, 0, 1, 50, 100, 101)),
        rng.choice((0, 1, 7, 8)) if memory == "bytes" else None,
        rng.choice((0, 1, 33, 100, 101)) if memory == "percent" else None,
        tuple(
            DeviceQuantity(
                name,
                rng.choice((1, 7, 8)),
                rng.choice((DeviceQuantityUnit.UNITS, DeviceQuantityUnit.BYTES)),
            )
            for name in NAMES
            if rng.random() < 0.3
        ),
    )


@pytest.mark.parametrize("batch", range(10))
def test_shares_take_what_the_page_says(batch: int) -> None:
    """
    On random devices and shares: what is taken, what is left, and whether one more fits.
    """
    rng = Random(f"shares-{batch}")
    fitted = refused = 0
    for _ in range(300):
        device, share = drawn_device(rng), drawn_share(rng)
        totals = device_capacity_of(device)
        expected = takes(share, device)
        amounts = amounts_of_share(share, totals)
        refused += expected is None

        assert whole_device_amounts(totals) == in_hundredths(has(device))
        assert amounts == (None if expected is None else in_hundredths(expected))
        left = whole_device_amounts(totals)
        for _ in range(3):
            if amounts is None or expected is None:
                break
            enough = all(a <= b for a, b in zip(in_hundredths(expected), left, strict=True))
            assert share_fits(amounts, left) is enough
            fitted += enough
            before, left = left, share_amounts_left(left, amounts)
            assert left == tuple(a - b for a, b in zip(before, amounts, strict=True))
    assert fitted > 100
    assert refused > 100


def test_of_an_unknown_device_percent_alone_can_be_had() -> None:
    """
    As of one whose memory nobody knows, and which has no quantities.
    """
    assert device_capacity_of(None) == device_capacity_of(Device("gpu", 0))
    assert amounts_of_share(DeviceShare(percent=30), device_capacity_of(None)) == (30, 0)
    assert amounts_of_share(DeviceShare(memory_bytes=1), device_capacity_of(None)) is None
    assert (
        amounts_of_share(
            DeviceShare(capacity=(DeviceQuantity("space", 1),)), device_capacity_of(None)
        )
        is None
    )


def test_totals_have_names_in_the_order_of_their_amounts() -> None:
    """
    Percent, memory, then the quantities of the device.
    """
    device = Device("disk", 0, memory_bytes=3, capacity=(DeviceQuantity("space", 5),))

    assert device_capacity_of(device).names == ("percent", "memory", "space")
    assert whole_device_amounts(device_capacity_of(device)) == (100, 300, 500)
    assert device_capacity_of(device).of_all
    assert not device_capacity_of(Device("gpu", 0)).of_all


@pytest.mark.parametrize("seed", range(100))
def test_use_is_the_mean_of_the_used_parts(seed: int) -> None:
    """
    Of the quantities asked for; each part and the mean are rounded down (B14).
    """
    rng = Random(f"use-{seed}")
    total = tuple(rng.randint(1, 10**6) for _ in range(4))
    used = tuple(rng.randint(0, amount) for amount in total)
    asked = tuple(rng.choice((0, 0, 1, 5)) for _ in total)
    parts = [
        floor(Fraction(1_000_000 * u, t)) for u, t, a in zip(used, total, asked, strict=True) if a
    ]
    mean = floor(Fraction(sum(parts), len(parts))) if parts else 0

    assert device_usage_millionths(used, total, asked) == mean


@pytest.mark.parametrize("seed", range(100))
def test_a_share_says_its_memory_in_both_units(seed: int) -> None:
    """
    The missing one is rounded down; nothing is added to one that says both, or none.
    """
    rng = Random(f"filled-{seed}")
    size, percent, total = rng.randint(0, 300), rng.randint(0, 100), rng.choice((0, 1, 199, 300))
    known = total > 0
    by_size = DeviceShare(memory_bytes=size)
    by_percent = DeviceShare(memory_percent=percent)
    both = DeviceShare(memory_bytes=size, memory_percent=percent)
    of_all = Fraction(100 * size, total) if known else 0
    of_one = floor(Fraction(percent * total, 100)) if known else None

    assert with_memory_in_both_units(by_size, total).memory_percent == (
        floor(of_all) if known else None
    )
    assert with_memory_in_both_units(by_percent, total).memory_bytes == of_one
    assert with_memory_in_both_units(both, total) == both
    assert with_memory_in_both_units(DeviceShare(percent=1), total) == DeviceShare(percent=1)


def test_only_a_share_that_leaves_something_is_a_part() -> None:
    """
    A whole device is written without a share.
    """
    half, whole = DeviceShare(percent=50), DeviceShare(percent=100, memory_percent=100)

    assert share_unless_whole(half) is half
    assert share_unless_whole(whole) is None
    assert share_unless_whole(None) is None
