"""The rule that keeps a pod off a node: the first in the order, with the fewest it clashes with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from placer.counting.account import Account
from placer.search.budget import SolveBudget
from placer.search.reasons import aligned_amounts
from placer.search.reasons.alone import has_place_on_node
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.register import (
    REASON_RULES,
    is_demand_settled_by_counting,
    is_node_lacking_by_counting,
    without_rule_demands,
)
from placer.state.fits import RuleInTheWay, fit_of
from placer.state.out_of_time import OutOfTimeError
from placer_models.cluster import Node
from placer_models.pod import PodSpec
from placer_models.problem.problem import Fit
from placer_models.reasons import Blocker, RuleDemand

_Demands = tuple[RuleDemand, ...]


def blocker_by_counting(asked: PodOnNode, account: Account, demands: _Demands) -> Blocker | None:
    """Return why the pod cannot run on the node, or None where counting alone does not tell."""
    for number, demand in enumerate(demands):
        rule = REASON_RULES[demand.rule]
        if rule.lacks(demand, asked, account):
            if not all(is_demand_settled_by_counting(d, asked) for d in demands[: number + 1]):
                return None
            return blocker_settled_by_counting(demand, demands[:number])
    return None


def blocker_settled_by_counting(short: RuleDemand, before: _Demands) -> Blocker:
    """Return the blocker of a demand that counting settles, with those that give it a meaning."""
    needed, subjects = REASON_RULES[short.rule].needs, ("", short.subject)
    others = (d for d in before if d.rule == needed and d.subject in subjects)
    return Blocker(short, tuple(others))


def blocker_of(
    asked: PodOnNode,
    account: Account,
    demands: _Demands,
    budget: SolveBudget,
    fit: Callable[[PodSpec, Node], Fit | RuleInTheWay] = fit_of,
) -> Blocker | None:
    """Return why the pod cannot run on the node, or None if it can.

    Demands are added one by one, in the order of the rules. The first one that cannot be met
    beside those before it is named, with the fewest of them that are enough to rule it out.

    Args:
        asked: The pod and the node.
        account: What the running pods leave.
        demands: What is asked, in the order (`register.rule_demands_of_pod`).
        budget: What looking into it may cost.
        fit: Returns what `fit_of` does.

    Raises:
        OutOfTimeError: The budget is spent.

    """
    if budget.over:
        raise OutOfTimeError
    short = next(
        (i for i, d in enumerate(demands) if is_node_lacking_by_counting(d, asked, account)),
        len(demands),
    )
    if asked.crowd is None and not isinstance(never := fit(asked.spec, asked.node), Fit):
        known = (i for i, d in enumerate(demands[:short]) if (d.rule, d.subject) == never)
        short = next(known, short)
    counted = next(
        (
            i
            for i, d in enumerate(demands[: short + 1])
            if not is_demand_settled_by_counting(d, asked)
        ),
        len(demands),
    )
    if short < counted:
        return blocker_settled_by_counting(demands[short], demands[:short])
    node = _Node(asked, account, demands, budget)
    if short > counted and not node.meets(demands[:short]):
        short = next(i for i in range(counted, short) if not node.meets(demands[: i + 1]))
    if short == len(demands):
        return None
    inside = tuple(d for d in demands[:short] if REASON_RULES[d.rule].inside)
    return Blocker(demands[short], node.fewest(inside, demands[short]))


@dataclass(frozen=True, slots=True)
class _Node:
    """A node, asked what it can meet of all that is demanded."""

    asked: PodOnNode
    account: Account
    demands: _Demands
    budget: SolveBudget

    def meets(self, kept: Sequence[RuleDemand]) -> bool:
        """Return whether the node can meet these demands together."""
        less = without_rule_demands(self.asked, [d for d in self.demands if d not in kept])
        last = kept[-1] if kept else None
        if last is not None and aligned_amounts.counting_settles_alignment(last, self.asked):
            known = aligned_amounts.has_numa_nodes_for_amounts(
                last.word, less, self.account, kept[:-1]
            )
            if known is not None:
                return known
        return has_place_on_node(less, self.budget)

    def fewest(self, before: _Demands, last: RuleDemand) -> _Demands:
        """Return the fewest demands beside which the last cannot be met; beside all it cannot."""
        kept = list(before)
        for demand in reversed(before):
            fewer = [other for other in kept if other != demand]
            if not self.meets((*fewer, last)):
                kept = fewer
        for size in range(1, len(kept)):
            for some in combinations(before, size):
                if not self.meets((*some, last)):
                    return some
        return tuple(kept)
