"""How far down the tiers a model of a batch can go."""

from collections import Counter
from math import prod

from placer_models.cpsat.node_strategy import products_of, rows_of
from placer_models.cpsat.shares import reach_of
from placer_models.device import GPU
from placer_models.goals import DEVICE_CHOICE, LEAST_REQUESTED, MOST_BALANCED
from placer_models.links import offered_count
from placer_models.problem import Problem

TIERS_OF_SETS = 2
"""Links of each pod: the tiers that look at which GPU set a pod has."""

MOST_SETS = 100_000
"""GPU sets that pods are offered in one model, over all pods and nodes."""

MOST_TABLE_ROWS = 20_000
"""Free counts of one board that a table is written for."""


MOST_PRODUCTS = 4_000
"""Products of numbers of pods on one node that one model has."""

MOST_COMPARED = 50_000
"""Pairs of devices that are compared for shares with a device choice."""


def modelled_tiers(problem: Problem) -> int:
    """Return how many tiers, from the first on, a model of the batch can say exactly.

    All of them, unless a board is large and irregular. A board of 16 GPUs, no two of them
    equivalent, has 65,536 states: what is left usable of it cannot be looked up, and many pods
    on it have too many sets to choose from. Nor can a strategy be said that looks at pods
    together, where too many different ones could meet, or where too many devices are
    compared with each other for shares. The tiers that are left out are looked after by
    the greedy path, and in parts that are small enough.
    """
    before = problem.before_links
    if _sets(problem) > MOST_SETS:
        return before
    if any(rows > MOST_TABLE_ROWS for rows in _table_rows(problem)):
        return before + TIERS_OF_SETS
    if DEVICE_CHOICE in problem.asked and _compared(problem) > MOST_COMPARED:
        return problem.tiers.index(DEVICE_CHOICE)
    return len(problem.tiers) - (not _says_who_is_there(problem))


def _says_who_is_there(problem: Problem) -> bool:
    """Return whether a model can say what the instance's strategy counts on each node."""
    if LEAST_REQUESTED in problem.asked:
        return products_of(problem) <= MOST_PRODUCTS
    return MOST_BALANCED not in problem.asked or rows_of(problem) <= MOST_TABLE_ROWS


def _compared(problem: Problem) -> int:
    """Return how many pairs of devices all pods with a device choice have, on all nodes."""
    total = 0
    for index, pods in Counter(problem.pods).items():
        kinds = {need.type for need in problem.shapes[index].shares if need.choice}
        for node in problem.nodes if kinds else ():
            if problem.fits[index][node.kind] is not None:
                banks = (node.bank(kind) for kind in kinds)
                total += pods * sum(sum(map(len, b.shareable)) ** 2 for b in banks if b)
    return total


def _sets(problem: Problem) -> int:
    """Return how many GPU sets all pods are offered on all nodes."""
    offered: dict[tuple[object, ...], int] = {}
    total = 0
    for index, pods in Counter(problem.pods).items():
        shape = problem.shapes[index]
        size = shape.count_of(GPU)
        for node in problem.nodes:
            bank = node.bank(GPU)
            if size < 2 or bank is None or problem.fits[index][node.kind] is None:
                continue
            # Nodes of one kind have one board.
            key = (index, node.kind, bank.free, bank.shareable)
            if key not in offered:
                reach = reach_of(bank, shape)
                offered[key] = offered_count(bank.board, size, reach, shape.scope_of(GPU))
            total += pods * offered[key]
    return total


def _table_rows(problem: Problem) -> list[int]:
    free = {
        tuple(map(len, bank.shareable)) if bank.shareable else bank.free
        for node in problem.nodes
        for bank in node.banks
        if bank.type == GPU
    }
    return [prod(count + 1 for count in counts) for counts in free]
