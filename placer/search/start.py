"""A known placement as a hint to CP-SAT."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from ortools.sat.python.cp_model import IntVar

from placer.search.start_apart import Stay, hint_of_guests
from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.families import FAMILIES
from placer_models.cpsat.family import KnownPlaces
from placer_models.cpsat.opened import equal_offers
from placer_models.device import GPU
from placer_models.problem import Choice, Choices, Problem


def hint_of(problem: Problem, x: Variables, choices: Choices) -> Iterator[tuple[int, int]]:
    """Yield (variable index, value) pairs that say the choices in the model's words.

    Interchangeable units are dealt the places of their family in the model's order,
    so that the hint keeps the rule that breaks their symmetry.
    """
    choices = _earlier_offers_first(problem, choices)
    shared = {
        (choice.node, t.bank, t.twin, t.slot) for choice in choices.values() for t in choice.shares
    }
    for node, opened in enumerate(x.opened):
        for key, literal in opened.items():
            yield literal.index, int((node, *key) in shared)
    homes = dict(problem.homes)
    for pod, literal in x.stays.items():
        yield literal.index, int(choices.get(pod) == homes[pod])
    stays: list[Stay] = []
    at: list[tuple[Assignment, list[Choice]]] = []
    used = {choice.node for choice in choices.values()}
    for node, literal in x.node_opened.items():
        yield literal.index, int(node in used)
    families: defaultdict[int, list[int]] = defaultdict(list)
    for index, unit in enumerate(x.units):
        families[unit.family].append(index)
    for members in families.values():
        pods = sorted(
            (pod for index in members for pod in x.units[index].pods if pod in choices),
            key=lambda pod: choices[pod].node,
        )
        for index in members:
            size = len(x.units[index].pods)
            mine, pods = pods[:size], pods[size:]
            for assignment in x.of_unit[index]:
                here = [choices[pod] for pod in mine if choices[pod].node == assignment.node]
                yield assignment.count.index, len(here)
                at.append((assignment, here))
                yield from _assign(problem, assignment, here)
                if assignment.guest is not None:
                    stays.append((assignment, assignment.guest, here[0] if here else None))
    yield from hint_of_guests(problem, stays)
    known = KnownPlaces(choices, at)
    for family in FAMILIES:
        if family.hint is not None:
            yield from family.hint(problem, x, known)


def _earlier_offers_first(problem: Problem, choices: Choices) -> Choices:
    """Rename equal offered nodes so that earlier ones have more pods, as the model wants."""
    loads = Counter(choice.node for choice in choices.values())
    renamed = {
        old: new
        for members in equal_offers(problem)
        for old, new in zip(sorted(members, key=lambda node: -loads[node]), members, strict=True)
    }
    if not renamed:
        return choices
    return {
        pod: replace(choice, node=renamed.get(choice.node, choice.node))
        for pod, choice in choices.items()
    }


def _assign(
    problem: Problem, assignment: Assignment, here: list[Choice]
) -> Iterator[tuple[int, int]]:
    for i, part in enumerate(assignment.cores):
        yield from _variable(part.whole, sum(choice.cores[i].whole for choice in here))
        yield from _variable(part.threads, sum(choice.cores[i].threads for choice in here))
        if part.touched is not part.threads:
            yield from _variable(part.touched, sum(c.cores[i].touched for c in here))
    for bank, taken in enumerate(assignment.devices):
        counts = [sum(choice.devices[bank][i] for choice in here) for i in range(len(taken))]
        for expression, count in zip(taken, counts, strict=True):
            yield from _variable(expression, count)
    for span in (assignment.packages, assignment.caches, assignment.cells):
        for group, literal in zip(span.groups, span.touched, strict=True) if span else ():
            takes = [choice.cores[i] for choice in here for i in group]
            yield literal.index, int(any(take.whole or take.threads for take in takes))
    yield from _close(problem, assignment, here)
    if assignment.picks:
        banks = problem.nodes[assignment.node].banks
        gpus = next(index for index, bank in enumerate(banks) if bank.type == GPU)
        picked = {choice.touched(gpus) for choice in here}
        for selection, literal in assignment.picks:
            yield literal.index, int(selection.counts in picked)
    for share in assignment.takes:
        yield share.count.index, sum(share.take in choice.shares for choice in here)
    for i, pinned in enumerate(assignment.memory):
        amount = sum(choice.memory[i] for choice in here if choice.memory is not None)
        yield from _variable(pinned, amount)
    if assignment.joint is not None:
        yield from _joint(problem, assignment, here)
    yield from _containers(assignment, here)
    yield from _pool(assignment, here)
    for size, pages in enumerate(assignment.pages):
        for i, pinned in enumerate(pages):
            yield from _variable(pinned, sum(choice.pages[size][i] for choice in here))
    if assignment.used and assignment.used[0] is not assignment.count:
        cells = {cell for choice in here for cell in _cells(problem, assignment, choice)}
        for i, used in enumerate(assignment.used):
            yield from _variable(used, int(i in cells))


def _close(
    problem: Problem, assignment: Assignment, here: list[Choice]
) -> Iterator[tuple[int, int]]:
    """Yield which packages anything of the pod is in, where that is counted."""
    if assignment.close is None:
        return
    node = problem.nodes[assignment.node]
    found = {
        node.cells[cell].package for choice in here for cell in _cells(problem, assignment, choice)
    }
    for choice in here:
        for core, take in zip(node.cores, choice.cores, strict=True):
            if take.whole or take.threads:
                found.add(core.package)
    for package, literal in zip(assignment.close.keys, assignment.close.touched, strict=True):
        yield literal.index, int(package in found)


def _pool(assignment: Assignment, here: list[Choice]) -> Iterator[tuple[int, int]]:
    """Yield to which cells' pool the pod is bound, and what it counts there if that is fixed."""
    if assignment.pool is None:
        return
    fixed = {cells[0]: milli for c in here for cells, milli in c.pool if len(cells) == 1}
    for cell, used in enumerate(assignment.pool.used):
        if used is not (assignment.used[cell] if assignment.used else None):
            yield from _variable(used, int(any(cell in c.pool_cells for c in here)))
    if not any(len(cells) > 1 for c in here for cells, _ in c.pool):
        for cell, milli in enumerate(assignment.pool.milli):
            yield from _variable(milli, fixed.get(cell, 0))


def _joint(
    problem: Problem, assignment: Assignment, here: list[Choice]
) -> Iterator[tuple[int, int]]:
    """Yield which groups give devices of which types."""
    assert assignment.joint is not None
    assert assignment.fit.joint is not None
    at = {bank.type: i for i, bank in enumerate(problem.nodes[assignment.node].banks)}
    given = {
        (group, i)
        for choice in here
        for i, ((kind, _), groups) in enumerate(
            zip(assignment.fit.joint.types, assignment.fit.joint.groups, strict=True)
        )
        for group, count in zip(groups, choice.touched(at[kind]), strict=True)
        if count
    }
    for group in assignment.joint.groups:
        used = [(group.index, i) in given for i in range(len(group.used))]
        for literal, value in zip(group.used, used, strict=True):
            yield from _variable(literal, int(value))
        if group.apart is not None:
            yield group.apart.index, int(any(used) and not all(used))


def _containers(assignment: Assignment, here: list[Choice]) -> Iterator[tuple[int, int]]:
    """Yield the hint of containers that are aligned each for itself."""
    for position, container in enumerate(assignment.containers):
        parts = [choice.containers[position] for choice in here]
        for good, row in enumerate(container.taken):
            for place, taken in enumerate(row):
                yield from _variable(taken, sum(part[good][place] for part in parts))
        for cell, used in enumerate(container.used):
            yield from _variable(used, int(any(row[cell] for part in parts for row in part)))


def _variable(expression: Expression, value: int) -> Iterator[tuple[int, int]]:
    """Yield the hint of a plain variable; what is derived needs none."""
    if isinstance(expression, IntVar):
        yield expression.index, value


def _cells(problem: Problem, assignment: Assignment, choice: Choice) -> Iterator[int]:
    """Yield the cells that the CPUs, the memory and the devices of a choice are in."""
    node = problem.nodes[choice.node]
    yield from choice.pool_cells
    for core, take in zip(node.cores, choice.cores, strict=True):
        if take.whole or take.threads:
            yield core.cell
    for i, amount in enumerate(choice.memory or ()):
        if amount:
            yield i
    for pages in choice.pages:
        yield from (i for i, count in enumerate(pages) if count)
    for index, bank in enumerate(node.banks):
        for cell, count in zip(bank.cells, choice.touched(index), strict=True):
            if count and cell is not None:
                yield cell
