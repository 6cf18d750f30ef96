"""The solver: from an instance to its answer (G2)."""

import logging
from collections.abc import Callable
from dataclasses import replace

from placer.judge.breaches import breaches_of_complete_placement
from placer.judge.measure import Worth
from placer.search.baseline import StartingAccounts, starting_accounts_of
from placer.search.bound_notes import Bounds, TierBoundOrigins
from placer.search.budget import SolveBudget
from placer.search.device_proximity import with_nearer_devices
from placer.search.exact import (
    Progress,
    ignore_progress,
    trivial_bounds_of_instance,
    trivial_tier_bounds,
)
from placer.search.garbage import without_garbage_collection
from placer.search.joint_search import JointSearch
from placer.search.judged import (
    RejectedPlacement,
    ValidPlacement,
    judge_placement,
    judged_placement,
)
from placer.search.misplaced_search import SHARE_OF_STAYING, MisfitsToMoveSearch
from placer.search.move_order import with_moves_in_feasible_order
from placer.search.options import Engine, SolveOptions
from placer.search.reasons.ruled_out import are_all_pods_ruled_out
from placer.search.reasons.unplaced import why_unplaced
from placer.search.rejected import place_until_judge_accepts
from placer.search.scored import (
    greedy_choices_for_problem,
    scorer_chooses_nodes,
    with_priced_expected_demand,
)
from placer.search.warm_start import placement_from_earlier
from placer.state.batch import build_problem
from placer.state.out_of_time import OutOfTimeError
from placer_models.cluster import Instance, NodesWithCachedFacts
from placer_models.goals import UNBOUNDED
from placer_models.illegal_running import with_running_pods_counted_as_legal
from placer_models.left_out import without_illegal_pods
from placer_models.legal import check_pods_legal, illegal_pods
from placer_models.movable import MovablePods
from placer_models.moves import (
    movable_instance,
    movable_pods,
    moves_in_answer,
    placement_without_stayers,
    rules_mended,
    with_unplaced_at_home,
)
from placer_models.placement import (
    Answer,
    GaveUp,
    Infeasible,
    Move,
    PartlyPlaced,
    Placed,
    Placement,
    PlaceRejectedByJudge,
    TierBoundSource,
    TierValue,
)
from placer_models.pod import pods_of_gangs
from placer_models.typed import check_argument_types

log = logging.getLogger(__name__)

ENDING = 3
"""How many times as long as realising and judging once the end of a search takes."""

_NOBODY_MOVES = MovablePods()


@check_argument_types
def solve(
    instance: Instance,
    options: SolveOptions | None = None,
    progress: Progress | None = None,
    baseline: StartingAccounts | None = None,
    *,
    skip_illegal: bool = False,
    earlier: Placement | None = None,
    greedy: Placement | None = None,
) -> Answer:
    """Place what waits as well as the time allows, and say how good that is.

    Args:
        instance: The problem.
        options: Engine, deadline, workers, seed.
        progress: Told in a few words what is done next.
        baseline: The instance's nodes, if the caller has counted them and checked its pods.
        skip_illegal: Whether pods that ask for what no pod may ask for are left out of the
            question, each with its reason in the answer, and do not end it.
        earlier: Places that an earlier answer had for pods that wait. The search begins with them
            where they still keep all rules, if that is better than the greedy answer.
        greedy: The greedy answer, if the caller has it; it counts if the judge lets it pass.

    Returns:
        The placement with its tiers and bounds, the proof that nothing can be placed, by search
        or by the reasons of each pod, or the news that neither was found. Never worse than the
        greedy answer.

    Raises:
        IllegalPodError: A pod asks for what no pod may ask for, and none is to be skipped.
        SolverError: Parts of Placer contradict each other: a defect of ours.

    """
    budget = SolveBudget(options or SolveOptions())
    with without_garbage_collection() as collect:
        if baseline is None:
            instance = _checked(instance, skip_illegal=skip_illegal)
        tell = _logged(progress or ignore_progress)
        return _solved(instance, budget, tell, collect, baseline, earlier, greedy)


def _solved(
    instance: Instance,
    budget: SolveBudget,
    tell: Progress,
    collect: Callable[[], None],
    baseline: StartingAccounts | None,
    earlier: Placement | None,
    greedy: Placement | None,
) -> Answer:
    """Solve an instance whose pods are checked, as `solve` does.

    Args:
        instance: The problem.
        budget: The time, which has begun.
        tell: Told what is done next.
        collect: Lets Python look for garbage again; called before a search.
        baseline: As in `solve`.
        earlier: As in `solve`.
        greedy: As in `solve`.

    """
    options = budget.options
    if options.strategy not in (None, instance.strategy):
        instance = replace(instance, strategy=options.strategy)
    tell("counting what is free")
    baseline = starting_accounts_of(instance) if baseline is None else baseline
    before, accounts, cache = baseline, baseline.accounts, baseline.cache.problems
    instance = with_priced_expected_demand(instance, baseline)
    given = None if greedy is None else judge_placement(instance, baseline, greedy)
    alone = options.engine is Engine.GREEDY and not instance.move_budget
    if alone and isinstance(given, ValidPlacement):
        budget.greedy_s = budget.elapsed_s
        limits = trivial_bounds_of_instance(instance, [tier for tier, _ in given.worth])
        tiers = _tier_values(given.worth, limits, TierBoundOrigins.of_limits(limits))
        return _answer(instance, instance, baseline, given, tiers, budget)
    scored = scorer_chooses_nodes(instance, options)
    # Greedy looks at cores one by one where the model's counts would not tell it enough, and
    # counts alike for every batch; the model counts in units that keep its numbers small.
    problem = build_problem(
        instance, accounts, each_core=True, absolute=True, scored=scored, cache=cache
    )
    tell("placing greedily")
    placed_s = budget.elapsed_s
    rejected: tuple[PlaceRejectedByJudge, ...] = ()
    if isinstance(given, ValidPlacement):
        best = given
    else:
        choices = greedy_choices_for_problem(instance, baseline, problem, options)
        placed_s = budget.elapsed_s
        best, rejected = place_until_judge_accepts(instance, baseline, problem, choices, budget)
    # The search ends with what has just been done once: realising, judging, and reasons.
    budget.keep(ENDING * (budget.elapsed_s - placed_s))
    movable = movable_pods(instance, breaches_of_complete_placement)
    asked = movable_instance(instance, movable)
    if asked is not instance:
        # Greedy moves nobody. From here on running pods that may move are asked for, too, and
        # there may be tiers that only they ask for.
        baseline = starting_accounts_of(asked)
        problem = build_problem(asked, baseline.accounts)
        best = judged_placement(asked, baseline, with_unplaced_at_home(asked, best.placement))
    budget.greedy_s = budget.elapsed_s
    searches = options.engine is not Engine.GREEDY and not budget.over
    if searches and asked is instance:
        try:
            problem = build_problem(instance, accounts, cache=cache, stop=lambda: budget.over)
        except OutOfTimeError:
            searches = False
    if searches and earlier is not None and earlier.pods and budget.left > budget.greedy_s:
        tell("looking at earlier places")
        warm = placement_from_earlier(instance, before, earlier, lambda: budget.over)
        if warm is not None and asked is not instance:
            there = judge_placement(asked, baseline, with_unplaced_at_home(asked, warm.placement))
            warm = None if isinstance(there, RejectedPlacement) else there
        best = warm if warm is not None and warm.better_than(best) else best
    limits = trivial_tier_bounds(problem)
    known = TierBoundOrigins.of_limits(limits)
    found = JointSearch(asked, baseline, problem, best, limits, known, list(rejected))
    if searches:
        collect()
        found = _searched(found, instance, movable, budget, tell)
    if best is not given:
        found.best = with_nearer_devices(
            found.instance,
            found.baseline,
            found.problem,
            found.best,
            found.rejected,
            stop=lambda: budget.is_late,
        )
    best, rejected = found.best, tuple(found.rejected)
    tiers = _tier_values(best.worth, found.bounds, found.known)
    return _answer(instance, found.instance, before, best, tiers, budget, rejected, movable)


def _logged(tell: Progress) -> Progress:
    """Return what logs each step as well."""

    def told(step: str) -> None:
        log.info("%s", step)
        tell(step)

    return told


def _checked(instance: Instance, *, skip_illegal: bool) -> Instance:
    """Return the instance with legal pods alone in its gangs, and running ones as they count.

    Raises:
        IllegalPodError: A pod is illegal, and none is to be skipped.

    """
    # What is asked of all nodes is worked out once.
    instance = replace(
        with_running_pods_counted_as_legal(instance), nodes=NodesWithCachedFacts.of(instance.nodes)
    )
    if not skip_illegal:
        check_pods_legal(pods_of_gangs(instance.gangs), instance.nodes)
        return instance
    illegal = illegal_pods(pods_of_gangs(instance.gangs), instance.nodes)
    legal = without_illegal_pods(instance.gangs, instance.groups, illegal)
    return replace(
        instance,
        gangs=legal.gangs,
        groups=legal.groups,
        left_out=(*instance.left_out, *legal.left_out),
    )


def _searched(
    found: JointSearch,
    instance: Instance,
    movable: MovablePods,
    budget: SolveBudget,
    tell: Progress,
) -> JointSearch:
    """Search for better answers than the first one, and for bounds; return the best search."""
    whole = budget.options.engine is Engine.EXACT
    if not movable.misplaced:
        found.run(budget, tell, whole=whole)
        return found
    part = budget.part(SHARE_OF_STAYING * budget.left)
    found.run(part, tell, whole=whole)
    budget.spend(part)
    leaving = MisfitsToMoveSearch(instance, movable, budget, tell, whole, found)
    leaving.run()
    best = leaving.best
    if not best.is_settled and not budget.over:
        best.run(budget, tell, whole=whole)
    best.rejected = list(dict.fromkeys((*found.rejected, *leaving.rejected, *best.rejected)))
    best.bounds = leaving.bounds()
    # A bound that is not the best question's own is that of another one.
    best.known.note(best.bounds, TierBoundSource.MODEL)
    return best


def _answer(
    instance: Instance,
    asked: Instance,
    before: StartingAccounts,
    best: ValidPlacement,
    tiers: tuple[TierValue, ...],
    budget: SolveBudget,
    rejected: tuple[PlaceRejectedByJudge, ...] = (),
    movable: MovablePods = _NOBODY_MOVES,
) -> Answer:
    """Return the answer that a placement is, with reasons for who has no place.

    Args:
        instance: The question.
        asked: The same, with running pods that may move among those that wait.
        before: The nodes, counted.
        best: The placement.
        tiers: What it is worth.
        budget: What reasons may cost.
        rejected: Places that were found, and that the judge rejected.
        movable: Who may move.

    """
    left_out = why_unplaced(instance, asked, before, best.placement, budget, rejected)
    placement = placement_without_stayers(asked, best.placement)
    homes = {home.key for home in asked.homes}
    if left_out and all(place.key in homes for place in placement.pods):
        levels = len({gang.priority for gang in asked.gangs})
        proven = all(value.proven for value in tiers[:levels])
        if proven or are_all_pods_ruled_out(asked, left_out):
            return Infeasible(left_out, rejected)
        return GaveUp(budget.elapsed_s, left_out, rejected)
    moves: tuple[Move, ...] = ()
    if homes:
        placement = with_moves_in_feasible_order(instance, placement)
        moves = moves_in_answer(instance, placement, rules_mended(movable, placement))
    if left_out:
        return PartlyPlaced(placement, tiers, left_out, moves, rejected)
    return Placed(placement, tiers, moves, rejected)


def _tier_values(worth: Worth, bounds: Bounds, known: TierBoundOrigins) -> tuple[TierValue, ...]:
    """Join values and bounds; a tier is proven while every tier before it is."""
    result = []
    proven = True
    for index, (tier, value) in enumerate(worth):
        bound, source = bounds[index], known.sources[index]
        if tier in UNBOUNDED:
            bound = source = None
        proven = proven and value == bound
        result.append(TierValue(tier, value, bound, proven, source, known.binds[index]))
    return tuple(result)
