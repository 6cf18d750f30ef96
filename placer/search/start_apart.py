"""Whom pods that keep apart meet in a known placement, as a hint to CP-SAT."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from ortools.sat.python.cp_model import IntVar

from placer_models.cpsat.assignment import Assignment
from placer_models.cpsat.guests import Guest
from placer_models.problem import Choice, NodeState, Problem

Stay = tuple[Assignment, Guest, Choice | None]
"""An assignment, what the model counts of its pod, and the pod's place if it is there."""


def hint_of_guests(problem: Problem, stays: Sequence[Stay]) -> Iterator[tuple[int, int]]:
    """Yield (variable index, value) pairs for the guests of all nodes."""
    on_node: defaultdict[int, list[Stay]] = defaultdict(list)
    for stay in stays:
        on_node[stay[0].node].append(stay)
    for index, here in on_node.items():
        node = problem.nodes[index]
        cells = [_cells(node, guest, choice) for _, guest, choice in here]
        guests = Counter(cell for used in cells for cell in used)
        for (_, guest, choice), used in zip(here, cells, strict=True):
            fell = any(guests[c] > 1 or node.cells[c].held is not None for c in used)
            yield from _guest(guest, choice, used, fell=fell)


def _guest(
    guest: Guest, choice: Choice | None, used: set[int], *, fell: bool
) -> Iterator[tuple[int, int]]:
    if guest.fell_back is not None:
        yield guest.fell_back.index, int(fell)
    for cell, literal in enumerate(guest.cells):
        if isinstance(literal, IntVar):
            yield literal.index, int(cell in used)
    counts = choice is not None and (guest.fell_back is None or fell)
    for i, counted in enumerate(guest.pairs):
        if isinstance(counted, IntVar):
            taken = choice.cores[i] if choice is not None and counts else None
            yield counted.index, 2 * taken.touched - taken.threads if taken else 0
    for i, counted in enumerate(guest.cores):
        if isinstance(counted, IntVar):
            taken = choice.cores[i] if choice is not None and counts else None
            yield counted.index, taken.touched if taken and taken.threads else 0


def _cells(node: NodeState, guest: Guest, choice: Choice | None) -> set[int]:
    """Return the NUMA nodes, as cells, of the pod's CPUs where that is counted."""
    if choice is None or not guest.cells:
        return set()
    return {
        core.cell
        for core, take in zip(node.cores, choice.cores, strict=True)
        if (take.whole or take.threads) and node.cells[core.cell].numa_node is not None
    }
