"""Node choice (B12, B13) among those that fit, and what device choice (B14) goes by (seed 003)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from placer_models.node_strategy import NodeStrategy
from placer_models.quota import IllegalQuotaError

SCORED = (NodeStrategy.LEAST_REQUESTED, NodeStrategy.MOST_BALANCED)
"""The strategies of the seed: each gives a node a score, whatever other nodes are like."""


@dataclass(frozen=True, slots=True)
class QuotaClassUse:
    """How much a node has of one class, and how much of that is requested.

    Raises:
        IllegalQuotaError: The total is 0, or an amount is below 0.

    """

    total: int
    used: int

    def __post_init__(self) -> None:
        if self.total <= 0:
            raise IllegalQuotaError(
                f"a class with a total of {self.total} has no shares to compare"
            )
        if self.used < 0:
            raise IllegalQuotaError(f"{self.used} is used; an amount is 0 or more")


def used_fractions_after_request(
    uses: Mapping[str, QuotaClassUse], asked: Mapping[str, int]
) -> tuple[Fraction, ...]:
    """Return (used + asked) / total for each class asked for.

    Raises:
        IllegalQuotaError: The node does not have a class asked for.

    """
    missing = sorted(set(asked) - set(uses))
    if missing:
        raise IllegalQuotaError(
            f"classes {', '.join(missing)} are asked for, and the node has none"
        )
    return tuple(Fraction(uses[name].used + asked[name], uses[name].total) for name in asked)


def strategy_score_of_used_fractions(
    strategy: NodeStrategy, shares: Sequence[Fraction]
) -> Fraction:
    """Return the score of a node, exactly; lower is better, 0 where nothing is asked for.

    Raises:
        IllegalQuotaError: The strategy is not one of the seed's.

    """
    if strategy not in SCORED:
        raise IllegalQuotaError(
            f"{strategy} scores no node by itself; expected {' or '.join(SCORED)}"
        )
    if not shares:
        return Fraction(0)
    mean = Fraction(sum(shares), len(shares))
    if strategy is NodeStrategy.LEAST_REQUESTED:
        return mean
    return sum(((share - mean) ** 2 for share in shares), Fraction(0)) / len(shares)


def choose_node(
    nodes: Mapping[str, Mapping[str, QuotaClassUse]],
    asked: Mapping[str, int],
    strategy: NodeStrategy,
) -> str | None:
    """Return the best node, the first of equal ones, or None if there is no node.

    Args:
        nodes: Node -> class -> its use; nodes that pass the filter.
        asked: Class -> amount, of all its devices together.
        strategy: What best means.

    Raises:
        IllegalQuotaError: A node lacks a class asked for, or the strategy is not one of the seed's.

    """
    return min(
        nodes,
        key=lambda name: strategy_score_of_used_fractions(
            strategy, used_fractions_after_request(nodes[name], asked)
        ),
        default=None,
    )


def mean_used_fraction_of_device(used: Sequence[int], totals: Sequence[int]) -> Fraction:
    """Return how much of a device is used, as one number: the mean over some of its quantities.

    Each quantity counts with the exact part of its total that is used. (The solver's tier
    ``device-choice`` counts the same in millionths.)
    """
    parts = [Fraction(use, total) for use, total in zip(used, totals, strict=True) if total]
    return Fraction(sum(parts), len(parts)) if parts else Fraction(0)
