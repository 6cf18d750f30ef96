"""Laying the pods of a part of the cluster anew, by the greedy path or by the exact search."""

from collections.abc import Sequence

from placer.counting.account import accounts_of
from placer.counting.placements import (
    NodeIdAssignmentFailure,
    choices_from_placement,
    realise_choices,
)
from placer.greedy.expected.scorer import ExpectedScoring
from placer.greedy.place import place_greedily
from placer.search.budget import SolveBudget
from placer.search.coarse import refine_coarse_choices, without_links, without_locality
from placer.search.exact import ignore_progress, search_exactly, trivial_tier_bounds
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.cpsat.tier_limits import number_of_modelled_tiers
from placer_models.goals import Tier, number_of_tiers_before_locality
from placer_models.placement import Placement


def greedy_placement(part: Instance) -> Placement | None:
    """Return the greedy placement of a part's pods, or None if ids cannot realise it."""
    accounts = accounts_of(part)
    problem = build_problem(part, accounts)
    after = realise_choices(part, accounts, problem, place_greedily(problem))
    return None if isinstance(after, NodeIdAssignmentFailure) else after


def place_by_expected_cost(part: Instance, turns: Sequence[int]) -> Placement | None:
    """Return the pods of a part where they cost the expected pods least, one gang after the other.

    Args:
        part: The part; its demand has prices.
        turns: For each gang, when its turn is.

    Returns:
        None if ids cannot realise it.

    """
    assert part.demand is not None
    accounts = accounts_of(part)
    problem = build_problem(part, accounts, scored=True)
    scorer = ExpectedScoring(part.demand.priced(None)).on(part.nodes)
    scorer.prepare(part.demand.prices or (), 0)
    turn_of = {gang.pods: turn for gang, turn in zip(problem.gangs, turns, strict=True)}
    choices = place_greedily(
        problem, order=lambda _: lambda gang: (turn_of[gang.pods],), scorer=scorer
    )
    after = realise_choices(part, accounts, problem, choices)
    return None if isinstance(after, NodeIdAssignmentFailure) else after


def improve_exactly(
    part: Instance,
    start: Placement,
    worth: Sequence[tuple[Tier, int]],
    budget: SolveBudget,
    settled: int = 0,
) -> Placement | None:
    """Return a placement that is better in the tiers of the worth, or None if none is found.

    Tiers before the links are solved without links, and those before default locality
    without it.
    """
    accounts = accounts_of(part)
    problem = build_problem(part, accounts)
    worth = worth[: number_of_modelled_tiers(problem)]
    linked = len(worth) > problem.before_links
    model = problem if linked else without_links(problem)
    if len(worth) <= number_of_tiers_before_locality(problem.tiers):
        model = without_locality(model)
    values = [value for _, value in worth]
    limits = [*values[:settled], *trivial_tier_bounds(problem)[settled:]]
    found = search_exactly(
        model,
        choices_from_placement(part, accounts, model, start),
        values,
        budget,
        ignore_progress,
        limits,
        settled,
    )
    if found.solution is None:
        return None
    choices = found.solution if linked else refine_coarse_choices(problem, model, found.solution)
    after = realise_choices(part, accounts, problem, choices)
    return None if isinstance(after, NodeIdAssignmentFailure) else after
