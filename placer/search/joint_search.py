"""The joint search: from a judged placement to a better one, with bounds (G2, G3).

There are three ways, by size. A small batch is one model for all tiers. In a larger one the tiers
before the links are one model without links, and the later tiers are improved part by
part. In a fleet even tier 1 is only bounded as a whole, and improved part by part.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from placer.counting.placements import recount
from placer.counting.pools import with_pools
from placer.judge.measure import measure
from placer.search.alike import part
from placer.search.assignments import assignments_of
from placer.search.baseline import Baseline
from placer.search.budget import Budget
from placer.search.coarse import links_matter, refine, without_links
from placer.search.default_locality import without_choices, without_locality
from placer.search.exact import search_exactly
from placer.search.exchanges.placed import place_most
from placer.search.first_tier_bounds import bound_first_tiers, bounded_tiers
from placer.search.judged import Judged, Rejected, check_claim, in_ids, look_at
from placer.search.neighbourhoods import Neighbourhoods
from placer.search.opened import open_fewest
from placer.search.patterns.placed import place_by_patterns
from placer.search.plain import place_on
from placer.search.rejected import note_choices, note_placement
from placer.search.relaxed_moves import relaxed_moves
from placer.search.sums_bound import bound_by_sums
from placer.search.tiers import Progress
from placer_models.cluster import Instance
from placer_models.cpsat.families import is_plain
from placer_models.cpsat.tier_limits import modelled_tiers
from placer_models.goals import (
    DEFAULT_LOCALITY,
    DEVICE_CHOICE,
    OPENED,
    TIERS_OF,
    USABLE,
    Sense,
    Tier,
)
from placer_models.placement import Placement, RejectedPlace
from placer_models.problem import Choices, Problem

MOST_ASSIGNMENTS = 4_000
"""(unit, node) pairs up to which the tiers before the links are one model."""

MOST_LINKED_ASSIGNMENTS = 400
"""The same for all tiers: GPU sets make the model much larger."""

FEW_ASSIGNMENTS = 40
"""(unit, node) pairs up to which one model is quicker than two, without links and with them."""

SHARE_BEFORE_LINKS = 0.6
"""The share of the time for the model without links, if a search part by part follows."""

SHARE_OF_BOUND = 0.1
"""The share of the time for bounding the first tiers by the relaxed model."""

SHARE_OF_EXCHANGES = 0.6
"""The share of the time for exchanges of pods between nodes."""

SHARE_OF_PATTERNS = 0.4
"""The share of the time for patterns of nodes that hold few pods."""

SHARE_OF_PARTS = 0.5
"""The share of the time for a search part by part, if other ways have a turn after it."""

SHARE_OF_ROOM = 0.4
"""The share of the time for parts in which the relaxed model finds room by moves."""

TELL_APART = (*DEFAULT_LOCALITY, DEVICE_CHOICE)
"""Tiers for which pods stand one by one, though they are counted together before."""

Bounds = list[int | None]
"""One bound per tier, None where none is known."""


@dataclass(slots=True)
class JointSearch:
    """A search and where it stands: `best` only ever gets better.

    Attributes:
        baseline: Its nodes before anything is placed.
        problem: The instance in integers.
        plain: The Problem without default locality and device choices: it can count more
            pods together.
        told_apart: (unit, node) pairs of the Problem.
        counted: (unit, node) pairs of the plain one.
        bounds: One per tier, true as long as the tiers before it stay as `best` has them.
        round: How often all ways of searching have been gone through.
        rejected: Places that were found, and that the judge rejected.

    """

    instance: Instance
    baseline: Baseline
    problem: Problem
    budget: Budget
    tell: Progress
    best: Judged
    bounds: Bounds
    round: int = 0
    rejected: list[RejectedPlace] = field(default_factory=list)
    plain: Problem = field(init=False)
    told_apart: int = field(init=False)
    counted: int = field(init=False)

    def run(self, *, whole: bool) -> None:
        """Improve the placement and the bounds until all is proven or the time is over.

        Args:
            whole: Model the whole batch, however large.

        """
        if self.budget.over:
            return
        self.plain = without_choices(without_locality(self.problem))
        self.counted = assignments_of(self.plain)
        self.told_apart = (
            self.counted if self.plain is self.problem else assignments_of(self.problem)
        )
        linked = links_matter(self.problem)
        tiers = modelled_tiers(self.problem)
        count = self.problem.before_links
        most = MOST_LINKED_ASSIGNMENTS if linked else MOST_ASSIGNMENTS
        one_model = tiers > count and (whole or self.counted <= most)
        self._bound_by_sums()
        self._bound_last()
        if self._settled() == len(self.bounds):
            return
        if self.problem.homes and self.counted > MOST_LINKED_ASSIGNMENTS:
            self._make_room()
        self._bound()
        self._pack()
        self._fill_by_patterns()
        self._exchange(SHARE_OF_EXCHANGES)
        apart = tiers == count or (linked and self.counted > FEW_ASSIGNMENTS)
        if apart and (whole or self.counted <= MOST_ASSIGNMENTS) and self._settled() < count:
            self._before_links(1.0 if one_model else SHARE_BEFORE_LINKS)
        if one_model:
            self._as_one(tiers, most, whole=whole)
        if not one_model or (tiers < len(self.bounds) and USABLE not in self.problem.tiers):
            # Parts may be small enough to say what the whole cannot.
            self._by_parts(1.0)
        while self.budget.timed and not self.budget.over and self._settled() < len(self.bounds):
            # Time that one way of searching did not need is there for all of them once more.
            self.round += 1
            self._exchange(SHARE_OF_EXCHANGES)
            if one_model:
                self._as_one(tiers, most, whole=whole)
            elif apart and self.counted <= MOST_ASSIGNMENTS and self._settled() < count:
                self._before_links(SHARE_BEFORE_LINKS)
            self._by_parts(SHARE_OF_PARTS)

    def _bound_last(self) -> None:
        """Bound the strategy's tiers by what nodes are worth without pods: placing takes away.

        If all pods that wait are alike and have places, bound them by the best way to part
        the pods, and try that way.
        """
        own = TIERS_OF[self.instance.strategy]
        bare = measure(self.instance, Placement(), self.baseline.nodes_before)[-len(own) :]
        if own == (USABLE,) and self.bounds[-1] is None:
            self.bounds[-1] = bare[0][1]
        levels = len(self.problem.priorities)
        if list(self.best.values[:levels]) != self.bounds[:levels]:
            return
        parted = part(self.problem, own, lambda: self.budget.over)
        if parted is None:
            return
        thing = self.problem.pods[0]
        if is_plain(self.problem, thing) and self.best.values[-1] != self.bounds[-1]:
            places = enumerate(parted.nodes)
            self._propose({pod: place_on(self.problem, node) for pod, node in places})
        for i, ((tier, value), cost) in enumerate(zip(bare, parted.costs, strict=True), -len(own)):
            self.bounds[i] = value + cost if tier.sense is Sense.MINIMISE else value - cost
            if self.best.values[i] != self.bounds[i]:
                break  # the next tier's bound needs the best value of this one

    def _before_links(self, share: float) -> None:
        """Solve the tiers that do not look at links, in a model without them."""
        if self.budget.over:
            return
        count = self.problem.before_links
        coarse = without_links(self.problem)
        part = self.budget.part(share * self.budget.left)
        found = search_exactly(
            coarse,
            recount(self.instance, self.baseline.accounts, coarse, self.best.placement),
            self.best.values[:count],
            part,
            self.tell,
            self.bounds[:count],
        )
        self.budget.spend(part)
        self.bounds[:count] = found.bounds
        if found.choices is not None:
            refined = refine(self.problem, coarse, found.choices)
            self._take_found(self.problem, refined, found.values)

    def _as_one(self, tiers: int, most: int, *, whole: bool) -> None:
        """Solve tiers as one model, after one that tells fewer pods apart if there is such a model.

        Args:
            tiers: How many tiers, from the first on.
            most: Assignments up to which pods are told apart for the sake of default locality.
            whole: Tell them apart however many assignments that makes.

        """
        if self.plain is not self.problem and self.told_apart > min(self.counted, FEW_ASSIGNMENTS):
            self._counted_together(tiers)
            self._node_by_node()
        if self._settled() < tiers and (whole or self.told_apart <= most):
            self._first(tiers)
        elif self._settled() < tiers:
            self._by_parts(1.0)

    def _counted_together(self, tiers: int) -> None:
        """Solve tiers without those that tell pods apart, which also bounds the last tier.

        Tiers that tell pods apart count as perfect in that model, whatever they are in truth.
        """
        if self.budget.over:
            return
        apart = [i for i, (tier, _) in enumerate(self.best.worth) if tier in TELL_APART]
        before = min(apart, default=tiers)
        values = [0 if tier in TELL_APART else value for tier, value in self.best.worth[:tiers]]
        found = search_exactly(
            self.plain,
            recount(self.instance, self.baseline.accounts, self.plain, self.best.placement),
            values,
            self.budget,
            self.tell,
            self.bounds,
            min(self._settled(), before),
            kept=1,
        )
        self.bounds[:tiers] = found.bounds
        if found.choices is not None:
            self._take_found(self.plain, found.choices, found.values[:before])

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
        found = search_exactly(
            self.problem,
            recount(self.instance, self.baseline.accounts, self.problem, self.best.placement),
            self.best.values[:tiers],
            self.budget,
            self.tell,
            self.bounds,
            self._settled(),
        )
        self.bounds[:tiers] = found.bounds
        if found.choices is not None:
            self._take_found(self.problem, found.choices, found.values)

    def _take_found(self, problem: Problem, choices: Choices, claimed: Sequence[int]) -> None:
        """Take over what a model claims to be worth so much, if the judge lets it pass."""
        found = in_ids(self.instance, self.baseline, problem, choices)
        if isinstance(found, Rejected):
            known = self.instance, self.baseline, problem, choices
            note_choices(self.rejected, *known, found)
            return
        check_claim(found, claimed)
        if found.better_than(self.best):
            self.best = found

    def _settled(self) -> int:
        """Return how many leading tiers are proven."""
        for index, (value, bound) in enumerate(zip(self.best.values, self.bounds, strict=True)):
            if value != bound:
                return index
        return len(self.bounds)

    def _bound_by_sums(self) -> None:
        """Bound tier 1 by sums over all nodes, before anything that takes longer."""
        levels = len(self.problem.priorities)
        if self.budget.over or list(self.best.values[:levels]) == self.bounds[:levels]:
            return
        part = self.budget.part(SHARE_OF_BOUND * self.budget.left)
        self.bounds[:levels] = bound_by_sums(self.problem, self.best.values, self.bounds, part)
        self.budget.spend(part)

    def _bound(self, share: float = SHARE_OF_BOUND) -> None:
        """Bound the first tiers by the relaxed model, which says what no placement can reach."""
        count = bounded_tiers(self.problem)
        if self.budget.over or list(self.best.values[:count]) == self.bounds[:count]:
            return
        self.tell("bounding tier 1")
        part = self.budget.part(share * self.budget.left)
        # These stay true when earlier levels improve: then fewer placements are as good.
        self.bounds[:count] = bound_first_tiers(self.problem, self.best.values, self.bounds, part)
        self.budget.spend(part)

    def _pack(self) -> None:
        """Open fewer nodes by patterns of full ones, and bound how many are needed."""
        levels = len(self.problem.priorities)
        if self.budget.over or OPENED not in self.problem.tiers:
            return
        if self.best.values[levels] == self.bounds[levels]:
            return
        self.tell("filling nodes by patterns")
        start = recount(self.instance, self.baseline.accounts, self.problem, self.best.placement)
        found = open_fewest(self.problem, start, self.budget)
        if found is None:
            return
        if len(start) == len(self.problem.pods):
            self.bounds[levels] = max(self.bounds[levels] or 0, found.bound)
        self._propose(found.choices)

    def _fill_by_patterns(self) -> None:
        """Place more pods of tier 1 by patterns, where nodes hold few pods, and bound it."""
        if self.budget.over:
            return
        part = self.budget.part(SHARE_OF_PATTERNS * self.budget.left)
        seed = self.budget.options.seed
        start = recount(self.instance, self.baseline.accounts, self.problem, self.best.placement)
        levels = len(self.problem.priorities)
        known = self.bounds[:levels]
        found = place_by_patterns(self.problem, start, self.best.values, known, part, seed)
        self.budget.spend(part)
        if found.choices is None or self._propose(found.choices):
            self.bounds[:levels] = found.bounds
        else:
            # Bounds of later levels look at what was proposed for the first open one.
            first = min(self._settled(), levels - 1)
            self.bounds[first] = found.bounds[first]

    def _exchange(self, share: float) -> None:
        """Place more pods that are plain sums, by exchanges between nodes."""
        levels = len(self.problem.priorities)
        if self.budget.over or self._settled() >= levels:
            return
        self.tell("exchanging pods between nodes")
        part = self.budget.part(share * self.budget.left)
        start = recount(self.instance, self.baseline.accounts, self.problem, self.best.placement)
        values, bounds = self.best.values[:levels], self.bounds[:levels]
        seed = self.budget.options.seed + self.round
        found = place_most(self.problem, start, values, bounds, part, seed)
        self.budget.spend(part)
        if found is not None:
            self._propose(found)

    def _propose(self, choices: Choices) -> bool:
        """Take over choices that know amounts only, if they break no other rule and are better.

        Return whether they are taken.
        """
        found = in_ids(self.instance, self.baseline, self.problem, choices)
        if not isinstance(found, Judged) or not found.better_than(self.best):
            return False
        self.best = found
        return True

    def _make_room(self) -> None:
        """Move pods out of the way as the relaxed model proposes, while that helps."""
        if self.budget.over:
            return
        self.tell("looking for who is in the way")
        part = self.budget.part(SHARE_OF_ROOM * self.budget.left)
        search = self._parts(part)
        helps = True
        while helps and not part.over:
            proposing = part.part(part.slice(2))
            parts = relaxed_moves(self.instance, search.placement, proposing)
            part.spend(proposing)
            helps = search.follow(parts, self.tell)
        self.budget.spend(part)
        self._take(search)

    def _by_parts(self, share: float) -> None:
        """Improve a few nodes at a time, then bound again the tiers whose bounds depend on that."""
        if self.budget.over:
            return
        open_moves = bool(self.problem.homes) and self._settled() < bounded_tiers(self.problem)
        if open_moves:
            share *= 1 - SHARE_OF_BOUND
        part = self.budget.part(share * self.budget.left)
        search = self._parts(part)
        search.run(self.tell)
        self.budget.spend(part)
        self._take(search)
        if open_moves:
            self._bound(1.0)

    def _parts(self, budget: Budget) -> Neighbourhoods:
        return Neighbourhoods(
            instance=self.instance,
            placement=self.best.placement,
            tiers=self.problem.tiers,
            values=list(self.best.values),
            limits=self.bounds,
            budget=budget,
            rng=random.Random(self.budget.options.seed + self.round),
        )

    def _take(self, search: Neighbourhoods) -> None:
        """Let the judge look at the result of a search part by part; keep it if it is better."""
        if search.placement is self.best.placement:
            return  # nothing was found
        placement = with_pools(self.instance, search.placement)
        found = look_at(self.instance, self.baseline, placement)
        if isinstance(found, Rejected):
            note_placement(self.rejected, self.instance, placement, found)
        elif found.better_than(self.best):
            self.best = found


def _far(worth: Iterable[tuple[Tier, int]]) -> bool:
    """Return whether some pod might still be nearer to what it has, as far as is proven."""
    return any(value for tier, value in worth if tier in TELL_APART)
