"""Compiled scores are loaded where that is worth its time, and never in a short call."""

import sys
from pathlib import Path

import pytest

from placer.greedy.expected import scorer


@pytest.mark.parametrize(
    ("nodes", "left_s", "compiled", "worth"),
    [
        (1000, 2.9, True, False),
        (1000, 3.0, True, True),
        (99, 60.0, True, False),
        (1000, 29.9, False, False),
        (1000, 30.0, False, True),
    ],
)
def test_seconds_and_nodes_decide(
    nodes: int,
    left_s: float,
    compiled: bool,
    worth: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """
    Compiling takes 5 s of CPU, once; reading what was compiled a third of a second.
    """
    monkeypatch.delitem(sys.modules, "placer.greedy.expected.compiled_scores", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    if compiled:
        (tmp_path / "some").mkdir()
        (tmp_path / "some" / "compiled_scores._lost-1.py311.nbi").touch()

    assert scorer.is_worth_loading(nodes, left_s) is worth
