"""Masks: sets of a node's cells that are worth trying for a pod."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from placer_models.alignment import CellAmounts, fewest_cell_count_for_one_resource
from placer_models.problem.node_state import NodeState

MAX_STEPS = 20_000
"""Steps of one search for masks; enough for every pair and most triples of 34 cells that
all differ. Cells that are alike are counted, so real machines stay far below it."""

_Group = tuple[CellAmounts, list[int]]
"""Cells that are alike: what each holds, and their indices."""


def cell_sets_holding(
    amounts: Sequence[CellAmounts], need: CellAmounts, size: int, kinds: Sequence[Hashable]
) -> Iterator[tuple[int, ...]]:
    """Yield sets of at most ``size`` cells that together hold the need, richest first.

    Of sets that differ only in cells that are alike, one is yielded. Sets smaller than
    ``size`` come only if no more cells hold anything of use: a larger set never holds less.

    Args:
        amounts: What each cell holds of every resource.
        need: What is asked for of every resource.
        size: How many cells a set has, at most.
        kinds: Cells of equal kind are alike.

    """
    groups = _groups(amounts, need, kinds)
    size = min(size, sum(len(cells) for _, cells in groups))
    # richest[g]: the most that one cell of group g, or of a later one, holds.
    richest = [(0,) * len(need)]
    for held, _ in reversed(groups):
        richest.append(tuple(map(max, held, richest[-1])))
    richest.reverse()
    steps = 0

    def choose(group: int, left: int, missing: CellAmounts) -> Iterator[tuple[int, ...]]:
        nonlocal steps
        steps += 1
        if steps > MAX_STEPS or any(
            short > left * most for short, most in zip(missing, richest[group], strict=True)
        ):
            return
        if not left:
            yield ()
            return
        if group == len(groups):
            return
        held, cells = groups[group]
        for count in range(min(left, len(cells)), -1, -1):
            rest = tuple(
                max(0, short - count * have) for short, have in zip(missing, held, strict=True)
            )
            for others in choose(group + 1, left - count, rest):
                yield (*cells[:count], *others)

    yield from choose(0, size, need)


def cell_set_sizes(
    node: NodeState, limit: int | None, need: CellAmounts, amounts: list[CellAmounts]
) -> Iterator[int]:
    """Yield how many cells whoever asks for the need may use, best first.

    Args:
        node: What is left on the node.
        limit: The most cells, all of them NUMA nodes; None: any number.
        need: What is asked for of every resource.
        amounts: What each cell holds of it. With a limit, cells that are no NUMA nodes are made
            to hold nothing.

    """
    if limit is not None:
        for cell, has in enumerate(node.cells):
            if not has.real:
                amounts[cell] = (0,) * len(need)
        yield limit
        return
    fewest = [
        fewest_cell_count_for_one_resource([held[i] for held in amounts], want)
        for i, want in enumerate(need)
    ]
    if None in fewest:
        return
    least = max(count or 0 for count in fewest)
    useful = sum(any(map(min, held, need)) for held in amounts)
    yield from range(least, max(least, useful) + 1)


def _groups(
    amounts: Sequence[CellAmounts], need: CellAmounts, kinds: Sequence[Hashable]
) -> list[_Group]:
    """Return the cells that hold anything of use, alike ones together, richest first."""
    alike: defaultdict[Hashable, list[int]] = defaultdict(list)
    for cell, kind in enumerate(kinds):
        if any(map(min, amounts[cell], need)):
            alike[kind].append(cell)
    groups = [(amounts[cells[0]], cells) for cells in alike.values()]

    def share(group: _Group) -> float:
        held, _ = group
        return -sum(min(1.0, have / want) for have, want in zip(held, need, strict=True) if want)

    return sorted(groups, key=share)
