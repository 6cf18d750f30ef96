"""Reasons in words, which name the rule first."""

from collections import Counter

from placer.search.reasons.register import REASON_RULES
from placer.search.reasons.rule import listed
from placer_models.pod import PodSpec
from placer_models.reasons import Blocker

GUESSED = "if running pods are on the NUMA nodes that were guessed"

MOST_KINDS = 3
"""The most kinds of blockers told apart, or one more where that is all; those on fewer nodes are
counted together."""


def counts(blockers: Counter[Blocker], spec: PodSpec, first: str = "") -> str:
    """Return what blocks the pod, and on how many nodes; the numbers add up to all nodes.

    Args:
        blockers: What blocks it, and on how many nodes.
        spec: The pod's spec.
        first: What blocks it on the node that is nearest, in the words of `text_of_blocker`: that
            is told first. The rest comes by the number of nodes.

    """
    if not blockers:
        return "the instance has no node"
    nodes = blockers.total()
    said: Counter[str] = Counter()
    for blocker, count in blockers.items():
        said[text_of_blocker(blocker, spec)] += count
    most = len(said) if len(said) <= MOST_KINDS + 1 else MOST_KINDS
    shown = sorted(said.most_common(), key=lambda one: one[0] != first)[:most]
    parts = [f"{count} of {nodes} nodes: {text}" for text, count in shown]
    rest = nodes - sum(count for _, count in shown)
    if rest:
        kinds = len(said) - len(shown)
        parts.append(f"{rest} of {nodes} nodes: {kinds} other reasons")
    return "; ".join(parts)


def text_of_blocker(blocker: Blocker, spec: PodSpec) -> str:
    """Return what blocks the pod on a node."""
    demand, others = blocker.demand, blocker.others
    text, told = REASON_RULES[demand.rule].tell(demand, others, spec)
    rest = [REASON_RULES[o.rule].brief(o, spec) for o in others if o not in told]
    text = f"{text}, beside {listed(rest)}" if rest else text
    return f"{text}, {GUESSED}" if blocker.guessed else text
