"""``placer --verbose``: what is done, step by step, on standard error."""

import logging
from pathlib import Path

from commands import Placer

INFEASIBLE = str(Path(__file__).parents[2] / "instances/infeasible.yaml")
EXPLAIN = ["explain", INFEASIBLE, "nowhere-allowed", "--seconds", "5"]


def test_steps_are_said_only_where_that_is_asked_for(placer: Placer) -> None:
    """
    The library logs, and by default nobody listens; the option ends with its command.
    """
    before = logging.getLogger("placer").handlers[:]

    said = placer("--verbose", *EXPLAIN, code=1).err
    assert "placer.search.solver: placing greedily" in said
    assert "placer.explain.trial: tried give-up=default/nowhere-allowed" in said
    assert logging.getLogger("placer").handlers == before
    assert "placer.search" not in placer(*EXPLAIN, code=1).err
