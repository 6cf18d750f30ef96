"""Policies that a trace can be replayed under: node strategies, and scorers of the greedy path."""

from collections import Counter
from collections.abc import Callable, Iterable

from placer.greedy.scorer import NodeScoringMethod
from placer.greedy.scorers.best_fit import BestFitScoring
from placer.greedy.scorers.dot_product import DotProductScoring
from placer.greedy.scorers.fragmentation import FragmentationScoring
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Node
from placer_models.demand import ExpectedDemand, expected_demand_from_counts
from placer_models.forecast import expected_counts_from_known_pods, expected_shape_of
from placer_models.node_strategy import NodeStrategy
from placer_models.pod import PodSpec

_SCORERS: dict[str, Callable[[Iterable[PodSpec]], NodeScoringMethod]] = {
    "best-fit": lambda _: BestFitScoring(),
    "dot-product": lambda _: DotProductScoring(),
    "fgd": FragmentationScoring.of,
}
"""Name -> what makes the scoring, given the pods of the list."""

GIVEN = "expected-given"
"""Strategy ``expected``, given the pods of the list; by its own name it learns from arrivals."""

POLICIES = (*(strategy.value for strategy in NodeStrategy), GIVEN, *_SCORERS)
"""Their names."""


def solve_options_for_policy(policy: str, specs: Iterable[PodSpec]) -> SolveOptions:
    """Return how to place pods under a policy.

    Args:
        policy: One of ``POLICIES``.
        specs: What each pod of the list asks for: FGD takes its typical pods from there.

    """
    if policy in _SCORERS:
        return SolveOptions(Engine.GREEDY, scoring=_SCORERS[policy](specs))
    strategy = NodeStrategy.EXPECTED if policy == GIVEN else NodeStrategy(policy)
    return SolveOptions(Engine.GREEDY, strategy=strategy)


def expected_demand_for_policy(
    policy: str, specs: Iterable[PodSpec], nodes: Iterable[Node]
) -> ExpectedDemand | None:
    """Return the pods that a Scheduler is told to expect under a policy; None: it is told nothing.

    Args:
        policy: One of ``POLICIES``.
        specs: What each pod of the list asks for.
        nodes: The nodes: where their CPU is enough, pods without GPUs are not expected.

    """
    if policy != GIVEN:
        return None
    listed = Counter(shape for spec in specs if (shape := expected_shape_of(spec)) is not None)
    return expected_demand_from_counts(expected_counts_from_known_pods(listed, nodes))
