"""Sequences and mappings of which most stays: where they differ, and folds over them."""

from random import Random

from placer_models.incremental import (
    PIECE,
    ConcatenatedTuples,
    IncrementalAggregate,
    PersistentMap,
    PersistentTuple,
    changed_indices,
    differing_indices,
)


class Entry:
    """Equal to itself alone."""


def test_a_changed_tuple_says_where_it_differs() -> None:
    rng = Random(1)
    for length in (0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5):
        entries = [Entry() for _ in range(length)]
        old = PersistentTuple.of(entries)
        others = {i: Entry() for i in sorted(rng.sample(range(length), min(length, 7)))}
        new = old.changed(others)

        assert changed_indices(old, new) == list(others)
        assert changed_indices(old, old) == []
        assert changed_indices(old, PersistentTuple.of(entries)) == []
        assert list(old) == entries
        assert list(new) == [others.get(i, entry) for i, entry in enumerate(entries)]


def test_rows_of_parts_differ_where_they_hold_other_objects() -> None:
    one, other, third = Entry(), Entry(), Entry()

    assert list(differing_indices((one, other, third), (one, third, other))) == [1, 2]
    assert list(differing_indices((one, other), (one, other))) == []


def test_a_tuple_in_pieces_is_as_good_as_one() -> None:
    whole = tuple(range(2 * PIECE + 3))
    entries = PersistentTuple.of(whole)

    assert PersistentTuple.of(entries) is entries
    assert entries == whole
    assert entries != whole[1:]
    assert entries != 3
    assert hash(entries) == hash(whole)
    assert len(entries) == len(whole)
    assert [entries[i] for i in range(len(whole))] == list(whole)
    assert (entries[-1], entries[1:3]) == (whole[-1], (1, 2))
    assert not PersistentTuple.of(())


def test_a_fold_is_as_good_as_new() -> None:
    rng = Random(2)
    known = IncrementalAggregate(sum, sum)
    entries: list[int] = []
    for _ in range(200):
        where = rng.randrange(len(entries) + 1)
        many = rng.randrange(2 * PIECE)
        entries[where : where + rng.choice([0, 1, many])] = rng.choices(range(9), k=many)

        assert known.of(PersistentTuple.of(entries)) == sum(entries)
        entries[: rng.choice([0, 0, len(entries)])] = []


def test_a_fold_works_out_only_what_is_another() -> None:
    asked: list[tuple[int, ...]] = []

    def most(piece: tuple[int, ...]) -> int:
        asked.append(piece)
        return max(piece)

    known = IncrementalAggregate(most, max)
    entries = tuple(range(3 * PIECE))
    first = PersistentTuple.of(entries)
    assert known.of(first) == 3 * PIECE - 1
    asked.clear()

    assert known.of(first.changed({PIECE: 10_000})) == 10_000
    assert [piece[1:] for piece in asked] == [entries[PIECE + 1 : 2 * PIECE]]


def test_joined_tuples_are_as_good_as_one() -> None:
    entries = ConcatenatedTuples(((1, 2), (), (3,), (4, 5)))

    assert entries == (1, 2, 3, 4, 5)
    assert entries == (1, 2, 3, 4, 5)
    assert entries != (1, 2, 3, 4)
    assert entries != 3
    assert list(entries) == [1, 2, 3, 4, 5]
    assert len(entries) == 5
    assert (entries[0], entries[-1], entries[1:3]) == (1, 5, (2, 3))
    assert 4 in entries
    assert hash(entries) == hash((1, 2, 3, 4, 5))
    assert not ConcatenatedTuples(())


def test_every_version_of_a_mapping_is_as_good_as_a_copy() -> None:
    """
    Every version stays what it was, whatever comes after it.
    """
    rng = Random(3)
    start = {("default", f"pod-{i}"): i for i in range(500)}
    versions = [(PersistentMap.of(start.items()), start)]
    for step in range(100):
        known, expected = rng.choice(versions)
        gone = rng.sample(sorted(expected), rng.randrange(5))
        new = {("default", f"pod-{rng.randrange(600)}"): -step for _ in range(rng.randrange(5))}
        after = {key: value for key, value in expected.items() if key not in gone} | new
        versions.append((known.changed(gone, new), after))
        for before, now in zip(known.parts, versions[-1][0].parts, strict=True):
            differ = not new.keys().isdisjoint(now) or not set(gone).isdisjoint(before)
            assert (before is not now) == differ

    for known, expected in versions:
        assert dict(known) == expected
        assert dict(pair for part in known.parts for pair in part.items()) == expected
        assert len(known) == len(expected)
        assert list(known.values()) == [known[key] for key in known]
        assert all(key in known for key in expected)
        assert ("default", "nobody") not in known
