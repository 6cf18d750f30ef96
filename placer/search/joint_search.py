"""The joint search: from a judged placement to a better one, with bounds (G2, G3).

There are three ways, by size. A small batch is one model for all tiers. In a larger one the tiers
before the links are one model without links, and the later tiers are improved part by
part. In a fleet even tier 1 is only bounded as a whole, and improved part by part.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from placer.counting.placements import choices_from_placement
from placer.counting.pools import placement_with_pool_cpus
from placer.judge.measure import Worth, measure
from placer.search.baseline import StartingAccounts
from placer.search.bound_notes import Bounds, TierBoundOrigins
from placer.search.budget import SolveBudget
from placer.search.coarse import (
    links_matter,
    refine_coarse_choices,
    without_links,
    without_locality,
    without_share_preferences,
)
from placer.search.equal_pods import best_split_of_equal_pods
from placer.search.exact import MOST_ASSIGNMENTS, Progress, assignment_count, search_exactly
from placer.search.exchanges.lots import exchange_lots_of
from placer.search.exchanges.placed import place_by_exchanges
from placer.search.first_tier_bounds import (
    bound_first_tiers,
    note_tier_bottlenecks,
    relaxed_tier_count,
)
from placer.search.judged import (
    RejectedPlacement,
    ValidPlacement,
    check_tier_values_against_judge,
    judge_placement,
    realise_and_judge,
)
from placer.search.neighbourhoods import NeighbourhoodSearch
from placer.search.opened import open_fewest_nodes
from placer.search.patterns.placed import place_by_patterns
from placer.search.plain_pods import plain_choice_on
from placer.search.rejected import judge_and_note_rejected, note_rejected_places
from placer.search.relaxed_moves import suggest_moves_by_relaxation
from placer.search.sums_bound import bound_by_sums
from placer.search.ways import Way, search_in_turns
from placer_models.cluster import Instance
from placer_models.cpsat.families import takes_plain_amounts
from placer_models.cpsat.tier_limits import number_of_modelled_tiers
from placer_models.goals import (
    DEFAULT_LOCALITY,
    DEVICE_CHOICE,
    NOT_MODELLED,
    OPENED,
    TIERS_OF,
    USABLE,
    ObjectiveSense,
    Tier,
)
from placer_models.placement import Placement, PlaceRejectedByJudge, TierBoundSource
from placer_models.problem.problem import Choices, Problem

MOST_LINKED_ASSIGNMENTS = 400
"""The same for all tiers: GPU sets make the model much larger."""

FEW_ASSIGNMENTS = 40
"""(unit, node) pairs up to which one model is quicker than two, without links and with them."""

SHARE_OF_REST = 0.5
"""The share of the time for the whole model, then for parts, where other ways have more turns."""

SHARE_OF_BOUND = 0.1
"""The share of the time for bounding again, after parts that had pods move."""

TELL_APART = (*DEFAULT_LOCALITY, DEVICE_CHOICE)
"""Tiers for which pods stand one by one, though they are counted together before."""


@dataclass(slots=True)
class JointSearch:
    """A search and where it stands: `best` only ever gets better, run after run.

    Attributes:
        instance: The question.
        baseline: Its nodes before anything is placed.
        problem: The instance in integers.
        best: The best placement so far.
        bounds: One per tier, true as long as the tiers before it stay as `best` has them.
        known: Where the bounds come from, and what binds.
        rejected: Places that were found, and that the judge rejected.
        budget: What the run may spend.
        tell: Told in a few words what is done next.
        whole: Whether the whole batch is modelled, however large.
        plain: The Problem without default locality and device choices: it can count more
            pods together.
        told_apart: (unit, node) pairs of the Problem.
        counted: (unit, node) pairs of the plain one.
        linked: Whether some pod wants several GPUs of a board that has links.
        modelled: How many tiers one model states.
        has_patterns: Whether more may be found by patterns of whole nodes.
        parts_are_done: Whether many parts were tried last, and none of them was better.
        has_lots: Whether there are pods whose gangs ask for nothing that other pods decide.
        round: How often all ways of searching have been gone through in the run.

    """

    instance: Instance
    baseline: StartingAccounts
    problem: Problem
    best: ValidPlacement
    bounds: Bounds
    known: TierBoundOrigins
    rejected: list[PlaceRejectedByJudge] = field(default_factory=list)
    budget: SolveBudget = field(init=False)
    tell: Progress = field(init=False)
    round: int = field(init=False)
    has_patterns: bool = field(init=False)
    parts_are_done: bool = field(init=False, default=False)
    whole: bool = field(init=False)
    plain: Problem = field(init=False)
    told_apart: int = field(init=False)
    counted: int = field(init=False)
    linked: bool = field(init=False)
    modelled: int = field(init=False)
    has_lots: bool = field(init=False)

    def run(self, budget: SolveBudget, tell: Progress, *, whole: bool) -> None:
        """Improve the placement and the bounds until all is proven or the time is over.

        Args:
            budget: What may be spent.
            tell: Told in a few words what is done next.
            whole: Model the whole batch, however large.

        """
        if budget.over:
            return
        self.budget, self.tell, self.whole = budget, tell, whole
        self.round, self.has_patterns = 0, True
        self.plain = without_share_preferences(without_locality(self.problem))
        self.counted = assignment_count(self.plain)
        self.told_apart = assignment_count(self.problem)
        self.linked = links_matter(self.problem)
        self.modelled = number_of_modelled_tiers(self.problem)
        self.has_lots = bool(exchange_lots_of(self.problem, {}))
        search_in_turns(WAYS, self)
        self.known.note(self.bounds, TierBoundSource.MODEL)

    @property
    def is_settled(self) -> bool:
        """Whether every tier is proven, or only parts could help, and none of them did."""
        left = self.problem.tiers[self._settled() :]
        return not left or (self.parts_are_done and NOT_MODELLED.issuperset(left))

    @property
    def standing(self) -> tuple[Worth, tuple[int | None, ...]]:
        """The best so far and its bounds."""
        return self.best.worth, tuple(self.bounds)

    @property
    def most(self) -> int:
        """The most assignments that are told apart in one model."""
        if self.whole:
            return max(self.counted, self.told_apart)
        return MOST_LINKED_ASSIGNMENTS if self.linked else MOST_ASSIGNMENTS

    @property
    def is_one_model(self) -> bool:
        """Whether one model states tiers that look at links, too."""
        return self.modelled > self.problem.before_links and self.counted <= self.most

    @property
    def has_coarse_model(self) -> bool:
        """Whether tiers before the links are open, and have a model of their own."""
        count = self.problem.before_links
        apart = self.modelled == count or (self.linked and self.counted > FEW_ASSIGNMENTS)
        small = self.whole or self.counted <= MOST_ASSIGNMENTS
        # Later turns are for the whole model, if there is one.
        again = self.round > 0 and self.is_one_model
        return apart and small and not again and self._settled() < count

    @property
    def has_parts(self) -> bool:
        """Whether parts may say what the whole cannot, or have not had their turn yet."""
        beyond = self.modelled < len(self.bounds) and USABLE not in self.problem.tiers
        return self.round > 0 or beyond or not self.is_one_model

    @property
    def share_of_rest(self) -> float:
        """The share of the time for models and parts: all, where no other way has more turns."""
        return SHARE_OF_REST if self.budget.timed and self.may_exchange else 1.0

    @property
    def may_need_room(self) -> bool:
        """Whether pods that may move are in the way, and there are too many for one model."""
        return bool(self.problem.homes) and self.counted > MOST_LINKED_ASSIGNMENTS

    @property
    def may_exchange(self) -> bool:
        """Whether tier 1 is open, and pods may be exchanged between nodes for its sake."""
        return self.has_lots and self.is_first_tier_open

    @property
    def is_first_tier_open(self) -> bool:
        """Whether some level of tier 1 is not proven."""
        return self._settled() < len(self.problem.priorities)

    def bound_last(self) -> None:
        """Bound the strategy's tiers by what nodes are worth without pods: placing takes away.

        If all pods that wait are alike and have places, bound them by the best way to part
        the pods, and try that way.
        """
        with self.known.by(self.bounds, TierBoundSource.NODES):
            self._bound_by_nodes()

    def _bound_by_nodes(self) -> None:
        own = TIERS_OF[self.instance.strategy]
        bare = measure(self.instance, Placement(), self.baseline.nodes_before)[-len(own) :]
        if own == (USABLE,) and self.bounds[-1] is None:
            self.bounds[-1] = bare[0][1]
        levels = len(self.problem.priorities)
        if list(self.best.values[:levels]) != self.bounds[:levels]:
            return
        parted = best_split_of_equal_pods(self.problem, own, lambda: self.budget.over)
        if parted is None:
            return
        shape = self.problem.pods[0]
        if takes_plain_amounts(self.problem, shape) and self.best.values[-1] != self.bounds[-1]:
            places = enumerate(parted.nodes)
            self._propose({pod: plain_choice_on(self.problem, node) for pod, node in places})
        for i, ((tier, value), cost) in enumerate(zip(bare, parted.costs, strict=True), -len(own)):
            self.bounds[i] = value + cost if tier.sense is ObjectiveSense.MINIMISE else value - cost
            if self.best.values[i] != self.bounds[i]:
                break  # the next tier's bound needs the best value of this one

    def solve_before_links(self) -> None:
        """Solve the tiers that do not look at links, in a model without them."""
        count = self.problem.before_links
        coarse = without_links(self.problem)
        start, values = self._best_in(coarse), self.best.values[:count]
        found = search_exactly(coarse, start, values, self.budget, self.tell, self.bounds[:count])
        self.bounds[:count] = found.bounds
        if found.solution is not None:
            refined = refine_coarse_choices(self.problem, coarse, found.solution)
            self._take_found(self.problem, refined, found.values)

    def solve_as_one(self) -> None:
        """Solve tiers as one model, after one that tells fewer pods apart where there is one."""
        tiers = self.modelled
        if self.plain is not self.problem and self.told_apart > min(self.counted, FEW_ASSIGNMENTS):
            self._counted_together(tiers)
            self._node_by_node()
        if self._settled() < tiers and self.told_apart <= self.most:
            self._first(tiers)
        elif self._settled() < tiers:
            self.improve_parts()

    def _counted_together(self, tiers: int) -> None:
        """Solve tiers without those that tell pods apart, which also bounds the last tier.

        Tiers that tell pods apart count as perfect in that model, whatever they are in truth and
        whatever is proven of them.
        """
        if self.budget.over:
            return
        apart = [i for i, (tier, _) in enumerate(self.best.worth) if tier in TELL_APART]
        before = min(apart, default=tiers)
        limits = [None if i in apart else bound for i, bound in enumerate(self.bounds)]
        values = [0 if tier in TELL_APART else value for tier, value in self.best.worth[:tiers]]
        start = self._best_in(self.plain)
        settled = min(self._settled(), before)
        found = search_exactly(
            self.plain, start, values, self.budget, self.tell, limits, settled, kept=1
        )
        old = self.bounds
        self.bounds[:tiers] = [old[i] if i in apart else b for i, b in enumerate(found.bounds)]
        if found.solution is not None:
            self._take_found(self.plain, found.solution, found.values[:before])

    def _node_by_node(self) -> None:
        """Lay the pods anew, node by node: often that brings all as near as they can be.

        Mostly the greedy path gets there, in a tenth of the time that a model takes.
        """
        if self.budget.over:
            return
        search = self._parts(self.budget)
        self.tell("laying pods anew, node by node")
        for node in sorted({place.node for place in self.best.placement.pods}):
            if self.budget.over or not _far(zip(search.tiers, search.values, strict=True)):
                break
            if _far(search.lay_anew(node)):
                search.solve_part({node}, [])
        self._take(search)

    def _first(self, tiers: int) -> None:
        """Solve what is not proven yet of the first ``tiers`` tiers in one model."""
        if self.budget.over:
            return
        start, values = self._best_in(self.problem), self.best.values[:tiers]
        found = search_exactly(
            self.problem, start, values, self.budget, self.tell, self.bounds, self._settled()
        )
        self.bounds[:tiers] = found.bounds
        if found.solution is not None:
            self._take_found(self.problem, found.solution, found.values)

    def _take_found(self, problem: Problem, choices: Choices, claimed: Sequence[int]) -> None:
        """Take over what a model claims to be worth so much, if the judge lets it pass."""
        found = judge_and_note_rejected(
            self.rejected, self.instance, self.baseline, problem, choices
        )
        if found is None:
            return
        check_tier_values_against_judge(found, claimed)
        if found.better_than(self.best):
            self.best = found

    def _settled(self) -> int:
        """Return how many leading tiers are proven."""
        for index, (value, bound) in enumerate(zip(self.best.values, self.bounds, strict=True)):
            if value != bound:
                return index
        return len(self.bounds)

    def bound_sums(self) -> None:
        """Bound tier 1 by sums over all nodes, before anything that takes longer."""
        levels = len(self.problem.priorities)
        found = bound_by_sums(self.problem, self.best.values, self.bounds, self.budget)
        with self.known.by(self.bounds, TierBoundSource.SUMS):
            self.bounds[:levels] = found.bounds
        self.known.bind(TierBoundSource.SUMS, found.binds)

    def bound_relaxed(self) -> None:
        """Bound the first tiers by the relaxed model, which says what no placement can reach."""
        count = relaxed_tier_count(self.problem)
        if self.budget.over or list(self.best.values[:count]) == self.bounds[:count]:
            return
        self.tell("bounding tier 1")
        # These stay true when earlier levels improve: then fewer placements are as good.
        with self.known.by(self.bounds, TierBoundSource.RELAXED_MODEL):
            self.bounds[:count] = bound_first_tiers(
                self.problem, self.best.values, self.bounds, self.budget
            )
        note_tier_bottlenecks(self.known, self.problem, self.best.values, self.bounds, self.budget)

    def open_fewer(self) -> None:
        """Open fewer nodes by patterns of full ones, and bound how many are needed."""
        levels = len(self.problem.priorities)
        if self.best.values[levels] == self.bounds[levels]:
            return
        self.tell("filling nodes by patterns")
        start = self._best_in(self.problem)
        found = open_fewest_nodes(self.problem, start, self.budget)
        if found is None:
            return
        if len(start) == len(self.problem.pods):
            with self.known.by(self.bounds, TierBoundSource.PATTERNS):
                self.bounds[levels] = max(self.bounds[levels] or 0, found.bound)
        self._propose(found.choices)

    def fill_by_patterns(self) -> None:
        """Place more pods of tier 1 by patterns, where nodes hold few pods, and bound it."""
        levels = len(self.problem.priorities)
        start, bounds = self._best_in(self.problem), self.bounds[:levels]
        found = place_by_patterns(
            self.problem, start, self.best.values, bounds, self.budget, self._seed
        )
        with self.known.by(self.bounds, TierBoundSource.PATTERNS):
            if found.choices is None or self._propose(found.choices):
                upto = levels
            else:
                # Bounds of later levels look at what was proposed for the first open one.
                upto = self._settled() + 1
            self.bounds[:upto] = found.bounds[:upto]
        self.known.bind(TierBoundSource.PATTERNS, found.binds[:upto])
        self.has_patterns = found.is_open

    def exchange(self) -> None:
        """Place more pods of tier 1 by exchanges between nodes."""
        self.tell("exchanging pods between nodes")
        levels = len(self.problem.priorities)
        start, bounds = self._best_in(self.problem), self.bounds[:levels]
        values = self.best.values[:levels]
        found = place_by_exchanges(self.problem, start, values, bounds, self.budget, self._seed)
        if found is not None:
            self._propose(found)

    @property
    def _seed(self) -> int:
        return self.budget.options.seed + self.round

    def _best_in(self, problem: Problem) -> Choices:
        """Return the places of the best so far in the counts of a problem."""
        return choices_from_placement(
            self.instance, self.baseline.accounts, problem, self.best.placement
        )

    def _propose(self, choices: Choices) -> bool:
        """Take over choices that know amounts only, if they break no other rule and are better.

        Return whether they are taken.
        """
        found = realise_and_judge(self.instance, self.baseline, self.problem, choices)
        if not isinstance(found, ValidPlacement) or not found.better_than(self.best):
            return False
        self.best = found
        return True

    def make_room(self) -> None:
        """Move pods out of the way as the relaxed model proposes, while that helps."""
        self.tell("looking for who is in the way")
        search = self._parts(self.budget)
        helps = True
        while helps and not self.budget.over:
            proposing = self.budget.part(self.budget.slice(2))
            parts = suggest_moves_by_relaxation(self.instance, search.placement, proposing)
            self.budget.spend(proposing)
            helps = search.follow(parts, self.tell)
        self._take(search)

    def improve_parts(self) -> None:
        """Improve a few nodes at a time, then bound again the tiers whose bounds depend on that."""
        if self.budget.over:
            return
        open_moves = bool(self.problem.homes) and self._settled() < relaxed_tier_count(self.problem)
        share = 1 - SHARE_OF_BOUND if open_moves else 1.0
        part = self.budget.part(share * self.budget.left)
        search, before = self._parts(part), self.best
        search.run(self.tell)
        self.budget.spend(part)
        self._take(search)
        self.parts_are_done = self.best is before and not part.over
        if open_moves:
            self.bound_relaxed()

    def _parts(self, budget: SolveBudget) -> NeighbourhoodSearch:
        return NeighbourhoodSearch(
            instance=self.instance,
            placement=self.best.placement,
            tiers=self.problem.tiers,
            values=list(self.best.values),
            limits=self.bounds,
            budget=budget,
            rng=random.Random(self._seed),
        )

    def _take(self, search: NeighbourhoodSearch) -> None:
        """Let the judge look at the result of a search part by part; keep it if it is better."""
        if search.placement is self.best.placement:
            return  # nothing was found
        placement = placement_with_pool_cpus(self.instance, search.placement)
        found = judge_placement(self.instance, self.baseline, placement)
        if isinstance(found, RejectedPlacement):
            note_rejected_places(self.rejected, self.instance, placement, found)
        elif found.better_than(self.best):
            self.best = found


def _far(worth: Iterable[tuple[Tier, int]]) -> bool:
    """Return whether some pod might still be nearer to what it has, as far as is proven."""
    return any(value for tier, value in worth if tier in TELL_APART)


WAYS: tuple[Way[JointSearch], ...] = (
    Way("sums", lambda s: s.is_first_tier_open, lambda s: 0.1, lambda s: s.bound_sums()),
    Way("alike", lambda s: True, lambda s: 1.0, lambda s: s.bound_last()),
    Way("room", lambda s: s.may_need_room, lambda s: 0.4, lambda s: s.make_room()),
    Way("relaxed", lambda s: True, lambda s: SHARE_OF_BOUND, lambda s: s.bound_relaxed()),
    Way("opened", lambda s: OPENED in s.problem.tiers, lambda s: 1.0, lambda s: s.open_fewer()),
    Way(
        "patterns",
        lambda s: s.may_exchange and s.has_patterns,
        lambda s: 0.4,
        lambda s: s.fill_by_patterns(),
        again=True,
    ),
    Way("exchanges", lambda s: s.may_exchange, lambda s: 0.6, lambda s: s.exchange(), again=True),
    Way(
        "before links",
        lambda s: s.has_coarse_model,
        lambda s: 0.6,
        lambda s: s.solve_before_links(),
        again=True,
    ),
    Way(
        "whole",
        lambda s: s.is_one_model,
        lambda s: s.share_of_rest,
        lambda s: s.solve_as_one(),
        again=True,
    ),
    Way(
        "parts", lambda s: s.has_parts, lambda s: s.share_of_rest, lambda s: s.improve_parts(), True
    ),
)
"""All ways of searching, in the order of their first turns: bounds before what they end."""
