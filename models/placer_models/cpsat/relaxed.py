"""A bound on tier 1 for batches too large for the whole model.

Equal nodes are one class and equal pods one family; the model counts pods of a family on
a class. Resources are summed over the class, and every way of cutting a node into slots
bounds how many pods of at least that size it takes. Every placement is a solution, so
what the relaxed model cannot reach no placement can.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.expression import Expression
from placer_models.goals import MEMBER_ABOVE_POINTS, MEMBER_OF_MINIMUM_POINTS
from placer_models.problem import NodeState, Problem, Shape


@dataclass(frozen=True, slots=True)
class RelaxedModel:
    """The model and one expression for each priority level."""

    model: CpModel
    levels: tuple[Expression, ...]


def build_relaxed_model(problem: Problem) -> RelaxedModel:
    """Write the relaxed model down; nothing is solved yet."""
    model = CpModel()
    classes: defaultdict[NodeState, int] = defaultdict(int)
    for node in problem.nodes:
        classes[node] += 1
    families = _families(problem)
    counts: dict[tuple[int, int], IntVar] = {}
    for f, (_, shape, pods) in enumerate(families):
        for c, (node, copies) in enumerate(classes.items()):
            slots = _slots(problem, shape, node)
            if slots:
                most = min(len(pods), copies * slots)
                counts[f, c] = model.new_int_var(0, most, f"count[{f},{c}]")
    for c, (node, copies) in enumerate(classes.items()):
        here = [(problem.shapes[families[f][1]], var) for (f, at), var in counts.items() if at == c]
        for free, takers in _resources(node, here):
            _fits(model, free, copies, takers)
    placed = []
    for f, (_, _, pods) in enumerate(families):
        total = LinearExpr.sum([var for (family, _), var in counts.items() if family == f])
        model.add(total <= len(pods))
        placed.append(total)
    return RelaxedModel(model, _levels(model, problem, families, placed))


def _families(problem: Problem) -> list[tuple[int | None, int, tuple[int, ...]]]:
    """Return (gang, shape, pods): equal members of a gang, or equal lone pods."""
    alike: defaultdict[tuple[int | None, int, int, int], list[int]] = defaultdict(list)
    for index, gang in enumerate(problem.gangs):
        owner = None if len(gang.pods) == 1 and gang.group is None else index
        for pod in gang.pods:
            alike[owner, problem.pods[pod], gang.level, gang.weight].append(pod)
    return [(owner, shape, tuple(pods)) for (owner, shape, _, _), pods in alike.items()]


def _slots(problem: Problem, shape_index: int, node: NodeState) -> int:
    """Return how many pods of the shape the node holds, each resource by itself."""
    shape = problem.shapes[shape_index]
    if problem.fits[shape_index][node.kind] is None:
        return 0
    return min(
        (free // demand for free, demand in _demands(node, shape) if demand),
        default=len(problem.pods),
    )


def _demands(node: NodeState, shape: Shape) -> Iterator[tuple[int, int]]:
    """Yield what the node has and what the shape takes of it, resource by resource."""
    yield sum(c.cores * c.free for c in node.cores), shape.owned_cpus
    yield node.pool_milli, shape.shared_milli + 1000 * shape.owned_cpus
    yield (
        node.best_effort_milli,
        shape.best_effort_milli + 1000 * (shape.owned_cpus if shape.exclusive else 0),
    )
    yield sum(cell.memory for cell in node.cells), shape.memory
    for device_type, count in shape.devices:
        bank = node.bank(device_type)
        yield (sum(bank.free) if bank else 0), count


def _resources(
    node: NodeState, here: list[tuple[Shape, IntVar]]
) -> Iterator[tuple[int, list[tuple[int, IntVar]]]]:
    """Yield each resource of a node: what is free, and who takes how much of it."""
    plain = 4
    for i in range(plain):
        amounts = [(list(_demands(node, shape))[i], var) for shape, var in here]
        if amounts:
            yield amounts[0][0][0], [(demand, var) for (_, demand), var in amounts if demand]
    for bank in node.banks:
        takers = [(shape.count_of(bank.type), var) for shape, var in here]
        yield sum(bank.free), [(count, var) for count, var in takers if count]


def _fits(model: CpModel, free: int, copies: int, takers: list[tuple[int, IntVar]]) -> None:
    """The sum fits the class, and pods of at least a size fit into the node's slots."""
    if not takers:
        return
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
