"""Refusal of mixtures that a job graph may not have, though each part by itself is valid."""

from collections.abc import Sequence

from placer.slots.compiled import ChainsSharingSlots, EdgeBetweenChains
from placer.slots.errors import JobGraphError, JobGraphFault
from placer.slots.graph import DEFAULT_GROUP, HYBRIDS, JobGraph
from placer.slots.resources import UNKNOWN
from placer_models.message_text import in_quotes


def refuse_resources_on_some_operators(job: JobGraph) -> None:
    """Refuse operators of which some state resources and others do not (F3).

    Raises:
        JobGraphError: It is so, be it inside of one chain; the message names one of each.

    """
    states = [operator.resources is not UNKNOWN for operator in job.operators]
    if not all(states) and any(states):
        yes, no = states.index(True), states.index(False)
        raise JobGraphError(
            JobGraphFault(
                ("operators", no),
                f"{in_quotes(job.operators[no].name)} states no resources, but "
                f"{in_quotes(job.operators[yes].name)} does; state them for all operators or none",
            )
        )


def refuse_resources_on_some_slot_groups(job: JobGraph, names: Sequence[str]) -> None:
    """Refuse slot sharing groups of which some have resources and others do not (F3).

    Args:
        job: Its groups.
        names: The group of each operator.

    Raises:
        JobGraphError: It is so; the message names one of each.

    """
    with_resources = {group.name for group in job.groups if group.resources is not None}
    yes = next((i for i, name in enumerate(names) if name in with_resources), None)
    no = next((i for i, name in enumerate(names) if name not in with_resources), None)
    if yes is not None and no is not None:
        raise JobGraphError(
            JobGraphFault(
                ("operators", no),
                f"{in_quotes(job.operators[no].name)} is in slot sharing group "
                f"{in_quotes(names[no])}, "
                f"which has no resources, but {in_quotes(names[yes])} of "
                f"{in_quotes(job.operators[yes].name)} has; state them for all groups or none",
            )
        )


def refuse_groups_with_hybrid_edges(
    job: JobGraph, names: Sequence[str], links: Sequence[EdgeBetweenChains]
) -> None:
    """Refuse a group of the user's own beside hybrid exchanges.

    A hybrid exchange decides at run time who runs together, so groups cannot be kept.

    Raises:
        JobGraphError: It is so.

    """
    named = [i for i, name in enumerate(names) if name != DEFAULT_GROUP]
    if named and any(link.exchange in HYBRIDS for link in links):
        raise JobGraphError(
            JobGraphFault(
                ("operators", named[0], "group"),
                f"{in_quotes(job.operators[named[0]].name)} is in group "
                f"{in_quotes(names[named[0]])}, "
                "and the job has hybrid exchanges, which keep to the default group: "
                "drop the group, or write pipelined or blocking",
            )
        )


def refuse_torn_colocation(
    job: JobGraph, group_of_operator: Sequence[int], groups: Sequence[ChainsSharingSlots]
) -> None:
    """Refuse operators that are to share slots and stand in different groups.

    Raises:
        JobGraphError: It is so.

    """
    first: dict[str, int] = {}
    for i, operator in enumerate(job.operators):
        if operator.colocation is None:
            continue
        other = first.setdefault(operator.colocation, i)
        here, there = group_of_operator[i], group_of_operator[other]
        if here != there:
            raise JobGraphError(
                JobGraphFault(
                    ("operators", i, "colocation"),
                    f"{in_quotes(operator.colocation)} joins {in_quotes(operator.name)} of group "
                    f"{in_quotes(groups[here].name)} and {in_quotes(job.operators[other].name)} of "
                    f"group {in_quotes(groups[there].name)}; name one group for both",
                )
            )
