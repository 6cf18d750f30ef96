"""Reasons that are a proof: by them a pod has no place, whatever else of its batch is placed."""

from collections.abc import Iterable

from placer.search.reasons.register import REASON_RULES
from placer_models.cluster import Instance
from placer_models.placement import Unplaced
from placer_models.pod import pods_of
from placer_models.reasons import (
    Blocked,
    FewMembers,
    GroupTooLarge,
    Illegal,
    IllegalGang,
    IllegalMembers,
    NotAsked,
    Reason,
    When,
)


def all_ruled_out(asked: Instance, left_out: Iterable[Unplaced]) -> bool:
    """Return whether the reasons alone prove that none of these pods can have a place.

    Whoever has no place on empty nodes has none. Whoever has none beside what runs has none,
    either, if nothing that runs may move, and if no rule keeps it off that the arrival of other
    pods could open. All else proves nothing.

    Args:
        asked: The instance, with running pods that may move among those that wait.
        left_out: The pods that wait and have no place, with their reasons.

    """
    moves = asked.move_budget > 0 and bool(asked.homes or asked.could_leave)
    spreads = any(one.required for pod in pods_of(asked.gangs) for one in pod.spec.spread)
    return all(
        any(_is_proof(reason, moves=moves, spreads=spreads) for reason in one.why)
        for one in left_out
    )


def _is_proof(reason: Reason, *, moves: bool, spreads: bool) -> bool:
    match reason:
        case Blocked(when=When.EMPTY):
            return True
        case Blocked(when=When.RUNNING):
            demands = (d for b, _ in reason.nodes for d in (b.demand, *b.others))
            return not moves and not any(REASON_RULES[d.rule].opened_by_others for d in demands)
        case Illegal() | IllegalMembers() | IllegalGang() | NotAsked():
            return True
        case FewMembers() | GroupTooLarge():
            # Found without the company that pods require, but with the pods that count in spread.
            sooner = reason.when is When.EMPTY or (reason.when is When.RUNNING and not moves)
            return sooner and not spreads
        case _:
            return False
