"""Benchmarks run by hand: what they import is there all the same."""

import ast
import sys
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess, run

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RUNNABLE = sorted(file for file in BENCHMARKS.glob("*.py") if not file.stem.startswith("_"))
OURS = ("placer", "placer_models", "placer_cli")


@pytest.mark.parametrize("file", sorted(BENCHMARKS.glob("*.py")), ids=lambda file: file.stem)
def test_all_that_a_benchmark_imports_of_ours_is_there(file: Path) -> None:
    """
    Nobody runs each of them after each change: a name that is gone would be found too late.
    """
    missing = [
        f"{node.module}.{name.name}"
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in OURS
        for name in node.names
        if not _has(str(node.module), name.name)
    ]

    assert missing == []


def _has(module: str, name: str) -> bool:
    try:
        return hasattr(import_module(module), name) or bool(import_module(f"{module}.{name}"))
    except ImportError:
        return False


@pytest.mark.check
@pytest.mark.parametrize("file", RUNNABLE, ids=lambda file: file.stem)
def test_a_benchmark_says_how_it_is_called_before_it_measures_anything(file: Path) -> None:
    """
    With --help its head and its arguments; an option that it has not is told in one line.
    """
    told = _run(file, "--help")
    assert (told.returncode, told.stderr) == (0, "")
    head = ast.get_docstring(ast.parse(file.read_text("utf-8")))
    assert head is not None
    assert head.splitlines()[0] in told.stdout

    refused = _run(file, "--no-such-option")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "error: " in refused.stderr.splitlines()[-1]


def _run(file: Path, word: str) -> "CompletedProcess[str]":
    return run([sys.executable, file, word], capture_output=True, text=True, check=False)
