"""Token of an explanation: one stable word for programs that count and compare."""

from collections.abc import Sequence

from placer.explain.explanation import FunnelStep
from placer_models.reasons import FewMembers, GroupTooLarge, Reason, verdict_of_reasons

UNKNOWN = "unknown"
"""The token where only the words of a verdict are known."""


def verdict_token(why: Sequence[Reason], funnel: Sequence[FunnelStep]) -> str:
    """Return the verdict, and after a slash the rule that decides: ``not-now/device-count``.

    The rule is the last one of the funnel, which keeps off the nodes that pass all others.
    """
    verdict = verdict_of_reasons(why)
    if verdict is None:
        return UNKNOWN
    match why[0]:
        case FewMembers():
            return f"{verdict}/gang-minimum"
        case GroupTooLarge():
            return f"{verdict}/gang-group"
    if len(funnel) > 1:
        return f"{verdict}/{funnel[-1].rule.replace(' ', '-')}"
    return verdict.value
