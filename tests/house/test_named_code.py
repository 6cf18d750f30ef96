"""Code that pages and docstrings name, such as ``search.solver``, is there."""

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
SHELVES = ("placer", "models/placer_models", "cli/placer_cli")
PAGES = sorted([*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/**/*.md")])

DOTTED = re.compile(r"(?<!`)`([a-z_]+(?:\.[A-Za-z_]+)+)`(?!`)")
FILE = re.compile(r"(?<!`)`([a-z_/]+\.py)`(?!`)")
NO_CODE = {"io", "sh", "com", "yaml", "json"}
"""How domain names and files of data end."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_pages_name_code_that_is_there(page: Path) -> None:
    """
    Modules and names by their package, files by the end of their path.
    """
    text = page.read_text("utf-8")

    assert strangers(text, packages()) == []
    assert [name for name in FILE.findall(text) if not any(_is_file(name))] == []


def test_docstrings_name_code_that_is_there() -> None:
    """
    In source a module alone may stand before a name of its own, too.
    """
    found = [
        f"{file.relative_to(CHECKOUT)}: {stranger}"
        for file in files()
        for stranger in strangers(file.read_text("utf-8"), known())
    ]

    assert found == []


def test_a_name_that_is_gone_is_found() -> None:
    """
    What is there, and what is no code, is passed over.
    """
    text = "`search.solver`, `state.fits.fit_of`, `kubernetes.io/hostname`, `state.gone.fit_of`"

    assert strangers(text, packages()) == ["state.gone.fit_of"]
    assert strangers("`fits.fit_of` and `fits.gone`", known()) == ["fits.gone"]


def strangers(text: str, beginnings: Collection[str]) -> list[str]:
    """Return what a text names below one of the beginnings that is not there."""
    return [
        name
        for name in DOTTED.findall(text)
        if name.split(".")[0] in beginnings
        and not NO_CODE & set(name.split("."))
        and not _is_there(name.split("."))
    ]


def _is_there(steps: list[str]) -> bool:
    for above, below in pairwise(steps):
        if above in known() and below not in known()[above]:
            return False
    return True


def _is_file(name: str) -> Iterator[bool]:
    tops = ("", "models/", "tests/", *(f"{shelf}/" for shelf in SHELVES))
    yield from ((CHECKOUT / top / name).is_file() for top in tops)
    yield from (file.name == name for file in files())


def files() -> list[Path]:
    return sorted(file for shelf in SHELVES for file in (CHECKOUT / shelf).rglob("*.py"))


def packages() -> set[str]:
    return {file.parent.name for file in files()}


@cache
def known() -> dict[str, set[str]]:
    """Return the name of each package and module -> the modules and names in it."""
    found: dict[str, set[str]] = {}
    for file in files():
        package = file.parent
        if file.stem == "__init__":
            found.setdefault(package.parent.name, set()).add(package.name)
        else:
            found.setdefault(package.name, set()).add(file.stem)
        module = package.name if file.stem == "__init__" else file.stem
        found.setdefault(module, set()).update(_names_in(ast.parse(file.read_text("utf-8"))))
    return found


def _names_in(module: ast.Module) -> Iterator[str]:
    """Yield what a module defines or imports, and the attributes of its classes."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
