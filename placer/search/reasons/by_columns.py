"""Blockers of many nodes at once, where plain amounts that a pod asks for tell them."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from placer.counting.account import Account
from placer.search.kept_blockers import AskBlockerByNodeCache, NodeIndices
from placer.search.left_columns import LeftColumn
from placer.search.reasons import node
from placer.search.reasons.blocking import blocker_settled_by_counting
from placer.search.reasons.question import PodOnNode, has_pool_bound_pods
from placer.search.reasons.register import REASON_RULES, is_demand_settled_by_counting
from placer_models.cluster import Node
from placer_models.reasons import Blocker, RuleDemand

_OF_NODES = frozenset(rule.name for rule in node.RULES)
"""Rules about what a node is: who could come to the empty node keeps them on all of its kind."""

_SHARED, _BEST_EFFORT, _SINGLE = 1, 2, 4
"""What a node's facts say in bits: whether a pool is in use, and whether it is looked at singly."""

_ALL_FACTS = 8


class NodeBlockerInputs(NamedTuple):
    """What is asked about nodes that hold running pods, and those who know.

    Attributes:
        kinds: The kind of each node.
        kept: Keeps columns.
        account_at: Index of a node -> what is left on it.
        question: Returns the question whether the pods have a place on a node.
        demands: Returns what is demanded there.
        never: Returns what keeps them off the node when it is empty.

    """

    kinds: tuple[Node, ...]
    kept: AskBlockerByNodeCache
    account_at: Callable[[int], Account]
    question: Callable[[int], PodOnNode]
    demands: Callable[[int], tuple[RuleDemand, ...]]
    never: Callable[[int], Blocker | None]


def blockers_of_many_nodes(
    look: NodeBlockerInputs, unknown: NodeIndices
) -> Iterator[tuple[Blocker, NodeIndices]]:
    """Yield what keeps pods off some of the nodes, with these nodes.

    The nodes that are left over are those with a place, and those that one has to look into.

    Args:
        look: What is asked.
        unknown: The nodes, ascending.

    """
    facts = look.kept.left("facts", lambda at: _facts(look.question(at), look.account_at(at)))
    group_of = look.kept.kind_numbers(look.kinds)[unknown] * _ALL_FACTS + facts[unknown]
    order = group_of.argsort(kind="stable")
    starts = np.flatnonzero(np.diff(group_of[order])) + 1
    for nodes in np.split(unknown[order], starts):
        first = int(nodes[0])
        never = look.never(first)
        if never is not None:
            yield never, nodes
        elif not facts[first] & _SINGLE:
            yield from _in_group(look, nodes)


def _facts(asked: PodOnNode, account: Account) -> int:
    """Return in bits what else decides what is demanded, and whether counting settles it."""
    pools = account.pools
    singly = bool(pools.bound or account.affine) or has_pool_bound_pods(asked)
    return (
        _SHARED * pools.shared.in_use + _BEST_EFFORT * pools.best_effort.in_use + _SINGLE * singly
    )


def _in_group(look: NodeBlockerInputs, nodes: NodeIndices) -> Iterator[tuple[Blocker, NodeIndices]]:
    """Yield the same for nodes that are alike but for the amounts that they have left."""
    first = int(nodes[0])
    asked, demands = look.question(first), look.demands(first)
    settled = True
    for number, demand in enumerate(demands):
        if demand.rule in _OF_NODES:
            continue
        column = _column(look, asked, demand, first)
        if column is None:
            return
        want, left = column
        short = left[nodes] < want
        settled = settled and is_demand_settled_by_counting(demand, asked)
        if settled and short.any():
            yield blocker_settled_by_counting(demand, demands[:number]), nodes[short]
        nodes = nodes[~short]
        if not nodes.size:
            return


def _column(
    look: NodeBlockerInputs, asked: PodOnNode, demand: RuleDemand, first: int
) -> tuple[int, LeftColumn] | None:
    """Return how much is asked, and what each node has left; None if that is not all there is."""
    rule = REASON_RULES[demand.rule]
    what = rule.column(demand, asked.spec)
    amounts = None if what is None else rule.amounts(demand, asked, look.account_at(first))
    if amounts is None:
        return None

    def left_on(at: int) -> int:
        found = rule.amounts(demand, asked, look.account_at(at))
        assert found is not None, "whether there is an amount depends on the pod alone"
        return found.left

    return amounts.asked, look.kept.left(what, left_on)
