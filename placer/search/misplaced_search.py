"""Leaving: which running pods in breach of a rule move away (G5).

A pod that stays in breach runs on, and nobody is blamed. A pod that leaves is placed anew. So
each choice of leaving pods is a question of its own, and the best of their answers is the answer.
One in which more pods leave is no better unless it places more, opens fewer nodes or spares moves.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from math import comb

from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.greedy.place import place_greedily
from placer.judge.breaches import breaches, breaches_of_complete_placement
from placer.search.baseline import StartingAccounts, starting_accounts_of
from placer.search.bound_notes import Bounds, TierBoundOrigins
from placer.search.budget import SolveBudget
from placer.search.cp import optimise_expression
from placer.search.exact import MOST_ASSIGNMENTS, Progress, assignment_count, trivial_tier_bounds
from placer.search.joint_search import JointSearch
from placer.search.judged import ValidPlacement, judged_placement
from placer.search.rejected import judge_and_note_rejected
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.cpsat.batch_model import build_batch_model
from placer_models.cpsat.places import read_solved_choices
from placer_models.goals import MOVES, ObjectiveSense, Tier
from placer_models.movable import MisfitsLeavingTogether, MovablePods
from placer_models.moves import (
    movable_instance,
    with_homes,
    with_movable_pods_as_waiting,
    with_unplaced_at_home,
)
from placer_models.placement import Placement, PlaceRejectedByJudge
from placer_models.problem.problem import Problem

SHARE_OF_STAYING = 0.5
"""The share of the time for the question in which no pod in breach leaves, if some could."""

Leavers = tuple[int, ...]
"""Positions of misplaced pods or gangs that leave, ascending."""

MOST_TRIED = 10_000
"""The most choices of leaving pods that are considered."""


@dataclass(slots=True)
class MisfitsToMoveSearch:
    """A search that asks one question after the other, and keeps the best answer.

    Attributes:
        best: The best of the questions so far; at first the one in which nobody leaves.
        others: For each question other than the best, the bounds of its answers.
        chosen: Positions, among the misplaced, of those that leave in the best question.
        rejected: Places that were found in any question, and that the judge rejected.

    """

    instance: Instance
    movable: MovablePods
    budget: SolveBudget
    tell: Progress
    whole: bool
    best: JointSearch
    others: list[Sequence[int | None]] = field(default_factory=list)
    chosen: Leavers = ()
    rejected: list[PlaceRejectedByJudge] = field(default_factory=list)

    def run(self) -> None:
        """Try choices of pods that could leave until it is clear which have to.

        Small choices come first, but before them the best so far with one more that leaves.
        A question that is begun is counted, and placed greedily, before its time is looked at.
        """
        tiers = [tier for tier, _ in self.best.best.worth]
        limits = trivial_tier_bounds(self.best.problem)
        at = tiers.index(MOVES)
        open_choices = dict.fromkeys(self._choices())
        most = min(self.instance.move_budget, len(self.movable.misplaced))
        count = sum(comb(len(self.movable.misplaced), number) for number in range(1, most + 1))
        number = 0
        tried: set[Leavers] = set()
        while choice := self._next(open_choices, tried):
            tried.add(choice)
            open_choices.pop(choice, None)
            leaving = tuple(self.movable.misplaced[i] for i in choice)
            limits[at] = _moves_of(leaving)
            if not _could_beat(tiers, limits, self.best.best.values):
                continue
            if self.budget.over or (
                self.budget.timed and self.budget.left < 2 * self.budget.greedy_s
            ):
                self.others.append(tuple(limits))
                break
            number += 1
            self.tell(f"moving who breaks a rule: choice {number}, {len(open_choices)} left")
            part = self.budget.part(self.budget.slice(1 + len(open_choices)))
            if self._try(leaving, tuple(limits), part):
                self.chosen = choice
            self.budget.spend(part)
        if count > MOST_TRIED or open_choices:
            limits[at] = 1
            self.others.append(tuple(limits))

    def _next(self, open_choices: Mapping[Leavers, None], tried: Set[Leavers]) -> Leavers | None:
        """Return the next choice to try: the best with one more that leaves, or else any."""
        misplaced = self.movable.misplaced
        for i in range(len(misplaced)):
            choice = tuple(sorted({*self.chosen, i}))
            within = _moves_of([misplaced[j] for j in choice]) <= self.instance.move_budget
            if i not in self.chosen and within and choice not in tried:
                return choice
        return next(iter(open_choices), None)

    def bounds(self) -> Bounds:
        """Return bounds that no answer can beat, whichever pods leave."""
        found: Bounds = []
        rivals = [self.best.bounds, *self.others]
        for index, (tier, value) in enumerate(self.best.best.worth):
            known = [rival[index] for rival in rivals]
            if any(bound is None for bound in known):
                found.append(None)
            else:
                best = max if tier.sense is ObjectiveSense.MAXIMISE else min
                found.append(best(bound for bound in known if bound is not None))
            # A question that cannot be as good up to here is no rival in later tiers.
            rivals = [
                rival
                for rival, bound in zip(rivals, known, strict=True)
                if bound is None or not tier.better(value, bound)
            ]
        return found

    def _choices(self) -> Iterator[Leavers]:
        """Yield the choices that could leave within the budget of moves, small ones first."""
        misplaced = self.movable.misplaced
        every = (
            choice
            for number in range(1, min(self.instance.move_budget, len(misplaced)) + 1)
            for choice in combinations(range(len(misplaced)), number)
        )
        for choice in islice(every, MOST_TRIED):
            if _moves_of([misplaced[i] for i in choice]) <= self.instance.move_budget:
                yield choice

    def _try(
        self,
        leaving: tuple[MisfitsLeavingTogether, ...],
        limits: tuple[int | None, ...],
        budget: SolveBudget,
    ) -> bool:
        """Ask the question in which the given ones leave; return whether its answer is best."""
        asked = movable_instance(self.instance, self.movable, leaving)
        baseline = starting_accounts_of(asked)
        problem = build_problem(asked, baseline.accounts)
        start, possible = self._start(asked, baseline, problem, leaving, budget)
        if start is None:
            if possible:
                self.others.append(limits)
            return False
        bounds = list(limits)
        found = JointSearch(
            asked, baseline, problem, start, bounds, TierBoundOrigins.of_limits(bounds)
        )
        found.run(budget, self.tell, whole=self.whole)
        self.rejected += found.rejected
        # A pod that leaves may have come back to where it was. Then it is not gone, and the
        # question in which it stays has as good an answer.
        truly = with_movable_pods_as_waiting(
            self.instance, breaches_of_complete_placement, found.best.placement
        )
        is_best = truly.gone == asked.gone and found.best.better_than(self.best.best)
        if is_best:
            found, self.best = self.best, found
        self.others.append(tuple(found.bounds))
        return is_best

    def _start(
        self,
        asked: Instance,
        baseline: StartingAccounts,
        problem: Problem,
        leaving: tuple[MisfitsLeavingTogether, ...],
        budget: SolveBudget,
    ) -> tuple[ValidPlacement | None, bool]:
        """Return a placement with places for all that leave, or None, and whether one may exist."""
        placement = self._first_of_all(leaving)
        if placement is not None:
            complete = with_unplaced_at_home(asked, placement)
            if not breaches(asked, complete, baseline.nodes_before):
                return judged_placement(asked, baseline, complete), True
        if not self.whole and assignment_count(problem) > MOST_ASSIGNMENTS:
            return None, True
        model = build_batch_model(problem, tiers=1, stop=lambda: budget.over)
        if model is None:
            return None, True
        tier = problem.tiers[0]
        found = optimise_expression(model.model, model.tiers[0], tier.sense, budget, budget.left)
        if found.solution is None:
            return None, not found.infeasible
        choices = read_solved_choices(problem, model.variables, found.solution.value)
        return judge_and_note_rejected(self.rejected, asked, baseline, problem, choices), True

    def _first_of_all(self, leaving: tuple[MisfitsLeavingTogether, ...]) -> Placement | None:
        """Return the greedy placement that places those first and moves no other pod.

        Return None if one of those has no place in it.
        """
        keys = frozenset[tuple[str, str]]().union(*(one.pods for one in leaving))
        asked = with_homes(self.instance, keys, keys)
        first = 1 + max(gang.priority for gang in asked.gangs)
        gangs = tuple(
            replace(gang, priority=first, weight=1)
            if any(pod.key in keys for pod in gang.pods)
            else gang
            for gang in asked.gangs
        )
        asked = replace(asked, gangs=gangs, homes=(), gone=frozenset())
        baseline = starting_accounts_of(asked)
        problem = build_problem(asked, baseline.accounts, each_core=True)
        placement = realise_choices(asked, baseline.accounts, problem, place_greedily(problem))
        if isinstance(placement, NodeIdAssignmentFailure):
            return None
        return placement if keys <= {place.key for place in placement.pods} else None


def _moves_of(leaving: Iterable[MisfitsLeavingTogether]) -> int:
    """Return the least number of moves that it takes for those to leave."""
    return sum(max(1, len(one.leaving)) for one in leaving)


def _could_beat(tiers: Sequence[Tier], limits: Bounds, values: Sequence[int]) -> bool:
    """Return whether values as good as the limits would be no worse than the given values."""
    for tier, limit, value in zip(tiers, limits, values, strict=True):
        if limit is None or tier.better(limit, value):
            return True
        if tier.better(value, limit):
            return False
    return True
