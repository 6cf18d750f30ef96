"""Garbage in cycles is looked for while a search runs, and not while a fleet is counted."""

import gc

import pytest

from placer.search.garbage import no_collection
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from worlds import tiny_instance


def seen_of(options: SolveOptions) -> dict[str, bool]:
    """Return for each step of a solve whether Python looks for garbage then."""
    seen: dict[str, bool] = {}

    def tell(step: str) -> None:
        seen[step] = gc.isenabled()

    solve(tiny_instance(3), options, tell)
    return seen


def test_a_greedy_answer_is_found_without_collections() -> None:
    """
    It is over before there is much garbage.
    """
    seen = seen_of(SolveOptions(Engine.GREEDY, workers=1))

    assert set(seen.values()) == {False}
    assert gc.isenabled()


def test_a_search_goes_on_with_collections() -> None:
    """
    Models are made and dropped for as long as there is time.
    """
    seen = seen_of(SolveOptions(workers=1, work_limit=1))

    assert not seen.pop("counting what is free")
    assert not seen.pop("placing greedily")
    assert set(seen.values()) == {True}


def test_who_has_switched_collections_off_finds_them_off() -> None:
    """
    It is the caller's word that counts.
    """
    gc.disable()
    try:
        seen = seen_of(SolveOptions(workers=1, work_limit=1))

        assert set(seen.values()) == {False}
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_fault_leaves_collections_on() -> None:
    """
    A call that fails leaves nothing behind.
    """
    with pytest.raises(ZeroDivisionError), no_collection():
        _ = 1 // 0

    assert gc.isenabled()
