"""A bound on tier 1 for batches too large for the whole model.

Equal nodes are one class and equal pods one family; the model counts pods of a family on
a class. Resources are summed over the class, and every way of cutting a node into slots
bounds how many pods of at least that size it takes. Every placement is a solution, so
what the relaxed model cannot reach no placement can.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.expression import Expression
from placer_models.goals import MEMBER_ABOVE_POINTS, MEMBER_OF_MINIMUM_POINTS
from placer_models.problem import NodeState, Problem


@dataclass(frozen=True, slots=True)
class RelaxedModel:
    """The model, one expression for each priority level, and one for tier ``opened``."""

    model: CpModel
    levels: tuple[Expression, ...]
    opened: Expression


MOST_COUNTS = 100_000
"""Families x classes of nodes that are written down; a fleet of nodes that all differ
and as many different pods have no relaxed bound."""

MEMORY_BITS = 40
"""Memory is counted in so many bits at most, so that no sum leaves 64 bits."""


def build_relaxed_model(problem: Problem, stop: Callable[[], bool]) -> RelaxedModel | None:
    """Write the relaxed model down; nothing is solved yet.

    Args:
        problem: The batch.
        stop: Asked now and then whether the time is over.

    Returns:
        The model; None where it would be too large, or was stopped.

    """
    model = CpModel()
    classes = Counter(problem.nodes)
    families = _families(problem)
    at_home = {pod for pod, _ in problem.homes}
    if len(classes) * len(families) > MOST_COUNTS:
        return None
    unit = _memory_unit(problem)
    of_family: list[list[IntVar]] = [[] for _ in families]
    opened: list[IntVar] = []
    for c, (node, copies) in enumerate(classes.items()):
        if stop():
            return None
        here: list[tuple[Demands, IntVar]] = []
        there: Expression = copies
        if node.offered:
            opened.append(there := model.new_int_var(0, copies, f"opened[{c}]"))
        demands = {shape: _demands(problem, shape, node, unit) for _, shape, _ in families}
        for f, (_, shape, pods) in enumerate(families):
            asked = demands[shape]
            slots = 0 if asked is None else _slots(asked, len(pods))
            if asked is not None and slots:
                count = model.new_int_var(0, min(len(pods), copies * slots), f"count[{f},{c}]")
                of_family[f].append(count)
                if node.offered:
                    model.add(count <= slots * there)
                here.append((asked, count))
        _fill(model, there, here)
    placed = []
    for (_, _, pods), counts in zip(families, of_family, strict=True):
        total = LinearExpr.sum(counts)
        # Who runs now is placed in any case.
        model.add(total == len(pods) if pods[0] in at_home else total <= len(pods))
        placed.append(total)
    levels = _levels(model, problem, families, placed)
    return RelaxedModel(model, levels, LinearExpr.sum(opened))


def _families(problem: Problem) -> list[tuple[int | None, int, tuple[int, ...]]]:
    """Return (gang, shape, pods): equal members of a gang, or equal lone pods."""
    alike: defaultdict[tuple[int | None, int, int, int, bool], list[int]] = defaultdict(list)
    at_home = {pod for pod, _ in problem.homes}
    for index, gang in enumerate(problem.gangs):
        owner = None if len(gang.pods) == 1 and gang.group is None else index
        for pod in gang.pods:
            key = owner, problem.pods[pod], gang.level, gang.weight, pod in at_home
            alike[key].append(pod)
    return [(owner, shape, tuple(pods)) for (owner, shape, *_), pods in alike.items()]


Demands = dict[str, tuple[int, int]]
"""Resource -> (what a node has of it, what a pod takes of it)."""


def _demands(problem: Problem, index: int, node: NodeState, unit: int) -> Demands | None:
    """Return what a shape takes of a node; None: it never runs there."""
    shape = problem.shapes[index]
    if problem.fits[index][node.kind] is None:
        return None
    exclusive = shape.owned_cpus if shape.exclusive else 0
    found = {
        "cpus": (sum(c.cores * c.free for c in node.cores), shape.owned_cpus),
        "pool": (node.pool_milli, shape.shared_milli + 1000 * shape.owned_cpus),
        "be-pool": (node.best_effort_milli, shape.best_effort_milli + 1000 * exclusive),
        # Less is asked for and more is there than in truth: still nothing is cut off.
        "memory": (
            -(-sum(cell.memory for cell in node.cells) // unit),
            shape.memory // unit,
        ),
    }
    for i, pages in enumerate(shape.pages):
        found[f"pages {i}"] = (sum(cell.pages[i] for cell in node.cells), pages)
    for device_type, count in shape.devices:
        bank = node.bank(device_type)
        found[f"device {device_type}"] = (sum(bank.free) if bank else 0, count)
    for place, need in enumerate(shape.shares):
        bank = node.bank(need.type)
        slots = [slot for members in bank.slots for slot in members] if bank else []
        least = need.least_on(bank.board) if bank else need.count
        most = len(problem.pods) * least
        room = sum(slot.room_for(need.share, most, need.function) for slot in slots)
        found[f"share {index}.{place}"] = (room, least)
    for bank in node.banks:
        if bank.slots:
            # Whole devices and shares of one type together.
            percent = sum(slot.percent for members in bank.slots for slot in members)
            asked = 100 * shape.whole_of(bank.type) + sum(
                need.least_on(bank.board) * (need.share.percent or 0)
                for need in shape.shares
                if need.type == bank.type
            )
            found[f"percent {bank.type}"] = (percent, asked)
    for position, (left, asked) in enumerate(zip(node.extended, shape.extended, strict=True)):
        # As for memory: rounded so that still nothing is cut off.
        scale = 1 + (left >> MEMORY_BITS)
        found[f"extended {position}"] = (-(-left // scale), asked // scale)
    return {name: amounts for name, amounts in found.items() if amounts[1]}


def _slots(demands: Demands, most: int) -> int:
    """Return how many pods the node holds, each resource by itself."""
    return min((free // taken for free, taken in demands.values()), default=most)


def _fill(model: CpModel, copies: Expression, here: list[tuple[Demands, IntVar]]) -> None:
    """Bound what the pods of a class of nodes take of each resource."""
    takers: defaultdict[str, list[tuple[int, IntVar]]] = defaultdict(list)
    has: dict[str, int] = {}
    for demands, count in here:
        for name, (free, taken) in demands.items():
            takers[name].append((taken, count))
            has[name] = free
    for name, free in has.items():
        _fits(model, free, copies, takers[name])


def _memory_unit(problem: Problem) -> int:
    """Return the unit in which all memory asked for, and all there is, is small enough."""
    asked = sum(problem.shapes[shape].memory for shape in problem.pods)
    there = sum(cell.memory for node in problem.nodes for cell in node.cells)
    return 1 + (max(asked, there) >> MEMORY_BITS)


def _fits(model: CpModel, free: int, copies: Expression, takers: list[tuple[int, IntVar]]) -> None:
    """The sum fits the class, and pods of at least a size fit into the node's slots."""
    model.add(LinearExpr.sum([demand * var for demand, var in takers]) <= free * copies)
    for size in sorted({demand for demand, _ in takers}):
        slots = free // size
        large = [(demand // size, var) for demand, var in takers if demand >= size]
        model.add(LinearExpr.sum([units * var for units, var in large]) <= slots * copies)


def _levels(
    model: CpModel,
    problem: Problem,
    families: list[tuple[int | None, int, tuple[int, ...]]],
    placed: list[LinearExpr],
) -> tuple[Expression, ...]:
    """Return the points of each priority level; gangs and groups run whole or not."""
    terms: list[list[Expression]] = [[] for _ in problem.priorities]
    of_gang: defaultdict[int, list[LinearExpr]] = defaultdict(list)
    gang_of = {pod: index for index, gang in enumerate(problem.gangs) for pod in gang.pods}
    for (owner, _, pods), total in zip(families, placed, strict=True):
        gang = problem.gangs[gang_of[pods[0]]]
        if owner is None:
            terms[gang.level].append(gang.weight * MEMBER_OF_MINIMUM_POINTS * total)
        else:
            of_gang[owner].append(total)
    groups: dict[int, IntVar] = {}
    for index, totals in of_gang.items():
        gang = problem.gangs[index]
        reached = model.new_bool_var(f"reached[{index}]")
        members = LinearExpr.sum(totals)
        model.add(members >= gang.minimum * reached)
        model.add(members <= len(gang.pods) * reached)
        if gang.group is not None:
            model.add(reached == groups.setdefault(gang.group, reached))
        lead = (MEMBER_OF_MINIMUM_POINTS - MEMBER_ABOVE_POINTS) * gang.minimum
        points = lead * reached + MEMBER_ABOVE_POINTS * members
        terms[gang.level].append(gang.weight * points)
    return tuple(LinearExpr.sum(level) for level in terms)
