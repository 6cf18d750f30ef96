"""Groups of cores that a pod had better touch few of: packages, last-level caches, cells."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar


@dataclass(frozen=True, slots=True)
class Span:
    """The groups of a node that the one pod of an assignment touches.

    Attributes:
        keys: The package, cache or cell that each group stands for.
        groups: The core classes of each group, by index.
        touched: One literal a group: the pod owns CPUs of it.
        fewest: Groups that the pod needs on the empty node.

    """

    keys: tuple[int | None, ...]
    groups: tuple[tuple[int, ...], ...]
    touched: tuple[IntVar, ...]
    fewest: int


def span_of(
    model: CpModel,
    keys: Sequence[int | None],
    fewest: int | None,
    name: str,
    also: Iterable[int | None] = (),
) -> Span | None:
    """Return the span of an assignment with its variables; None where nothing is wished for.

    Args:
        model: Gets the variables.
        keys: The group of each core class of the node.
        fewest: As in ``Span``; None: there is no wish.
        name: Of the variables.
        also: Groups that may be touched otherwise, even without a core.

    """
    if fewest is None:
        return None
    members: defaultdict[int | None, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        members[key].append(index)
    for key in also:
        members.setdefault(key, [])
    return Span(
        keys=tuple(members),
        groups=tuple(map(tuple, members.values())),
        touched=tuple(model.new_bool_var(f"{name[:-1]},{key}]") for key in members),
        fewest=fewest,
    )
