"""What devices side by side mean on a kind of node (D9)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JointFit:
    """Devices that a pod wants side by side, on a kind of node (D9).

    Attributes:
        types: (type, count), two or more.
        groups: For each of the types, the group of each twin class of its bank; None
            where it is not known.
        beside: Pairs of types by index, where that is required: each group that gives
            a device of the first gives one of the second, and no device is in no group.

    """

    types: tuple[tuple[str, int], ...]
    groups: tuple[tuple[int | None, ...], ...]
    beside: tuple[tuple[int, int], ...]
