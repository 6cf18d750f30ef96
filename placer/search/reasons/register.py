"""The rules that can keep one pod off one node, in the order in which reasons name them."""

from collections.abc import Iterable, Mapping

from placer.counting.account import Account
from placer.search.reasons import amounts, cpus, devices, domain_limits, node, others, places
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.rule import ReasonRule
from placer_models.reasons import RuleDemand

_BEFORE_ALIGNMENT = (
    *node.RULES,
    *others.ON_NODES,
    *devices.AMOUNTS,
    *amounts.OF_NODES,
    *cpus.AMOUNTS,
    *amounts.MEMORY,
    *devices.PLACES,
    *cpus.WHICH,
    *others.INSIDE,
    *places.BOUND,
    *cpus.ON_ARM,
)

_KNOWN_TO_ALIGNMENT = {rule.name: rule for rule in _BEFORE_ALIGNMENT}

REASON_RULES: Mapping[str, ReasonRule] = _KNOWN_TO_ALIGNMENT | {
    rule.name: rule
    for rule in (places.build_alignment_reason_rule(_KNOWN_TO_ALIGNMENT), *domain_limits.RULES)
}
"""Name -> rule. First what the node is, and who is there; then amounts, those that few nodes have
before those that all have; then what is asked of the devices, CPUs and places behind the amounts.
"""


def rule_demands_of_pod(asked: PodOnNode) -> tuple[RuleDemand, ...]:
    """Return all that is asked, in the order of the rules."""
    found = (demand for rule in REASON_RULES.values() for demand in rule.asked(asked))
    return tuple(dict.fromkeys(found))


def without_rule_demands(asked: PodOnNode, demands: Iterable[RuleDemand]) -> PodOnNode:
    """Return the question without what the demands ask for."""
    for demand in reversed(list(demands)):  # the limit of a burst goes before its pool
        asked = REASON_RULES[demand.rule].without(asked, demand)
    return asked


def is_node_lacking_by_counting(demand: RuleDemand, asked: PodOnNode, account: Account) -> bool:
    """Return whether the node cannot give what is demanded, by counting alone."""
    return REASON_RULES[demand.rule].lacks(demand, asked, account)


def is_demand_settled_by_counting(demand: RuleDemand, asked: PodOnNode) -> bool:
    """Return whether counting says all about the demand, beside others of which it does."""
    return REASON_RULES[demand.rule].settles(demand, asked)
