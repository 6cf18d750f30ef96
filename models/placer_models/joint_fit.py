"""Devices side by side, as a solver sees them on a kind of node (D9)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JointFit:
    """Devices that a pod wants side by side, on a kind of node (D9).

    Attributes:
        types: (type, count), two or more; of each group 1.
        groups: For each of the types, the group of each equivalence class of its bank; None
            where it is not known.
        beside: Pairs of types by index, where that is required: each group that gives
            a device of the first gives one of the second, and no device is in no group.
        each: Types by index, none of them the first, of which a pod has one device at
            most of a group, one at least, and no more than groups give it the first type;
            a device of the first type in no group counts as a group.

    """

    types: tuple[tuple[str, int], ...]
    groups: tuple[tuple[int | None, ...], ...]
    beside: tuple[tuple[int, int], ...]
    each: tuple[int, ...] = ()
