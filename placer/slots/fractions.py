"""Fractions of managed memory by kind (flip-53): fixed from the group alone (F6 to F10)."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from placer.slots.compiled import ChainsSharingSlots, MemoryKindFractions
from placer.slots.errors import JobFault, JobGraphError
from placer.slots.graph import ManagedMemoryShare, Operator
from placer.slots.resources import ResourceAmounts
from placer_models.files.errors import shown

PLACES = 16
"""Decimal places of a fraction."""

NONE = Decimal(0)
_UNITS = 10**PLACES


def fraction_rounded_down(part: int, whole: int) -> Decimal:
    """Return ``part / whole`` cut after 16 places, so that parts never exceed the whole.

    A whole of 0 gives 0.
    """
    return Decimal(part * _UNITS // whole).scaleb(-PLACES) if whole else NONE


def managed_memory_fractions_of_group(
    operators: Sequence[Operator], members: Sequence[int], group: ChainsSharingSlots
) -> dict[int, MemoryKindFractions]:
    """Return the fractions of a group's operators.

    Args:
        operators: Of the job.
        members: Those of the group, by index.
        group: The group, whose requirement is the whole.

    Raises:
        JobGraphError: Fractions that operators set themselves add up to more than 1, or
            leave nothing to one that uses memory by weight.

    """
    on_heap = _kind("onHeap", operators, members, group)
    off_heap = _kind("offHeap", operators, members, group)
    return {i: MemoryKindFractions(on_heap[i], off_heap[i]) for i in members}


def _kind(
    kind: str, operators: Sequence[Operator], members: Sequence[int], group: ChainsSharingSlots
) -> dict[int, Decimal]:
    """Return one kind's fractions: operators' own as they are, the others from what is left."""
    shares = {i: _share(kind, operators[i]) for i in members}
    own = {i: share.fraction for i, share in shares.items() if share.fraction is not None}
    left = 1 - sum(own.values(), NONE)
    if left < 0:
        raise _too_much(kind, own, operators, group)
    if isinstance(group.requirement, ResourceAmounts):
        parts = {i: _managed_bytes(kind, operators[i]) for i in members}
    else:
        parts = {i: shares[i].weight for i in members}
    whole = sum(parts.values())
    # In whole units of 1e-16, so that what is left is divided without a second rounding.
    units = int(left * _UNITS)
    cut = {
        i: Decimal(part * units // whole).scaleb(-PLACES) if whole else NONE
        for i, part in parts.items()
    }
    for i, fraction in cut.items():
        if shares[i].weight and own and not fraction:
            raise _nothing_left(kind, i, own, operators, group)
    return cut | own


def _share(kind: str, operator: Operator) -> ManagedMemoryShare:
    return operator.on_heap if kind == "onHeap" else operator.off_heap


def _managed_bytes(kind: str, operator: Operator) -> int:
    resources = operator.resources
    if not isinstance(resources, ResourceAmounts):
        return 0
    on_heap = kind == "onHeap"
    return resources.managed_on_heap_bytes if on_heap else resources.managed_off_heap_bytes


def _too_much(
    kind: str, own: dict[int, Decimal], operators: Sequence[Operator], group: ChainsSharingSlots
) -> JobGraphError:
    last = max(own)
    return JobGraphError(
        JobFault(
            ("operators", last, "managed", kind, "fraction"),
            f"fractions of group {shown(group.name)} come to {_total(own.values())} "
            f"({_names(own, operators)}); a slot is 1: lower them",
        )
    )


def _nothing_left(
    kind: str,
    user: int,
    own: dict[int, Decimal],
    operators: Sequence[Operator],
    group: ChainsSharingSlots,
) -> JobGraphError:
    return JobGraphError(
        JobFault(
            ("operators", user, "managed", kind),
            f"{shown(operators[user].name)} uses this memory by weight, and the fractions of "
            f"group {shown(group.name)}, {_total(own.values())} in all "
            f"({_names(own, operators)}), leave it nothing; lower them, or delete its weight",
        )
    )


def _names(own: Iterable[int], operators: Sequence[Operator]) -> str:
    return ", ".join(shown(operators[i].name) for i in own)


def _total(fractions: Iterable[Decimal]) -> str:
    return f"{sum(fractions, NONE).normalize():f}"
