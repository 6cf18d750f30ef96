"""Reasons of amounts of what disks, NICs and GPUs share (B1, B11)."""

from features.quantities import quantity_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from reasons_by_trying import check_reasons


def test_no_reason_of_a_quantity_says_what_is_not_so() -> None:
    """
    Never, not now and outvoted are so, on 10 worlds.
    """
    checked = 0
    for seed in range(10):
        instance = quantity_instance(seed)
        answer = solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1))
        checked += check_reasons(instance, answer)
    assert checked > 5
