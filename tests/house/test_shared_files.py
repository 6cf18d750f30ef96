"""Tests look only at those of other people's files, and rows of them, that they name."""

import ast
from pathlib import Path

import pytest

from shared_files import rows_named, shared

TESTS = Path(__file__).parents[1]

LISTS_FOLDERS = {"glob", "rglob", "iterdir", "walk", "listdir", "scandir"}

FINDS_THE_FOLDER = {"shared_files.py", "house/test_shared_files.py", "vm/init.py", "vm/run.py"}
"""Modules that know where the files are; those of the virtual machine copy files in by name."""


def texts() -> dict[str, str]:
    """Return the modules of the tests, by path."""
    found = sorted(TESTS.rglob("*.py"))
    return {path.relative_to(TESTS).as_posix(): path.read_text("utf-8") for path in found}


def test_no_test_of_these_files_lists_a_folder() -> None:
    """
    A file that somebody adds there fails no test.
    """
    users = {
        path: ast.parse(text)
        for path, text in texts().items()
        if "from shared_files import" in text and path not in FINDS_THE_FOLDER
    }
    assert len(users) > 10
    found = [
        f"{path}:{node.lineno}: {node.attr}"
        for path, tree in users.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in LISTS_FOLDERS
    ]
    assert not found


def test_nobody_else_finds_the_folder() -> None:
    """
    All go by `shared`, which takes the name of a file.
    """
    found = {path for path, text in texts().items() if "PLACER_SHARED" in text}
    assert found == FINDS_THE_FOLDER


def test_a_folder_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    It would hand out what nobody named.
    """
    monkeypatch.setenv("PLACER_SHARED", str(tmp_path))
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "a.json").write_text("{}")

    assert shared("cases/a.json").read_text() == "{}"
    with pytest.raises(ValueError, match=r"cases is a folder; name the files in it"):
        shared("cases")
    with pytest.raises(pytest.skip.Exception):
        shared("cases/b.json")


def test_rows_are_those_that_are_named() -> None:
    """
    In the order of the names, whatever else the table has; one that it lacks is told.
    """
    rows = [{"name": "b", "n": 1}, {"name": "a", "n": 2}, {"name": "c", "n": 3}]

    assert [row["n"] for row in rows_named(["a", "b"], rows)] == [2, 1]
    assert [row["n"] for row in rows_named(["3"], rows, "n")] == [3]
    assert [row["n"] for row in rows_named(["aa"], rows, lambda row: 2 * row["name"])] == [2]
    with pytest.raises(ValueError, match="the table has no row called d"):
        rows_named(["a", "d"], rows)
