"""Nodes that Placer offers, against kube-scheduler's own filters, over random dumps."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from containers.runtimes import MissingError
from e2e.filter_worlds import ASKED, World, filter_world
from e2e.known_differences import WORDS, Row, rows
from e2e.placer_verdict import verdict_of
from e2e.stricter import STRICTER
from e2e.witness import Verdict, Witness

pytestmark = pytest.mark.e2e

WORLDS = 375
BATCHES = 8
"""3,000 worlds in all."""


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    """kube-scheduler's filters, without a cluster."""
    try:
        with Witness() as filters:
            yield filters
    except MissingError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("row", tuple(rows()), ids=lambda row: f"{row.word}: {row.name}")
def test_a_word_in_a_small_cluster(row: Row, witness: Witness) -> None:
    """
    Placer offers what kube-scheduler's filters leave, or what the table of differences says.
    """
    theirs, ours = witness.of_dump(row.objects, ASKED), verdict_of(row.objects, ASKED)

    assert theirs.fits == row.theirs, theirs.refused
    assert ours.fits in (row.wanted, row.ours), ours.refused
    if row.placer is not None:
        if ours.fits != row.wanted:
            pytest.xfail(f"item {WORDS[row.word]}: Placer says {sorted(ours.fits)}")
        pytest.skip("mended: take `placer` out of this row")


def test_rows_and_words_belong_together() -> None:
    """
    Each word that is still to be mended has a row that shows how Placer differs, and no other has.
    """
    assert {row.word for row in rows() if row.placer is not None} == WORDS.keys()
    assert all(row.ours != row.wanted for row in rows() if row.placer is not None)
    assert all(row.wanted < row.theirs for row in rows() if row.on_purpose is not None)


@pytest.mark.parametrize(
    "batch", [0, *(pytest.param(i, marks=pytest.mark.check) for i in range(1, BATCHES))]
)
def test_random_clusters(batch: int, witness: Witness, tmp_path: Path) -> None:
    """
    Placer is never laxer, and stricter only for a reason of `STRICTER`, but for words to be mended.
    """
    to_mend = frozenset(WORDS)
    found, agreed = [], 0
    for seed in range(batch * WORLDS, (batch + 1) * WORLDS):
        world = filter_world(Random(seed))
        theirs, ours = witness.of_dump(world.objects, ASKED), verdict_of(world.objects, ASKED)
        agreed += len(theirs.fits & ours.fits)
        for node in ours.fits - theirs.fits if not world.words & to_mend else ():
            found.append(f"laxer: seed {seed}, {node}: {theirs.refused[node]}")
        for node in theirs.fits - ours.fits if not world.words & to_mend else ():
            why = ours.refused[node]
            if not any(known.explains(why, world.words) for known in STRICTER):
                found.append(f"stricter: seed {seed}, {node}: {ours.refused[node]}")
        if found:
            _keep(world, theirs, ours, tmp_path)
            break

    assert found == [], f"the dump is in {tmp_path}"
    assert agreed > WORLDS // 4  # else the worlds say little


def _keep(world: World, theirs: Verdict, ours: Verdict, folder: Path) -> None:
    """Write a dump down, with what was said of it."""
    (folder / "dump.json").write_text(json.dumps({"kind": "List", "items": world.objects}))
    said = {"kube-scheduler": theirs.refused, "Placer": ours.refused}
    (folder / "said.json").write_text(json.dumps({k: dict(v) for k, v in said.items()}, indent=1))
