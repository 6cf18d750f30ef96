"""The rule about devices within one place; GPUs keep it by the sets they are offered (D10)."""

from collections import defaultdict

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Variables
from placer_models.cpsat.expression import Expression
from placer_models.device import GPU
from placer_models.links import place_keys
from placer_models.problem import Problem


def a_pod_has_its_devices_within_their_scope(
    model: CpModel, problem: Problem, x: Variables
) -> None:
    """All devices of a type are on one switch, NUMA node or package, and it is known."""
    for assignment in x.assignments:
        node = problem.nodes[assignment.node]
        for kind, scope in assignment.shape.scopes:
            if kind == GPU:
                continue
            for index, bank in enumerate(node.banks):
                if bank.type != kind:
                    continue
                taken = [assignment.touched(index, twin) for twin in range(len(bank.free))]
                inside: defaultdict[int | str | None, list[Expression]] = defaultdict(list)
                for key, count in zip(place_keys(bank.board, scope), taken, strict=True):
                    inside[key].append(count)
                within = []
                for key, counts in inside.items():
                    here: Expression = 0
                    if key is not None:
                        here = model.new_bool_var(
                            f"within[{assignment.unit},{node.name},{kind},{key}]"
                        )
                        within.append(here)
                    model.add(LinearExpr.sum(counts) <= assignment.shape.count_of(kind) * here)
                model.add(LinearExpr.sum(within) <= 1)
