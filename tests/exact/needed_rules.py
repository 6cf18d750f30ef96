"""Whether the model needs a rule: without it some world must go wrong."""

from collections.abc import Iterable
from functools import partial

import pytest

from placer.counting.account import accounts_of
from placer.counting.placements import (
    NodeIdAssignmentFailure,
    choices_from_placement,
    realise_choices,
)
from placer.judge.breaches import breaches, breaches_of_complete_placement
from placer.judge.measure import measure
from placer.search import exact
from placer.search.budget import SolveBudget
from placer.search.coarse import without_locality
from placer.search.cp import SolverError
from placer.search.exact import search_exactly, trivial_tier_bounds
from placer.search.options import SolveOptions
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.cpsat.batch_model import RULES, build_batch_model
from placer_models.cpsat.family import AddRule
from placer_models.goals import DEFAULT_LOCALITY
from placer_models.moves import with_movable_pods_as_waiting, with_unplaced_at_home
from placer_models.placement import Placement
from placer_models.problem.problem import Problem


def is_needed(rule: AddRule, worlds: Iterable[Instance]) -> bool:
    """Return whether the search claims something else, or something wrong, without the rule."""
    others = tuple(other for other in RULES if other is not rule)
    for instance in worlds:
        whole = claimed(instance)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact, "build_batch_model", partial(build_batch_model, rules=others))
            try:
                without = claimed(instance)
            except (ValueError, SolverError):  # more pods than there are, or beyond a limit
                return True
        if without != whole:
            return True
    return False


def claimed(instance: Instance) -> list[tuple[tuple[int, ...], bool]]:
    """Return the tier values that the search claims, and whether the judge agrees.

    Then the same in the model without default locality, where that is another one.
    """
    instance = with_movable_pods_as_waiting(instance, breaches_of_complete_placement)
    at_home = with_unplaced_at_home(instance, Placement())
    accounts = accounts_of(instance)
    problem = build_problem(instance, accounts)
    plain = without_locality(problem)
    return [
        _claimed_in(asked, instance, at_home)
        for asked in ((problem,) if plain is problem else (problem, plain))
    ]


def _claimed_in(
    problem: Problem, instance: Instance, at_home: Placement
) -> tuple[tuple[int, ...], bool]:
    accounts = accounts_of(instance)
    worth = measure(instance, at_home)
    plain = without_locality(problem) is problem
    start = [0 if plain and tier in DEFAULT_LOCALITY else value for tier, value in worth]
    choices = choices_from_placement(instance, accounts, problem, at_home)
    budget = SolveBudget(SolveOptions(workers=1, time_limit_s=60))
    found = search_exactly(problem, choices, start, budget, str, trivial_tier_bounds(problem))
    placement = realise_choices(instance, accounts, problem, found.solution or choices)
    right = not isinstance(placement, NodeIdAssignmentFailure) and not breaches(instance, placement)
    return found.values, right
