"""The rule that keeps a pod off a node: the first in the order, or the fewest that do not meet."""

from collections.abc import Sequence
from itertools import combinations

from placer.search.budget import Budget
from placer.search.reasons.alone import OutOfTimeError, fits_alone
from placer.search.reasons.amounts import is_counted, lacks
from placer.search.reasons.order import Blocker, Demand, demands_of
from placer.search.reasons.question import Question
from placer.search.reasons.relax import without
from placer.state.account import Account

Demands = tuple[Demand, ...]

OF_THE_NODE = ("cordon", "node-selector", "domain", "affinity", "anti-affinity")
"""Rules about what the node is and who is there; they say nothing about places inside of it."""

NEEDS = {
    "shared-pool": ("cpu-count",),
    "be-pool": ("cpu-count",),
    "device-functions": ("device-share",),
}
"""Of rules that are counted, those that ask nothing without another one."""


def blocker_of(asked: Question, account: Account, budget: Budget) -> Blocker | None:
    """Return why the pod cannot run on the node; None: it can.

    Demands are added one by one, in the order of the rules. The first that cannot be met
    beside those before it is named, with the fewest of those beside which it cannot.

    Args:
        asked: The pod and the node.
        account: What the running pods leave.
        budget: What looking may cost.

    Raises:
        OutOfTimeError: The budget is spent.

    """
    if budget.over:
        raise OutOfTimeError
    demands = demands_of(asked)
    short = next((i for i, d in enumerate(demands) if lacks(d, asked, account)), len(demands))
    counted = next((i for i, d in enumerate(demands) if not is_counted(d, asked)), len(demands))
    if short > counted and not _meet(asked, demands, demands[:short], budget):
        short = next(
            i for i in range(counted, short) if not _meet(asked, demands, demands[: i + 1], budget)
        )
        return _named(asked, demands, short, budget)
    if short == len(demands):
        return None
    if not is_counted(demands[short], asked):
        return _named(asked, demands, short, budget)
    needed = NEEDS.get(demands[short].rule, ())
    return Blocker(
        demands[short],
        tuple(
            d
            for d in demands[:short]
            if d.rule in needed and d.subject in ("", demands[short].subject)
        ),
    )


def _meet(asked: Question, demands: Demands, kept: Sequence[Demand], budget: Budget) -> bool:
    """Return whether the node can meet some of the demands together."""
    return fits_alone(without(asked, [d for d in demands if d not in kept]), budget)


def _named(asked: Question, demands: Demands, short: int, budget: Budget) -> Blocker:
    """Return the blocker that the demand is, with the fewest of those before it."""
    inside = tuple(d for d in demands[:short] if d.rule not in OF_THE_NODE)
    return Blocker(demands[short], _fewest(asked, demands, inside, demands[short], budget))


def _fewest(
    asked: Question, demands: Demands, before: Demands, last: Demand, budget: Budget
) -> Demands:
    """Return the fewest demands beside which the last one cannot be met; some are so."""
    kept = list(before)
    for demand in reversed(before):
        fewer = [other for other in kept if other != demand]
        if not _meet(asked, demands, (*fewer, last), budget):
            kept = fewer
    for size in range(1, len(kept)):
        for some in combinations(before, size):
            if not _meet(asked, demands, (*some, last), budget):
                return some
    return tuple(kept)
