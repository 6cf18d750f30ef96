"""``placer --verbose``: what is done, step by step, on standard error."""

import logging
from pathlib import Path

import pytest

from placer_cli.app import main

INFEASIBLE = str(Path(__file__).parents[2] / "instances/infeasible.yaml")
EXPLAIN = ["explain", INFEASIBLE, "nowhere-allowed", "--seconds", "5"]


def test_steps_are_said_only_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """
    The library logs, and by default nobody listens; the option ends with its command.
    """
    before = logging.getLogger("placer").handlers[:]

    assert main(["--verbose", *EXPLAIN]) == 1
    said = capsys.readouterr().err
    assert "placer.search.solver: placing greedily" in said
    assert "placer.explain.trial: tried give-up=default/nowhere-allowed" in said
    assert logging.getLogger("placer").handlers == before
    assert main(EXPLAIN) == 1
    assert "placer.search" not in capsys.readouterr().err
