"""Variants: exact on tiny worlds, each pod with what it asks for on its node."""

from dataclasses import replace

from features.variants import variants_instance
from placer import Infeasible, SolveOptions, solve


def test_without_nodes_nobody_has_a_place() -> None:
    """
    There is no node on which a variant could count.
    """
    drawn = (variants_instance(seed) for seed in range(20))
    instance = next(
        one for one in drawn if any(pod.spec.variants for gang in one.gangs for pod in gang.pods)
    )
    empty = replace(instance, nodes=(), running=())

    assert isinstance(solve(empty, SolveOptions(workers=1)), Infeasible)
