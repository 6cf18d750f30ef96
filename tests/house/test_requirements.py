"""Requirements: the page has a row for each, and what it says of pages, source and tests is so."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).parents[2]
SOURCES = ("models", "placer", "cli")
IDS = r"[BCDFGQ]\d{1,2}"
ROW = re.compile(rf"^\| ({IDS}) \| (.*) \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
RANGE = re.compile(r"\b([BCDFGQ])(\d{1,2})\b(?: to \1(\d{1,2})\b)?")
NAMED = re.compile(
    rf"\(({IDS}(?:(?:, | to | and ){IDS})*)\)|^ +({IDS}(?:, {IDS})*)\b[^:.\n]{{0,15}}: ",
    re.MULTILINE,
)
"""Where Python names requirements: in brackets at the end of a sentence, or as its first word."""
NOT_YET = "**Not yet:**"


class Row(NamedTuple):
    """What the page says of one requirement."""

    name: str
    asks: str
    pages: list[str]
    sources: list[str]
    tests: list[str]


@cache
def text_of(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text("utf-8")


def row_of(name: str, asks: str, pages: str, sources: str, tests: str) -> Row:
    """Return the row, its links and paths taken apart."""
    links = [f"docs/{link}" for link in re.findall(r"\]\((.+?)\)", pages)]
    return Row(name, asks, links, re.findall("`(.+?)`", sources), re.findall("`(.+?)`", tests))


ROWS = [row_of(*found) for found in ROW.findall(text_of(CHECKOUT / "docs/requirements.md"))]


def ids_in(text: str) -> set[str]:
    """Return the ids that a text names, those inside of ranges too."""
    return {
        f"{family}{number}"
        for family, first, last in RANGE.findall(text)
        for number in range(int(first), int(last or first) + 1)
    }


def requirements_of(page: Path) -> set[str]:
    """Return the ids in the section Requirements of a page."""
    _, _, section = text_of(page).partition("## Requirements\n")
    return ids_in(section.partition("\n## ")[0])


@cache
def named_by(path: Path) -> frozenset[str]:
    """Return the ids that a Python file names."""
    found = NAMED.findall(text_of(path))
    return frozenset[str]().union(*(ids_in(one or other) for one, other in found))


def modules(*folders: str) -> Iterator[Path]:
    """Yield the Python files below the folders, or the file itself."""
    for folder in folders:
        yield from (CHECKOUT / folder).rglob("*.py")


def test_each_family_is_numbered_without_holes() -> None:
    """
    C1 to C22, and so on; each id has one row.
    """
    for family in sorted({row.name[0] for row in ROWS}):
        numbers = [int(row.name[1:]) for row in ROWS if row.name[0] == family]
        assert numbers == [*range(1, len(numbers) + 1)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_requirement_is_where_its_row_says(row: Row) -> None:
    """
    Pages name it under Requirements, and sources and tests in a docstring or the name of a case.
    """
    if row.asks.startswith(NOT_YET):
        others = [str(path.relative_to(CHECKOUT)) for path in modules("tests") if knows(path, row)]
        assert others == [], f"{row.name} is built: say where in docs/requirements.md"
        return
    for page in row.pages:
        assert row.name in requirements_of(CHECKOUT / page), f"{page} does not name {row.name}"
    for source in row.sources:
        assert any(knows(path, row) for path in modules(source)), f"{source}: nothing names it"
    gone = [test for test in row.tests if not knows(CHECKOUT / test, row)]
    others = [str(path.relative_to(CHECKOUT)) for path in modules("tests") if knows(path, row)]
    assert gone == [], f"these do not name {row.name} (any more), and these do: {', '.join(others)}"
    assert row.pages
    assert row.sources
    assert row.tests


def knows(path: Path, row: Row) -> bool:
    """Return whether a Python file is there and names the requirement."""
    return path.exists() and row.name in named_by(path)


def test_only_requirements_that_have_a_row_are_named() -> None:
    """
    A slip of the pen, or an id that was taken out of the page, leads nowhere.
    """
    known = {row.name for row in ROWS}
    unknown = {
        (str(path.relative_to(CHECKOUT)), name)
        for path in modules(*SOURCES, "tests")
        for name in named_by(path) - known
    } | {
        (str(page.relative_to(CHECKOUT)), name)
        for page in (CHECKOUT / "docs").rglob("*.md")
        for name in requirements_of(page) - known
    }
    assert unknown == set()
