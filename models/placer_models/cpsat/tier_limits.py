"""Tier limits: how many of the tiers a model of a batch can state exactly."""

from collections import Counter
from math import prod

from placer_models.cpsat.node_strategy import mean_score_product_count, variance_table_row_count
from placer_models.cpsat.shares import number_of_fitting_devices_by_class
from placer_models.device import GPU
from placer_models.goals import DEVICE_CHOICE, LEAST_REQUESTED, MOST_BALANCED, NOT_MODELLED
from placer_models.links.allowed import count_offered_device_sets
from placer_models.problem.banks import DeviceBank
from placer_models.problem.problem import Problem

TIERS_OF_SETS = 2
"""How many tiers look at which GPU set a pod has: the links of each pod."""

MOST_SETS = 100_000
"""The most GPU sets that pods are offered in one model, over all pods and nodes."""

MOST_TABLE_ROWS = 20_000
"""The most rows of a table, for example one for each combination of a board's free counts."""


MOST_PRODUCTS = 4_000
"""The most products of numbers of pods on a node in one model, over all nodes."""

MOST_COMPARED = 50_000
"""The most pairs of devices that are compared for shares with a device choice."""


def number_of_modelled_tiers(problem: Problem) -> int:
    """Return how many tiers, from the first on, a model of the batch can state exactly.

    These are all tiers, but those that no model states, with three exceptions. A board may be
    large and irregular: one of 16 GPUs, no two of them equivalent, has 65,536 states. What is left
    usable of it cannot be looked up, and many pods on it have too many sets to choose from. A
    strategy that looks at pods together cannot be stated where too many different ones could meet,
    nor a device choice where too many devices are compared with each other for shares. Tiers left
    out are up to the greedy path, and to parts that are small enough.
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
    """Return whether a model can state what the instance's strategy counts on each node."""
    if not NOT_MODELLED.isdisjoint(problem.asked):
        return False
    if LEAST_REQUESTED in problem.asked:
        return mean_score_product_count(problem) <= MOST_PRODUCTS
    return (
        MOST_BALANCED not in problem.asked or variance_table_row_count(problem) <= MOST_TABLE_ROWS
    )


def _compared(problem: Problem) -> int:
    """Return how many pairs of devices are compared for all pods with a device choice."""
    pairs: Counter[tuple[int, str]] = Counter()
    for node in problem.nodes:
        for bank in node.banks:
            pairs[node.kind, bank.type] += sum(map(len, bank.shareable)) ** 2
    total = 0
    for index, pods in Counter(problem.pods).items():
        needs = [need for shape in problem.shapes_of(index) for need in shape.shares]
        types = {need.type for need in needs if need.choice}
        total += pods * sum(
            count
            for (kind, device_type), count in (pairs.items() if types else ())
            if device_type in types and problem.fits[index][kind] is not None
        )
    return total


def _sets(problem: Problem) -> int:
    """Return how many GPU sets all pods are offered on all nodes, or more than the most."""
    banks: Counter[tuple[int, DeviceBank]] = Counter(
        (node.kind, bank) for node in problem.nodes if (bank := node.bank(GPU))
    )
    total = 0
    for index, pods in Counter(problem.pods).items():
        for (kind, bank), nodes in banks.items():
            shape = problem.shapes[
                problem.on_kinds[index][kind] if index in problem.on_kinds else index
            ]
            size = shape.count_of(GPU)
            if size > 1 and problem.fits[index][kind] is not None:
                reach = number_of_fitting_devices_by_class(bank, shape)
                offered = count_offered_device_sets(bank.board, size, reach, shape.scope_of(GPU))
                total += pods * nodes * offered
                if total > MOST_SETS:
                    return total
    return total


def _table_rows(problem: Problem) -> list[int]:
    free = {
        tuple(map(len, bank.shareable)) if bank.shareable else bank.free
        for node in problem.nodes
        for bank in node.banks
        if bank.type == GPU
    }
    return [prod(count + 1 for count in counts) for counts in free]
