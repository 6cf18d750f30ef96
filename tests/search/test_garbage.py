"""Garbage in cycles is looked for while a search runs, and not while a fleet is counted."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from placer.search import garbage
from placer.search.garbage import MANY, without_garbage_collection
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from worlds import tiny_instance


class Part:
    """An object that may be garbage in a cycle."""

    def __init__(self) -> None:
        self.mate: Part | None = None


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Begin and end without garbage, with collections on."""
    gc.enable()
    gc.collect()
    yield
    gc.enable()
    gc.unfreeze()
    gc.collect()


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
    with pytest.raises(ZeroDivisionError), without_garbage_collection():
        _ = 1 // 0

    assert gc.isenabled()


def _made(count: int) -> list[Part]:
    """Return objects that were made while collections were put off."""
    with without_garbage_collection():
        return [Part() for _ in range(count)]


def _is_old(one: Part) -> bool:
    return any(one is other for other in gc.get_objects(generation=2))


def test_many_new_objects_count_as_old_at_once() -> None:
    """
    No collection but a full one goes through what was made meanwhile.
    """
    many = _made(2 * MANY)

    assert gc.isenabled()
    assert _is_old(many[0])
    assert _is_old(many[-1])


def test_few_new_objects_stay_young() -> None:
    few = _made(10)

    assert not _is_old(few[0])


def test_garbage_among_them_is_freed_by_a_full_collection() -> None:
    with without_garbage_collection():
        many = [Part() for _ in range(2 * MANY)]
        many[0].mate, many[1].mate = many[1], many[0]
        gone = weakref.ref(many[0])
        many[:2] = []
    assert gone() is not None

    gc.collect()

    assert gone() is None
    assert len(many) == 2 * MANY - 2


def test_no_more_than_the_limit_are_unseen_until_a_full_collection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Else garbage in cycles could grow without end, for Python would not learn of new objects.
    """
    monkeypatch.setattr(garbage, "MOST_UNSEEN", 5 * MANY)
    kept = [_made(2 * MANY) for _ in range(3)]
    assert [_is_old(many[-1]) for many in kept] == [True, True, False]

    gc.collect()

    assert _is_old(_made(2 * MANY)[-1])


def test_what_somebody_has_frozen_stays_frozen() -> None:
    frozen = Part()
    gc.freeze()
    before = gc.get_freeze_count()

    many = _made(2 * MANY)

    assert gc.get_freeze_count() == before
    assert not _is_old(many[0])
    assert not _is_old(frozen)


def test_collections_that_somebody_has_switched_off_stay_off() -> None:
    gc.disable()

    many = _made(2 * MANY)

    assert not gc.isenabled()
    assert not _is_old(many[0])
