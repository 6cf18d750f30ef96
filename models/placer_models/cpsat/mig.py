"""MIG: instances of a GPU do not overlap, and what it can still be cut into."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.expression import Expression
from placer_models.cpsat.variables import Decisions, Seat
from placer_models.problem import NodeState, Problem

Taken = dict[tuple[int, int], list[Expression]]
"""(GPU, slice) -> the instances that take it, each 0 or 1."""


def instances_of_a_gpu_do_not_overlap(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Each slice of a GPU in MIG mode belongs to one instance at most."""
    for node, seats in zip(problem.nodes, x.on_node, strict=True):
        for instances in _taken(node, seats).values():
            model.add(LinearExpr.sum(instances) <= 1)


def usable_instances(
    model: CpModel, node: NodeState, seats: Sequence[Seat]
) -> Iterator[Expression]:
    """Yield the points of every instance that the node could still make."""
    taken = _taken(node, seats)
    for bank in node.banks:
        for twin, (cut, free) in enumerate(zip(bank.cuts, bank.free, strict=False)):
            if not free or not cut.points:
                continue
            takers = [t for s in cut.covers for t in (taken.get((cut.gpu, s)),) if t]
            if not takers:
                yield cut.points
                continue
            literal = model.new_bool_var(f"could[{node.name},{bank.type},{twin}]")
            for instances in takers:
                model.add(literal + LinearExpr.sum(instances) <= 1)
            yield cut.points * literal


def _taken(node: NodeState, seats: Sequence[Seat]) -> Taken:
    taken: defaultdict[tuple[int, int], list[Expression]] = defaultdict(list)
    for index, bank in enumerate(node.banks):
        takers = [seat for seat in seats if bank.cuts and seat.shape.count_of(bank.type)]
        for twin, cut in enumerate(bank.cuts):
            if bank.free[twin]:
                for part in cut.covers:
                    taken[cut.gpu, part] += [seat.devices[index][twin] for seat in takers]
    return {key: instances for key, instances in taken.items() if instances}
