"""Reasons about what a node is, and where its gang has to be: nothing inside of it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from placer.counting.account import Account
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.rule import ReasonRule, Said, always_settled_by_counting
from placer_models.node_rules import NODE_RULES, NodeEligibilityRule
from placer_models.pod import PodSpec
from placer_models.reasons import RuleDemand


def _of_node(rule: NodeEligibilityRule) -> ReasonRule:
    """Return what the reasons know of a rule about what nodes are."""

    def asked(question: PodOnNode) -> Iterator[RuleDemand]:
        if rule.asked(question.spec, question.node):
            yield RuleDemand(rule.name, word=rule.word(question.spec, question.node))

    def without(question: PodOnNode, _: RuleDemand) -> PodOnNode:
        spec, node = rule.dropped(question.spec, question.node)
        return replace(question, spec=spec, node=node)

    def said(demand: RuleDemand, _: Sequence[RuleDemand], spec: PodSpec) -> Said:
        return f"{rule.name} {demand.word or rule.said(spec)}".rstrip(), ()

    def lacks(_: RuleDemand, question: PodOnNode, __: Account) -> bool:
        return not rule.kept(question.spec, question.node)

    return ReasonRule(
        name=rule.name,
        asked=asked,
        without=without,
        said=said,
        lacks=lacks,
        settles=always_settled_by_counting,
        inside=False,
    )


def _missing_levels(asked: PodOnNode) -> Iterator[RuleDemand]:
    missing = [level for level in asked.levels if asked.node.domain(level) is None]
    if missing:
        yield RuleDemand("domain", word=" and no ".join(missing))


RULES = (
    *map(_of_node, NODE_RULES.values()),
    ReasonRule(
        name="domain",
        asked=_missing_levels,
        without=lambda asked, _: replace(asked, levels=()),
        said=lambda demand, *_: (f"domain: belongs to no {demand.word}", ()),
        lacks=lambda *_: True,
        settles=always_settled_by_counting,
        inside=False,
    ),
    # What a gang asks of its members together is looked at by `gangs`.
    ReasonRule(
        name="gather",
        said=lambda demand, *_: (f"gather asks the {demand.word} of its gang", ()),
    ),
    ReasonRule(name="spread", brief=lambda demand, _: demand.word),
    ReasonRule(name="multiples", brief=lambda demand, _: demand.word),
)
