"""Sequences of which most stays: where they differ, and folds over them."""

from random import Random

from placer_models.incremental import PIECE, ChunkedReduce, Concatenation, changed_indices


class Entry:
    """Equal to itself alone."""


def test_where_tuples_differ() -> None:
    rng = Random(1)
    for length in (0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5):
        old = tuple(Entry() for _ in range(length))
        others = sorted(rng.sample(range(length), min(length, 7)))
        new = list(old)
        for index in others:
            new[index] = Entry()

        assert changed_indices(old, tuple(new)) == others
        assert changed_indices(old, old) == []


def test_a_fold_is_as_good_as_new() -> None:
    rng = Random(2)
    known = ChunkedReduce(sum, sum)
    entries: list[int] = []
    for _ in range(200):
        where = rng.randrange(len(entries) + 1)
        many = rng.randrange(2 * PIECE)
        entries[where : where + rng.choice([0, 1, many])] = rng.choices(range(9), k=many)

        assert known.of(tuple(entries)) == sum(entries)
        entries[: rng.choice([0, 0, len(entries)])] = []


def test_a_fold_works_out_only_what_is_another() -> None:
    asked: list[tuple[int, ...]] = []

    def most(piece: tuple[int, ...]) -> int:
        asked.append(piece)
        return max(piece)

    known = ChunkedReduce(most, max)
    entries = tuple(range(3 * PIECE))
    assert known.of(entries) == 3 * PIECE - 1
    asked.clear()

    assert known.of((*entries[:PIECE], 10_000, *entries[PIECE + 1 :])) == 10_000
    assert [piece[1:] for piece in asked] == [entries[PIECE + 1 : 2 * PIECE]]


def test_joined_tuples_are_as_good_as_one() -> None:
    entries = Concatenation(((1, 2), (), (3,), (4, 5)))

    assert entries == (1, 2, 3, 4, 5)
    assert entries == (1, 2, 3, 4, 5)
    assert entries != (1, 2, 3, 4)
    assert entries != 3
    assert list(entries) == [1, 2, 3, 4, 5]
    assert len(entries) == 5
    assert (entries[0], entries[-1], entries[1:3]) == (1, 5, (2, 3))
    assert 4 in entries
    assert hash(entries) == hash((1, 2, 3, 4, 5))
    assert not Concatenation(())
