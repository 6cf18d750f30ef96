"""Patterns chosen whole: among those that a program knows, by a model in whole numbers."""

import numpy as np
from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer.search.budget import Budget
from placer.search.cp import optimise_expression
from placer.search.patterns.dive import NodeFilling
from placer.search.patterns.program import PatternProgram
from placer_models.goals import Sense


def choose_patterns(
    program: PatternProgram, level: int, budget: Budget, share: float
) -> list[NodeFilling]:
    """Return the best filling by patterns that the program knows; empty if none was found.

    Args:
        program: The program, with its patterns.
        level: The index of the priority whose points are counted.
        budget: Counts what is spent.
        share: Seconds of time or of work.

    """
    model = CpModel()
    columns = program.known
    times = [
        model.new_int_var(0, len(program.alike[alike].nodes), f"times[{number}]")
        for number, (alike, _) in enumerate(columns)
    ]
    for index, group in enumerate(program.alike):
        on = [x for x, (alike, _) in zip(times, columns, strict=True) if alike == index]
        model.add(LinearExpr.sum(on) <= len(group.nodes))
    points: list[list[LinearExpr]] = [[] for _ in range(level + 1)]
    counts = [np.bincount(pattern, minlength=len(program.kinds)) for _, pattern in columns]
    for k, kind in enumerate(program.kinds):
        placed = model.new_int_var(0, len(kind.pods), f"placed[{k}]")
        room = [int(of[k]) * x for of, x in zip(counts, times, strict=True) if of[k]]
        model.add(placed <= LinearExpr.sum(room))
        points[kind.level].append(kind.points * placed)
    for before, least in enumerate(program.kept):
        model.add(LinearExpr.sum(points[before]) >= least)
    found = optimise_expression(model, LinearExpr.sum(points[level]), Sense.MAXIMISE, budget, share)
    if found.solution is None:
        return []
    left = np.array([len(kind.pods) for kind in program.kinds], dtype=np.intp)
    filled = []
    for x, (alike, _), of in zip(times, columns, counts, strict=True):
        for _ in range(found.solution.value(x)):
            taken = np.minimum(of, left)
            left -= taken
            filled.append(NodeFilling(alike, taken))
    return filled
