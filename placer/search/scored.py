"""The greedy answer to a Problem, with the scorer that the options or the strategy name."""

from collections.abc import Collection
from dataclasses import replace

from placer.counting.account import Account
from placer.counting.left import node_left
from placer.greedy.cache import GreedyCache
from placer.greedy.expected.arrays import expected_shape_prices_given_left
from placer.greedy.expected.scorer import ExpectedScorer, ExpectedScoring
from placer.greedy.place import place_greedily
from placer.greedy.scorer import NodeScorer
from placer.search.baseline import StartingAccounts
from placer.search.options import SolveOptions
from placer_models.cluster import Instance, Node, NodesWithCachedFacts
from placer_models.demand import ExpectedDemand
from placer_models.forecast import given_or_learned_demand
from placer_models.node_strategy import NodeStrategy
from placer_models.problem.problem import Choices, Problem


def with_priced_expected_demand(instance: Instance, baseline: StartingAccounts) -> Instance:
    """Return the instance with the demand that its strategy looks at, and with prices.

    From here on they hold, whatever becomes of the running pods that may move.
    """
    if instance.strategy is not NodeStrategy.EXPECTED:
        return instance
    demand = given_or_learned_demand(instance)
    if demand.prices is None:
        demand = demand.priced(
            expected_shape_prices_on_accounts(demand, instance.nodes, baseline.accounts)
        )
    return instance if demand is instance.demand else replace(instance, demand=demand)


def expected_shape_prices_on_accounts(
    demand: ExpectedDemand, nodes: tuple[Node, ...], accounts: Collection[Account]
) -> tuple[int, ...]:
    """Return the prices on nodes as their accounts say that they are, as the judge finds them."""
    # Idle nodes that are alike share their account.
    distinct = {id(account): account for account in accounts}
    with_memory = demand.looks_at_memory
    left = {n: node_left(account, with_memory=with_memory) for n, account in distinct.items()}
    lefts = [left[id(account)] for account in accounts]
    return expected_shape_prices_given_left(demand, NodesWithCachedFacts.of(nodes), lefts)


def scorer_chooses_nodes(instance: Instance, options: SolveOptions) -> bool:
    """Return whether a scorer chooses among nodes in the greedy path."""
    return options.scoring is not None or instance.strategy is NodeStrategy.EXPECTED


def greedy_node_scorer_of(
    instance: Instance, options: SolveOptions, baseline: StartingAccounts
) -> NodeScorer | None:
    """Return what chooses among nodes in the greedy path; None: the instance's strategy does."""
    cache, demand = baseline.cache.greedy, instance.demand
    if options.scoring is not None:
        return cache.scorer_of(options.scoring, instance.nodes)
    if instance.strategy is not NodeStrategy.EXPECTED or demand is None:
        return None
    return expected_scorer(demand, instance.nodes, options, cache)


def expected_scorer(
    demand: ExpectedDemand, nodes: tuple[Node, ...], options: SolveOptions, cache: GreedyCache
) -> ExpectedScorer:
    """Return the scorer of strategy ``expected``, in which the prices of the demand hold."""
    scorer = cache.scorer_of(ExpectedScoring(demand.priced(None)), nodes)
    assert isinstance(scorer, ExpectedScorer), "the scoring makes no other"
    scorer.prepare(demand.prices or (), options.time_limit_s)
    return scorer


def greedy_choices_for_problem(
    instance: Instance, baseline: StartingAccounts, problem: Problem, options: SolveOptions
) -> Choices:
    """Return greedy choices for a problem, ``scored`` if `scorer_chooses_nodes`."""
    scorer = greedy_node_scorer_of(instance, options, baseline)
    return place_greedily(problem, cache=baseline.cache.greedy, scorer=scorer)
