"""Fractions of managed memory by kind (flip-53), and by use case (flip-141).

Those by kind are fixed from the group alone (F6 to F10).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal

from placer.slots.compiled import ChainsSharingSlots, ManagedMemoryFraction, OperatorMemoryFractions
from placer.slots.errors import JobGraphError, JobGraphFault
from placer.slots.graph import ManagedMemoryShare, ManagedMemoryUseCase, Operator
from placer.slots.resources import SlotResourceAmounts
from placer_models.message_text import in_quotes

PLACES = 16
"""Decimal places of a fraction."""

NONE = Decimal(0)
_UNITS = 10**PLACES


def fraction_to_16_places(part: int, whole: int) -> Decimal:
    """Return ``part / whole`` cut after 16 places, so that parts never exceed the whole.

    A whole of 0 gives 0.
    """
    return Decimal(part * _UNITS // whole).scaleb(-PLACES) if whole else NONE


def managed_memory_fractions_of_group(
    operators: Sequence[Operator], members: Sequence[int], group: ChainsSharingSlots
) -> dict[int, OperatorMemoryFractions]:
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
    return {i: OperatorMemoryFractions(on_heap[i], off_heap[i]) for i in members}


def _kind(
    kind: str, operators: Sequence[Operator], members: Sequence[int], group: ChainsSharingSlots
) -> dict[int, Decimal]:
    """Return one kind's fractions: operators' own as they are, the others from what is left."""
    shares = {i: _share(kind, operators[i]) for i in members}
    own = {i: share.fraction for i, share in shares.items() if share.fraction is not None}
    left = 1 - sum(own.values(), NONE)
    if left < 0:
        raise _too_much(kind, own, operators, group)
    if isinstance(group.requirement, SlotResourceAmounts):
        parts = {i: _managed_bytes(kind, operators[i]) for i in members}
    else:
        parts = {i: shares[i].weight for i in members}
    whole = sum(parts.values())
    # In whole units of 1e-16, so that what is left is divided without a second rounding.
    units = int(left * _UNITS)
    cut = {i: fraction_to_16_places(part * units, whole * _UNITS) for i, part in parts.items()}
    for i, fraction in cut.items():
        if shares[i].weight and own and not fraction:
            raise _nothing_left(kind, i, own, operators, group)
    return cut | own


def _share(kind: str, operator: Operator) -> ManagedMemoryShare:
    return operator.on_heap if kind == "onHeap" else operator.off_heap


def _managed_bytes(kind: str, operator: Operator) -> int:
    resources = operator.resources
    if not isinstance(resources, SlotResourceAmounts):
        return 0
    on_heap = kind == "onHeap"
    return resources.managed_on_heap_bytes if on_heap else resources.managed_off_heap_bytes


def _too_much(
    kind: str, own: dict[int, Decimal], operators: Sequence[Operator], group: ChainsSharingSlots
) -> JobGraphError:
    last = max(own)
    return JobGraphError(
        JobGraphFault(
            ("operators", last, "managed", kind, "fraction"),
            f"fractions of group {in_quotes(group.name)} come to {_total(own.values())} "
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
        JobGraphFault(
            ("operators", user, "managed", kind),
            f"{in_quotes(operators[user].name)} uses this memory by weight, and the fractions of "
            f"group {in_quotes(group.name)}, {_total(own.values())} in all "
            f"({_names(own, operators)}), leave it nothing; lower them, or delete its weight",
        )
    )


def _names(own: Iterable[int], operators: Sequence[Operator]) -> str:
    return ", ".join(in_quotes(operators[i].name) for i in own)


def _total(fractions: Iterable[Decimal]) -> str:
    return f"{sum(fractions, NONE).normalize():f}"


ALL_OF_IT = Decimal(1)


def use_case_memory_fraction(
    use_case: ManagedMemoryUseCase,
    in_group: Collection[ManagedMemoryUseCase],
    weights: Mapping[ManagedMemoryUseCase, int],
    *,
    state_backend_managed: bool,
) -> Decimal:
    """Return a use case's part of a slot, among the use cases that its group has.

    A state backend that keeps its memory elsewhere has no part and takes none away.
    """
    if use_case is ManagedMemoryUseCase.STATE_BACKEND and not state_backend_managed:
        return NONE
    counted = [
        weights.get(other, 0)
        for other in set(in_group)
        if other is not ManagedMemoryUseCase.STATE_BACKEND or state_backend_managed
    ]
    return fraction_to_16_places(weights.get(use_case, 0), sum(counted))


def managed_memory_fractions_by_use_case(
    operators: Sequence[Operator],
    members: Sequence[int],
    weights: Mapping[ManagedMemoryUseCase, int],
    *,
    state_backend_managed: bool,
) -> dict[int, tuple[ManagedMemoryFraction, ...]]:
    """Return the fractions of a group's operators, for every use case of the group.

    Operators divide the operators' part by weight; each user of another use case may
    use all of its pool.
    """
    total = sum(operators[i].operator_weight for i in members)
    present = {use_case for i in members for use_case in operators[i].slot_use_cases}
    in_group = tuple(
        u
        for u in ManagedMemoryUseCase
        if u in present or (u is ManagedMemoryUseCase.OPERATOR and total)
    )
    share = {
        use_case: use_case_memory_fraction(
            use_case, in_group, weights, state_backend_managed=state_backend_managed
        )
        for use_case in in_group
    }

    def part(operator: Operator, use_case: ManagedMemoryUseCase) -> Decimal:
        if use_case is ManagedMemoryUseCase.OPERATOR:
            return fraction_to_16_places(operator.operator_weight, total)
        return ALL_OF_IT if use_case in operator.slot_use_cases else NONE

    return {
        i: tuple(ManagedMemoryFraction(u, part(operators[i], u), share[u]) for u in in_group)
        for i in members
    }
