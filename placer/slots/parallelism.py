"""Parallelism of a job on the slots that are free (F17, F18)."""

from collections.abc import Mapping

from placer.slots.compiled import CompiledDataflowJob


def parallelism_for_slots(job: CompiledDataflowJob, free_slots: int) -> tuple[int, ...] | None:
    """Return each chain's parallelism on the given number of free slots of one size.

    All groups run at once. Each gets at least one slot and no more than it can use. The rest is
    shared evenly, narrow groups first, so that what they leave goes to the wide ones.

    Returns:
        None where there are fewer slots than groups.

    """
    shares = share_out_slots_to_sharing_groups(
        {i: group.slots for i, group in enumerate(job.groups)}, free_slots
    )
    if shares is None:
        return None
    return tuple(
        min(chain.parallelism, shares[job.group_of[i]]) for i, chain in enumerate(job.chains)
    )


def share_out_slots_to_sharing_groups(
    most: Mapping[int, int], free_slots: int
) -> dict[int, int] | None:
    """Return how many of the free slots each group gets.

    Args:
        most: What each group can use.
        free_slots: Slots for all groups together.

    Returns:
        None where there are fewer slots than groups.

    """
    if free_slots < len(most):
        return None
    shares: dict[int, int] = {}
    for group in sorted(most, key=lambda group: most[group]):
        waiting = len(most) - len(shares)
        # Of what is over when each waiting group has its one slot.
        over = free_slots - sum(shares.values()) - waiting
        shares[group] = 1 + min(most[group] - 1, over // waiting)
    return shares
