"""Fractions of managed memory by use case (flip-141)."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from placer.slots.compiled import ManagedMemoryFraction
from placer.slots.fractions import NONE, fraction_rounded_down
from placer.slots.graph import ManagedMemoryUse, Operator

ALL_OF_IT = Decimal(1)


def use_case_memory_fraction(
    use_case: ManagedMemoryUse,
    in_group: Collection[ManagedMemoryUse],
    weights: Mapping[ManagedMemoryUse, int],
    *,
    state_backend_managed: bool,
) -> Decimal:
    """Return a use case's part of a slot, among the use cases that its group has.

    A state backend that keeps its memory elsewhere has no part and takes none away.
    """
    if use_case is ManagedMemoryUse.STATE_BACKEND and not state_backend_managed:
        return NONE
    counted = [
        weights.get(other, 0)
        for other in set(in_group)
        if other is not ManagedMemoryUse.STATE_BACKEND or state_backend_managed
    ]
    return fraction_rounded_down(weights.get(use_case, 0), sum(counted))


def managed_memory_fractions_by_use_case(
    operators: Sequence[Operator],
    members: Sequence[int],
    weights: Mapping[ManagedMemoryUse, int],
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
        u for u in ManagedMemoryUse if u in present or (u is ManagedMemoryUse.OPERATOR and total)
    )
    share = {
        use_case: use_case_memory_fraction(
            use_case, in_group, weights, state_backend_managed=state_backend_managed
        )
        for use_case in in_group
    }

    def part(operator: Operator, use_case: ManagedMemoryUse) -> Decimal:
        if use_case is ManagedMemoryUse.OPERATOR:
            return fraction_rounded_down(operator.operator_weight, total)
        return ALL_OF_IT if use_case in operator.slot_use_cases else NONE

    return {
        i: tuple(ManagedMemoryFraction(u, part(operators[i], u), share[u]) for u in in_group)
        for i in members
    }
