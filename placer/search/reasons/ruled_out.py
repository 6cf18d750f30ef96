"""Reasons that are a proof: by them a pod has no place, whatever else of its batch is placed."""

from collections.abc import Iterable

from placer.search.reasons.register import REASON_RULES
from placer_models.cluster import Instance
from placer_models.placement import Unplaced
from placer_models.pod import pods_of_gangs
from placer_models.reasons import (
    Blocked,
    FewMembers,
    FirstStageWithoutPlace,
    GangGroupTooLarge,
    Illegal,
    IllegalGangInGroup,
    IllegalMembers,
    NotTried,
    Reason,
)
from placer_models.relations import later_pods_may_make_nodes_fit


def are_all_pods_ruled_out(asked: Instance, left_out: Iterable[Unplaced]) -> bool:
    """Return whether the reasons alone prove that none of these pods can have a place.

    Whoever has no place on empty nodes has none. Whoever has none beside what runs has none,
    either, if nothing that runs may move, and if no rule keeps it off that the arrival of other
    pods could open. All else proves nothing.

    Args:
        asked: The instance, with running pods that may move among those that wait.
        left_out: The pods that wait and have no place, with their reasons.

    """
    moves = asked.move_budget > 0 and bool(asked.homes or asked.could_leave)
    opened = any(later_pods_may_make_nodes_fit(pod.spec) for pod in pods_of_gangs(asked.gangs))
    return all(
        any(_is_proof(reason, moves=moves, opened=opened) for reason in one.why) for one in left_out
    )


def _is_proof(reason: Reason, *, moves: bool, opened: bool) -> bool:
    match reason:
        case Blocked(when=FirstStageWithoutPlace.EMPTY):
            return True
        case Blocked(when=FirstStageWithoutPlace.RUNNING):
            demands = (d for b, _ in reason.nodes for d in (b.demand, *b.others))
            return not moves and not any(REASON_RULES[d.rule].opened_by_others for d in demands)
        case Illegal() | IllegalMembers() | IllegalGangInGroup() | NotTried():
            return True
        case FewMembers() | GangGroupTooLarge():
            # Found without the company that pods require, but with all else that others decide.
            sooner = reason.when is FirstStageWithoutPlace.EMPTY or (
                reason.when is FirstStageWithoutPlace.RUNNING and not moves
            )
            return sooner and not opened
        case _:
            return False
