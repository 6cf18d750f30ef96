"""The worlds in which the judge's rules are held to their edges, solved as by brute force."""

import pytest

from brute_force import best_placement
from exact_checks import check_exact, check_greedy
from judge.cases import CASES
from judge.hand import Case
from placer_models.legal import spec_faults
from placer_models.pod import pods_of_gangs


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.claim}")
def test_the_edge_is_where_the_judge_says(case: Case) -> None:
    """
    The best of the world is proven, whichever side of the edge it is made for.

    Some worlds have pods that only a judge is asked about: solvers refuse them.
    """
    for instance in filter(None, (case.world, case.bad_world)):
        if any(True for pod in pods_of_gangs(instance.gangs) for _ in spec_faults(pod.spec)):
            continue
        best = best_placement(instance)
        check_exact(instance, best)
        check_greedy(instance, best)
