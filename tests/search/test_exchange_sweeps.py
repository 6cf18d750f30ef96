"""Sweeps of exchanges: the compiled ones and NumPy's, and many at the same time."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placer import compiled
from placer.search.budget import SolveBudget
from placer.search.exchanges.compiled_sweeps import run_annealing_sweeps_with_numba
from placer.search.exchanges.draws import GUMBEL, gumbel_of, random_numbers_at
from placer.search.exchanges.move_rules import (
    NO_RULE,
    NOWHERE,
    ExchangeDomainCountRuleKind,
    ExchangeDomainRuleArrays,
    empty_domain_count_rule_arrays,
)
from placer.search.exchanges.swaps import (
    ExchangeBinsWithItems,
    compiled_or_plain_annealing_sweep,
    exchange_until_all_fit,
    exchange_until_all_fit_in_threads,
)
from placer.search.exchanges.sweeps import (
    ExchangeSweepArrays,
    Slots,
    run_annealing_sweeps_with_numpy,
)
from placer.search.options import SolveOptions

COMPILED = "placer.search.exchanges.compiled_sweeps"


def some_bins(seed: int) -> ExchangeSweepArrays:
    """Return nodes and at most one spare bin, with things that are barred here or there."""
    rng = np.random.default_rng(seed)
    count, width = int(rng.integers(3, 20)), int(rng.integers(2, 16))
    resources, spare, held = int(rng.integers(1, 5)), int(rng.integers(0, 2)), (width + 1) // 2
    shapes = count * held
    sizes = np.vstack([rng.integers(0, 1000, (shapes, resources)), np.zeros((1, resources))])
    room = np.full((count, resources), 450.0 * held)
    room[count - spare :] = np.inf
    gaps = [shapes] * (width - held)
    slots = np.array([[*range(i * held, (i + 1) * held), *gaps] for i in range(count)])
    return ExchangeSweepArrays(
        sizes=sizes,
        room=room,
        weights=1.0 / np.where(np.isinf(room), 1.0, room),
        likes=np.append(rng.integers(0, 3, shapes), -1),
        kinds=np.where(np.isinf(room[:, 0]), 2, rng.integers(0, 2, count)),
        barred=np.pad((rng.random((shapes, 2)) < 0.1).astype(float), ((0, 1), (0, 1))),
        endless=np.isinf(room[:, 0]),
        slots=slots,
        loads=sizes[slots].sum(axis=1),
        rules=some_rules(rng, slots, spare),
    )


def some_rules(rng: np.random.Generator, slots: Slots, spare: int) -> ExchangeDomainRuleArrays:
    """Return rules of all kinds, none to two for each item, which are kept at first."""
    count, items = len(slots), int(slots.max())
    kinds = rng.integers(0, len(ExchangeDomainCountRuleKind), int(rng.integers(0, 8)))
    domains = np.vstack(
        [np.arange(count), rng.integers(0, 3, count), rng.integers(NOWHERE, 2, count)]
    )
    domains[:, count - spare :] = NOWHERE
    rows = rng.integers(0, 3, len(kinds))
    sizes = np.array([count, 3, 2])[rows]
    of = np.full((items + 1, 2 if len(kinds) else 0), NO_RULE)
    weights = np.zeros_like(of)
    for item in range(items):
        mine = rng.permutation(len(kinds))[: int(rng.integers(0, 3))]
        of[item, : len(mine)] = mine
        weights[item, : len(mine)] = np.where(rng.random(len(mine)) < 0.5, 1, 50)
        weights[item, : len(mine)][kinds[mine] >= ExchangeDomainCountRuleKind.AT_MOST] = 1
    none = np.zeros(len(kinds), dtype=np.int64)
    starts = np.append(0, sizes.cumsum())
    rules = ExchangeDomainRuleArrays(
        of=of,
        weights=weights,
        kinds=kinds,
        bases=np.full(len(kinds), 50),
        most=np.where(
            kinds >= ExchangeDomainCountRuleKind.AT_MOST, rng.integers(1, 4, len(kinds)), 50
        ),
        rows=rows,
        domains=domains,
        starts=starts,
        beside=rng.integers(0, 2, starts[-1]),
        counts=none,
        least=none,
        largest=none,
    )
    rules = rules.counted(slots)
    # As much is allowed as there is at first, and a little more.
    for rule in range(len(kinds)):
        if kinds[rule] >= ExchangeDomainCountRuleKind.AT_MOST:
            slack = int(rng.integers(0, 2))
            least = rules.least[rule] if kinds[rule] == ExchangeDomainCountRuleKind.EVEN else 0
            rules.most[rule] = rules.largest[rule] - least + slack
    return rules


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), stream=st.integers(0, 2**64 - 1), first=st.integers(0, 2**30))
def test_compiled_sweeps_do_what_those_of_numpy_do(seed: int, stream: int, first: int) -> None:
    """
    Step for step: the same things in the same slots, the same sums.
    """
    mine, theirs = some_bins(seed), some_bins(seed)
    count, width = mine.slots.shape
    heats = 0.02 * 0.005 ** (np.arange(40) / 40)
    run_annealing_sweeps_with_numpy(mine, stream, first, heats, count // 2, min(width, 12))
    run_annealing_sweeps_with_numba(theirs, stream, first, heats, count // 2, min(width, 12))

    assert (mine.slots == theirs.slots).all()
    assert (mine.loads == theirs.loads).all()
    assert (mine.rules.counts == theirs.rules.counts).all()
    assert (mine.rules.counts == mine.rules.counted(mine.slots).counts).all()
    assert (mine.rules.largest == theirs.rules.largest).all()
    assert not (mine.slots == some_bins(seed).slots).all()
    assert (mine.loads == mine.sizes[mine.slots].sum(axis=1)).all()
    gap = len(mine.sizes) - 1
    assert sorted(mine.slots.ravel()) == sorted(some_bins(seed).slots.ravel())
    assert not ((mine.slots[:, :-1] == gap) & (mine.slots[:, 1:] != gap)).any()


def unequal(seed: int) -> ExchangeBinsWithItems:
    """Return 8 small and 4 large nodes, and pods that take 98.5 % of two resources, anywhere."""
    rng = np.random.default_rng(seed)
    pods = 8 * 4 + 4 * 12
    sizes = np.vstack([rng.integers(100, 1000, (pods, 2)), np.zeros((1, 2))]).astype(float)
    small = np.floor(sizes.sum(axis=0) / (8 + 4 * 3) / 0.985)
    slots = np.full((12, 30), pods)
    for pod in range(pods):
        slots[pod % 12, pod // 12] = pod
    return ExchangeBinsWithItems(
        sizes=sizes,
        room=np.array([small] * 8 + [3 * small] * 4),
        likes=np.append(np.arange(pods), -1),
        kinds=np.zeros(12, dtype=np.intp),
        barred=np.zeros((pods + 1, 1), dtype=np.bool_),
        slots=slots,
        rules=empty_domain_count_rule_arrays(pods + 1),
    )


def test_unequal_nodes_settle_in_few_sweeps() -> None:
    """
    However many gaps there are: two nodes that hold what they should may always exchange nothing.
    """
    run = run_annealing_sweeps_with_numba
    settled = [
        exchange_until_all_fit(unequal(seed), 500, seed, lambda _: False, run) for seed in range(16)
    ]

    assert sum(settled) >= 15


def test_draws_are_those_of_splitmix64() -> None:
    """
    The first numbers that its authors' code gives for the seed 1234567.
    """
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    stream = np.array([1234567], dtype=np.uint64)

    assert random_numbers_at(stream, np.arange(3, dtype=np.uint64)).tolist() == known
    assert gumbel_of(np.array([0, 2**64 - 1], dtype=np.uint64)).tolist() == [GUMBEL[0], GUMBEL[-1]]


def crowd_of(bins: ExchangeSweepArrays) -> ExchangeBinsWithItems:
    room = np.where(np.isinf(bins.room), np.inf, bins.room * 1.2)
    nothing = np.zeros_like(bins.barred, dtype=np.bool_)
    return ExchangeBinsWithItems(
        bins.sizes,
        room,
        bins.likes,
        bins.kinds,
        nothing,
        bins.slots.copy(),
        empty_domain_count_rule_arrays(len(bins.sizes)),
    )


def test_the_first_stream_that_settles_counts() -> None:
    """
    Under a work limit threads give the answer that one after the other would give, and all of
    them spend the same work for it, whoever is first.
    """
    streams = [11, 12, 13]
    several = 0
    for seed in range(40):
        crowd = crowd_of(some_bins(seed))
        alone = [replace(crowd, slots=crowd.slots.copy()) for _ in streams]
        settled = [
            exchange_until_all_fit(each, 24, stream, lambda _: False)
            for each, stream in zip(alone, streams, strict=True)
        ]
        best = settled.index(True) if any(settled) else 0
        several += best > 0
        spent = set()
        for run in (run_annealing_sweeps_with_numpy, run_annealing_sweeps_with_numba):
            budget = SolveBudget(SolveOptions(workers=3, seed=1, work_limit=100))
            found = replace(crowd, slots=crowd.slots.copy())

            assert exchange_until_all_fit_in_threads(found, 24, streams, budget, run) is any(
                settled
            )
            assert (found.slots == alone[best].slots).all()
            spent.add(budget.spent_work)

        assert len(spent) == 1

    assert several


def test_work_that_is_spent_ends_the_runs() -> None:
    budget = SolveBudget(SolveOptions(workers=2, seed=1, work_limit=1))
    budget.total = 0.01
    crowd = crowd_of(some_bins(1))
    crowd.room = crowd.room * 0.1

    assert not exchange_until_all_fit_in_threads(
        crowd, 10**9, [1, 2], budget, run_annealing_sweeps_with_numpy
    )


def test_without_numba_sweeps_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    So too where it is broken, or where it finds no folder to write to.
    """
    assert compiled_or_plain_annealing_sweep(10.0) is run_annealing_sweeps_with_numba
    for fault in (ImportError("no numba"), RuntimeError("cannot cache function")):

        def failing(name: str, fault: Exception = fault) -> None:
            raise fault

        monkeypatch.setattr(compiled, "import_module", failing)

        assert compiled_or_plain_annealing_sweep(10.0) is run_annealing_sweeps_with_numpy

    monkeypatch.delitem(sys.modules, COMPILED)

    assert (
        compiled_or_plain_annealing_sweep(1.0) is run_annealing_sweeps_with_numpy
    )  # Loading it would take the time that is left.
