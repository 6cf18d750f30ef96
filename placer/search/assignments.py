"""Assignments, pairs of a unit and a node: how large a model of a batch would be."""

from collections import Counter

from placer_models.cpsat.batch_model import units_of
from placer_models.problem.node_state import CoreGranularity
from placer_models.problem.problem import Problem

CORES_OF_A_SEAT = 8
"""How many core classes add as much to a pair as one more pair would."""


def assignments_of(problem: Problem) -> int:
    """Return how many (unit, node) pairs a model of the whole batch has.

    Where cores are told apart one by one, each of them makes a pair larger.
    """
    each = problem.granularity >= CoreGranularity.PAIRS
    of_kind: Counter[int] = Counter()
    for node in problem.nodes:
        of_kind[node.kind] += 1 + (len(node.cores) // CORES_OF_A_SEAT if each else 0)
    units = Counter(unit.shape for unit in units_of(problem))
    return sum(
        count * sum(size for kind, size in of_kind.items() if problem.fits[shape][kind] is not None)
        for shape, count in units.items()
    )
