"""Fillings of bins: by NumPy, compiled, and device by device where best fit alone does not do."""

import sys
from itertools import product
from random import Random

import numpy as np
import pytest

from placer import compiled
from placer.plan.bin_tables import bin_kind_arrays_of
from placer.plan.compiled_filling import fill_bins_compiled
from placer.plan.device_packing import item_order_filling_devices
from placer.plan.filler import BinFiller, compiled_or_plain_bin_fill
from placer.plan.filling import fill_bins_in_passes
from placer.plan.market import BinDevicesOfOneType, BinKind, ItemDeviceAsk

SHARES = (46, 23, 22, 16)
"""Shares of 100, which fill two devices as 46 + 22 + 16 + 16 and 23 + 23 + 22 + 16 + 16."""

TWO_FULL = (1, 2, 2, 4)


def shared_devices(number: int, shares: tuple[int, ...] = SHARES) -> BinKind:
    """
    Return a bin of so many devices and nothing else; each item is a share.
    """
    devices = BinDevicesOfOneType(
        ((100,),) * number,
        (True,) * number,
        tuple((share,) for share in shares),
        tuple(ItemDeviceAsk(0, ((index, 1),)) for index in range(len(shares))),
    )
    return BinKind((), ((),) * len(shares), (devices,), price=1)


def some_kinds(seed: int) -> tuple[BinKind, ...]:
    """
    Draw kinds of bins: two resources, up to two types of devices, items of all sorts.
    """
    rng = Random(seed)
    items, types, classes = rng.randint(2, 7), rng.randint(0, 2), rng.randint(1, 3)
    asks = [
        [
            ItemDeviceAsk(rng.choice((0, 0, 0, 1, 2)), tuple(_shares(rng, classes)))
            for _ in range(items)
        ]
        for _ in range(types)
    ]
    kinds = []
    for _ in range(3):
        sizes = [(rng.randint(0, 5), rng.randint(1, 4)) for _ in range(items)]
        devices = []
        for of_type in asks:
            number = rng.randint(1, 4)
            rooms = tuple((rng.randint(5, 10), rng.randint(5, 10)) for _ in range(number))
            free = tuple(rng.random() < 0.8 for _ in range(number))
            shares = tuple((rng.randint(0, 6), rng.randint(1, 6)) for _ in range(classes))
            devices.append(BinDevicesOfOneType(rooms, free, shares, tuple(of_type)))
        room = (rng.randint(5, 30), rng.randint(5, 20))
        may = tuple(size if rng.random() < 0.9 else None for size in sizes)
        kinds.append(BinKind(room, may, tuple(devices), price=1))
    return tuple(kinds)


def _shares(rng: Random, classes: int) -> list[tuple[int, int]]:
    if rng.random() < 0.5:
        return []
    some = rng.sample(range(classes), rng.randint(1, classes))
    return [(of_class, rng.randint(1, 2)) for of_class in some]


@pytest.mark.parametrize("seed", range(200))
def test_the_compiled_loop_fills_bins_as_numpy_does(seed: int) -> None:
    """
    The same counts, row by row, after one pass and after two.
    """
    rng = np.random.default_rng(seed)
    tables = bin_kind_arrays_of(some_kinds(seed))
    kind = np.repeat(np.arange(3), 5)
    shape = (len(kind), tables.may.shape[1])
    first = rng.integers(0, 4, shape) / 4, rng.integers(0, 5, shape)
    then = rng.random(shape), rng.integers(0, 9, shape)
    for passes in ([first], [first, then]):
        assert (
            fill_bins_in_passes(tables, kind, passes) == fill_bins_compiled(tables, kind, passes)
        ).all()


def test_what_does_not_go_in_takes_no_device() -> None:
    """
    An item of two shares finds room for one of them; another one finds all of it still there.
    """
    asks = (ItemDeviceAsk(0, ((0, 2),)), ItemDeviceAsk(1, ()))
    devices = BinDevicesOfOneType(((100,),), (True,), ((60,),), asks)
    kinds = (BinKind((), ((), ()), (devices,), price=1),)
    passes = [(np.array([[2.0, 1.0]]), np.array([[1, 1]]))]
    for run in (fill_bins_in_passes, fill_bins_compiled):
        assert run(bin_kind_arrays_of(kinds), np.array([0]), passes).tolist() == [[0, 1]]


def test_without_numba_bins_are_filled_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    So too where it is broken, or where loading it would take the time that is left.
    """
    assert compiled_or_plain_bin_fill(10.0) is fill_bins_compiled
    for fault in (ImportError("no numba"), RuntimeError("cannot cache function")):

        def failing(name: str, fault: Exception = fault) -> None:
            raise fault

        with monkeypatch.context() as without:
            without.setattr(compiled, "import_module", failing)

            assert compiled_or_plain_bin_fill(10.0) is fill_bins_in_passes

    monkeypatch.delitem(sys.modules, "placer.plan.compiled_filling")

    assert compiled_or_plain_bin_fill(1.0) is fill_bins_in_passes


def test_full_devices_hold_what_best_fit_does_not_find_room_for() -> None:
    """
    The largest shares first do not fill two devices whole; one after the other they do.
    """
    kind = shared_devices(2)
    filler, counts = BinFiller((kind,)), np.array(TWO_FULL, np.int64)
    none = np.zeros(4, np.int64)

    assert fill_bins_in_passes(
        bin_kind_arrays_of((kind,)), np.array([0]), [(np.array([SHARES]) * 1.0, counts[None])]
    )[0].tolist() != list(TWO_FULL)
    assert filler.holds(0, counts)
    assert filler.completed(0, counts, np.ones(4), counts).tolist() == list(TWO_FULL)
    assert not filler.holds(0, counts + np.array([0, 0, 0, 1]))
    assert filler.by_device(0, none) is None  # The plain order does.


@pytest.mark.parametrize("seed", range(60))
def test_items_device_by_device_go_in_by_best_fit(seed: int) -> None:
    """
    Where some way to place shares exists, found by trying all, so does the order.
    """
    rng = Random(seed)
    shares = tuple(rng.sample(range(15, 80), 3))
    kind = shared_devices(2, shares)
    counts = [rng.randint(0, 3) for _ in shares]
    items = [item for item, count in enumerate(counts) for _ in range(count)]
    fits = any(
        all(
            sum(shares[item] for item, at in zip(items, places, strict=True) if at == device) <= 100
            for device in range(2)
        )
        for places in product(range(2), repeat=len(items))
    )

    order = item_order_filling_devices(kind, counts)

    assert (order is not None) == fits
    if order is not None:
        assert sorted(order) == items
        left = [100, 100]
        for item in order:
            room = min(room for room in left if room >= shares[item])
            left[left.index(room)] -= shares[item]
