"""Reasons in words, which name the rule first."""

from collections import Counter
from functools import lru_cache

from placer.search.reasons.register import REASON_RULES
from placer_models.message_text import listed_in_sentence
from placer_models.pod import PodSpec
from placer_models.reasons import Blocker, RuleDemand
from placer_models.taints import UNSCHEDULABLE

GUESSED = "if running pods are on the NUMA nodes that were guessed"

FEW_KINDS = 3
"""How many kinds of blockers a table for people tells apart, or one more where that is all."""

_CORDONS = (RuleDemand("cordon"), RuleDemand("taints", word=str(UNSCHEDULABLE)))
"""What a person lifts with one command: among few kinds it is always told."""

_ORDER = {rule: i for i, rule in enumerate(REASON_RULES)}


def blocked_nodes_text(blockers: Counter[Blocker], spec: PodSpec, few: int | None = None) -> str:
    """Return what blocks the pod, and on how many nodes; the numbers add up to all nodes.

    They come in the order of rules, as in the funnel; of one rule those on most nodes first.

    Args:
        blockers: What blocks it, and on how many nodes.
        spec: The pod's spec.
        few: How many kinds are told apart, or one more where that is all: a cordon, and those on
            the most nodes. The others are counted together. None: all.

    """
    if not blockers:
        return "the instance has no node"
    nodes = blockers.total()
    said: Counter[str] = Counter()
    demand_of: dict[str, RuleDemand] = {}
    for blocker, count in blockers.items():
        text = blocker_text(blocker, spec)
        said[text] += count
        demand_of[text] = blocker.demand

    def rank(text: str) -> tuple[int, int]:
        return _ORDER[demand_of[text].rule], -said[text]

    most = len(said) if few is None or len(said) <= few + 1 else few
    likely = sorted(said, key=lambda text: (demand_of[text] not in _CORDONS, -said[text]))
    shown = sorted(likely[:most], key=rank)
    parts = [f"{said[text]} of {nodes} nodes: {text}" for text in shown]
    if hidden := likely[most:]:
        rest = sum(said[text] for text in hidden)
        parts.append(f"{rest} of {nodes} nodes: {len(hidden)} other reasons")
    return "; ".join(parts)


@lru_cache(maxsize=4096)  # pods of a shape are refused again and again
def blocker_text(blocker: Blocker, spec: PodSpec) -> str:
    """Return what blocks the pod on a node."""
    demand, others = blocker.demand, blocker.others
    text, told = REASON_RULES[demand.rule].tell(demand, others, spec)
    rest = [REASON_RULES[o.rule].brief(o, spec) for o in others if o not in told]
    text = f"{text}, beside {listed_in_sentence(rest)}" if rest else text
    return f"{text}, {GUESSED}" if blocker.guessed else text
