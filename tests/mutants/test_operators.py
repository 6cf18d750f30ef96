"""The tool that makes mutants: what it changes, and what it leaves alone."""

import ast
from pathlib import Path

import pytest

from mutants.operators import mutants_of
from mutants.run import AREAS, CHECKOUT, draw

SOURCE = '''"""Some words."""

Name = int | str
MOST = 3


def some(xs: list[int], most: int | None = None) -> int:
    """Return some."""
    if not xs or len(xs) > MOST:
        raise ValueError(f"too many: {len(xs) - 1}")
    found = [x for x in xs if x is not most]
    found.append(0)
    return min(found) if most else -1
'''


def changes() -> list[str]:
    found = sorted(mutants_of(SOURCE), key=lambda one: (one.start, -one.end, one.text))
    return [f"{mutant.line}: {mutant.change}" for mutant in found]


def test_every_operator_has_its_mutants() -> None:
    """
    Neither text nor types are changed.
    """
    assert changes() == [
        "4: 3 -> 2",
        "4: 3 -> 4",
        "9: not xs or len(xs) > MOST -> (len(xs) > MOST)",
        "9: not xs or len(xs) > MOST -> (not xs and len(xs) > MOST)",
        "9: not xs or len(xs) > MOST -> (not xs)",
        "9: not xs -> (xs)",
        "9: len(xs) > MOST -> (len(xs) >= MOST)",
        "11: x is not most -> (x is most)",
        "11: x is not most -> True",
        "12: found.append(0) -> pass",
        "12: 0 -> 1",
        "13: min(found) if most else -1 -> (-1 if most else min(found))",
        "13: min(found) -> max(found)",
        "13: 1 -> 0",
        "13: 1 -> 2",
    ]


def test_a_mutant_is_the_file_with_one_change() -> None:
    """
    It can be read, differs from what was there, and from every other mutant.
    """
    sources = [mutant.put_into(SOURCE) for mutant in mutants_of(SOURCE)]

    assert len({SOURCE, *sources}) == len(sources) + 1
    for source in sources:
        assert len(source.splitlines()) == len(SOURCE.splitlines())
        ast.parse(source)


@pytest.mark.check
def test_a_seed_draws_the_same_mutants_from_every_area() -> None:
    """
    As many from each, none twice; another seed draws others.
    """
    drawn = draw(seed=1, each=3)

    assert drawn == draw(seed=1, each=3)
    assert [one.area for one in drawn] == [area for area in AREAS for _ in range(3)]
    assert len({(one.file, one.mutant) for one in drawn}) == len(drawn)
    assert [one.mutant for one in drawn] != [one.mutant for one in draw(seed=2, each=3)]


def test_areas_name_what_is_there() -> None:
    """
    A module or a folder that is renamed would be passed by.
    """
    places = [CHECKOUT / place for places in AREAS.values() for place in places]

    assert [p for p in places if not (p.is_dir() or Path(f"{p}.py").is_file())] == []
