"""Benchmarks run by hand: what they import is there all the same."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
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
