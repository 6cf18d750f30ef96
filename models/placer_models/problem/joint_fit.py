"""Joint allocation: devices side by side, as a solver sees them on a kind of node (D9)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JointFit:
    """Devices that a pod wants side by side, on a kind of node (D9).

    Attributes:
        types: (type, count), two or more; the count is 1 for a type of which each group gives
            one device.
        groups: For each of the types, the group of each equivalence class of its bank; None
            where it is not known.
        beside: Pairs of types by index, where the wish is required: each group that gives
            a device of the first gives one of the second, and no device is without a group.
        each: Types by index, never the first, of which each group gives the pod at most one
            device. The pod has at least one in all, and no more than there are groups that
            give it the first type; a device of that type without a group counts as a group.

    """

    types: tuple[tuple[str, int], ...]
    groups: tuple[tuple[int | None, ...], ...]
    beside: tuple[tuple[int, int], ...]
    each: tuple[int, ...] = ()
