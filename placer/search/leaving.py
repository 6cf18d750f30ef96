"""Leaving: which running pods in breach of a rule move away (G5).

Who stays in breach runs, and nobody is blamed; who leaves is placed anew. So each choice of
pods that leave is a question of its own, and the best of their answers is the answer. Those in
which more pods leave are not better unless they place more, open fewer nodes or spare moves.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from math import comb

from placer.counting.placements import Unrealisable, realise
from placer.greedy.place import place_greedily
from placer.judge.breaches import blamed, breaches
from placer.search.budget import Budget
from placer.search.cp import optimise
from placer.search.exact import limits_of
from placer.search.ground import Ground, ground_of
from placer.search.joint_search import MOST_ASSIGNMENTS, Bounds, JointSearch, assignments_of
from placer.search.judged import Judged, judged, realised
from placer.search.tiers import Progress
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.cpsat.batch_model import build_batch_model
from placer_models.cpsat.places import choices_of
from placer_models.goals import MOVES, Sense, Tier
from placer_models.movable import Misplaced, Movable
from placer_models.moves import (
    complete_with_current,
    question,
    with_homes,
    with_movable_pods,
)
from placer_models.placement import Placement
from placer_models.problem import Problem
from placer_models.records import record

SHARE_OF_STAYING = 0.5
"""Of the time: for the question in which nobody in breach leaves, where some could."""

Leavers = tuple[int, ...]
"""Positions of misplaced pods or gangs that leave, ascending."""

MOST_TRIED = 10_000
"""Choices of pods that leave beyond which no more are thought of."""


@record(frozen=True, slots=True)
class Searched:
    """One question, and how far it has been answered."""

    asked: Instance
    ground: Ground
    problem: Problem
    best: Judged
    bounds: Bounds

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to prove."""
        return list(self.best.values) == self.bounds


def joint_search(found: Searched, budget: Budget, tell: Progress, *, whole: bool) -> Searched:
    """Go on with a question from where it stands."""
    search = JointSearch(
        instance=found.asked,
        ground=found.ground,
        problem=found.problem,
        budget=budget,
        tell=tell,
        best=found.best,
        bounds=list(found.bounds),
    )
    search.run(whole=whole)
    return replace(found, best=search.best, bounds=search.bounds)


@dataclass(slots=True)
class Leaving:
    """Asks one question after the other, and keeps the best answer.

    Attributes:
        best: Of the questions so far; first that in which nobody leaves.
        others: Per question that is not the best one's the bounds of its answers.
        chosen: Who leaves in the best, by their positions among the misplaced.

    """

    instance: Instance
    movable: Movable
    budget: Budget
    tell: Progress
    whole: bool
    best: Searched
    others: list[Sequence[int | None]] = field(default_factory=list)
    chosen: Leavers = ()

    def run(self) -> None:
        """Try who could leave until it is clear who has to.

        Few pods come first, but those with whom the best so far could leave before all others.
        A question that is begun is counted, and placed greedily, before its time is looked at.
        """
        tiers = [tier for tier, _ in self.best.best.worth]
        limits = limits_of(self.best.problem)
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
        """Return the next choice to try: one more that leaves with those of the best, or any."""
        misplaced = self.movable.misplaced
        for i in range(len(misplaced)):
            choice = tuple(sorted({*self.chosen, i}))
            within = _moves_of([misplaced[j] for j in choice]) <= self.instance.move_budget
            if i not in self.chosen and within and choice not in tried:
                return choice
        return next(iter(open_choices), None)

    def bounds(self) -> Bounds:
        """Return what no answer can beat, whoever leaves."""
        found: Bounds = []
        rivals = [self.best.bounds, *self.others]
        for index, (tier, value) in enumerate(self.best.best.worth):
            known = [rival[index] for rival in rivals]
            if any(bound is None for bound in known):
                found.append(None)
            else:
                best = max if tier.sense is Sense.MAXIMISE else min
                found.append(best(bound for bound in known if bound is not None))
            # Who cannot be as good up to here is no rival in what comes after.
            rivals = [
                rival
                for rival, bound in zip(rivals, known, strict=True)
                if bound is None or not tier.better(value, bound)
            ]
        return found

    def _choices(self) -> Iterator[Leavers]:
        """Yield who could leave together within the budget of moves, few first."""
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
        self, leaving: tuple[Misplaced, ...], limits: tuple[int | None, ...], budget: Budget
    ) -> bool:
        """Ask the question in which those leave; return whether its answer is the best now."""
        asked = question(self.instance, self.movable, leaving)
        ground = ground_of(asked)
        problem = build_problem(asked, ground.accounts)
        start, possible = self._start(asked, ground, problem, leaving, budget)
        if start is None:
            if possible:
                self.others.append(limits)
            return False
        found = joint_search(
            Searched(asked, ground, problem, start, list(limits)),
            budget,
            self.tell,
            whole=self.whole,
        )
        # Who leaves may have come back to where it was: then it is not gone, and the question
        # in which it stays has as good an answer.
        truly = with_movable_pods(self.instance, blamed, found.best.placement)
        is_best = truly.gone == asked.gone and found.best.better_than(self.best.best)
        if is_best:
            found, self.best = self.best, found
        self.others.append(tuple(found.bounds))
        return is_best

    def _start(
        self,
        asked: Instance,
        ground: Ground,
        problem: Problem,
        leaving: tuple[Misplaced, ...],
        budget: Budget,
    ) -> tuple[Judged | None, bool]:
        """Return some placement in which those who leave have a place, or whether there may be."""
        placement = self._first_of_all(leaving)
        if placement is not None:
            complete = complete_with_current(asked, placement)
            if not breaches(asked, complete, ground.standing):
                return judged(asked, ground, complete), True
        if not self.whole and assignments_of(problem) > MOST_ASSIGNMENTS:
            return None, True
        model = build_batch_model(problem, tiers=1, stop=lambda: budget.over)
        if model is None:
            return None, True
        tier = problem.tiers[0]
        found = optimise(model.model, model.tiers[0], tier.sense, budget, budget.left)
        if found.solution is None:
            return None, not found.infeasible
        choices = choices_of(problem, model.variables, found.solution.value)
        return realised(asked, ground, problem, choices), True

    def _first_of_all(self, leaving: tuple[Misplaced, ...]) -> Placement | None:
        """Return what greedy makes of it if it places those first, and moves nobody else."""
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
        ground = ground_of(asked)
        problem = build_problem(asked, ground.accounts, each_core=True)
        placement = realise(asked, ground.accounts, problem, place_greedily(problem))
        if isinstance(placement, Unrealisable):
            return None
        return placement if keys <= {place.key for place in placement.pods} else None


def _moves_of(leaving: Iterable[Misplaced]) -> int:
    """Return how many moves it takes at least that those leave."""
    return sum(max(1, len(one.leaving)) for one in leaving)


def _could_beat(tiers: Sequence[Tier], limits: Bounds, values: Sequence[int]) -> bool:
    """Return whether values as good as the limits would not be worse than those."""
    for tier, limit, value in zip(tiers, limits, values, strict=True):
        if limit is None or tier.better(limit, value):
            return True
        if tier.better(value, limit):
            return False
    return True
