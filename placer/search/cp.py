"""One call of CP-SAT, with every outcome told apart, and the answer so far of a model."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ortools.sat.python import cp_model

from placer.search.budget import SolveBudget
from placer_models.cpsat.assignment import Expression
from placer_models.goals import ObjectiveSense

Solution = TypeVar("Solution", covariant=True)
"""CP-SAT's solver, which says what any expression is worth, or choices made of that."""


@dataclass(frozen=True, slots=True)
class TieredModelSolveResult(Generic[Solution]):
    """How far the tiers of a model have been solved, the first of them or all.

    Attributes:
        solution: The best that was found; None if nothing was, or nothing that is better than
            a known start.
        values: What that is worth, tier by tier. Without a solution that of the known start,
            empty if there is none.
        bounds: Per tier, what no solution beats that is as good in earlier tiers; None where
            that is not known.
        infeasible: Whether it is proven that there is no solution at all.

    """

    solution: Solution | None
    values: tuple[int, ...]
    bounds: tuple[int | None, ...]
    infeasible: bool = False

    @property
    def proven(self) -> bool:
        """Whether it is proven that no solution is better."""
        return bool(self.values) and self.values == self.bounds


SYMMETRY_S = 3e-7
"""Seconds per squared number of variables that CP-SAT may need to look for symmetries."""


FIRST_SHARE = 0.5
"""The share of a call's time for one worker, before all of them go on."""


class SolverError(Exception):
    """CP-SAT refused a model or contradicted the judge: a defect of ours."""


def optimise_expression(
    model: cp_model.CpModel,
    expression: Expression,
    sense: ObjectiveSense,
    budget: SolveBudget,
    share: float,
) -> TieredModelSolveResult[cp_model.CpSolver]:
    """Optimise the expression for at most a share of the budget.

    One worker goes first. It keeps asking linear programming, but neither tries literals before
    nor looks for cuts: our models are sums with cuts of their own, and it proves most of them
    in a tenth to a half of the time that several workers need (docs/solving.md has figures).
    If half the share is not enough, all workers go on from there.

    Args:
        model: Gets the expression as its objective, and what was found as a hint.
        expression: What is counted.
        sense: Whether more of it is better.
        budget: Counts what is spent.
        share: Seconds of time or of work.

    Returns:
        An answer of one tier.

    Raises:
        SolverError: CP-SAT calls the model invalid.

    """
    model.clear_objective()
    if sense is ObjectiveSense.MAXIMISE:
        model.maximize(expression)
    else:
        model.minimize(expression)
    several = budget.options.workers > 1
    solved = _solve(model, sense, budget, share * FIRST_SHARE if several else share, workers=1)
    if not several or solved.infeasible or solved.proven or budget.over:
        return solved
    if solved.solution is not None:
        replace_solver_hints(model, solution_values(solved.solution))
    again = _solve(model, sense, budget, share * (1 - FIRST_SHARE), budget.options.workers)
    return better_solution_and_bound(solved, again, sense)


def is_expression_proven_at_most(
    model: cp_model.CpModel, expression: Expression, most: int, budget: SolveBudget, share: float
) -> bool | None:
    """Return whether no solution has more than the most; None if that is not known in time.

    Args:
        model: It has no more use afterwards: it asks for more than the most.
        expression: What is counted.
        most: What it is compared with.
        budget: Counts what is spent.
        share: As in `optimise_expression`.

    """
    model.add(expression > most)
    # Any solution will do: none is better than another.
    found = optimise_expression(model, 0, ObjectiveSense.MAXIMISE, budget, share)
    return True if found.infeasible else None if found.solution is None else False


def better_solution_and_bound(
    earlier: TieredModelSolveResult[cp_model.CpSolver],
    later: TieredModelSolveResult[cp_model.CpSolver],
    sense: ObjectiveSense,
) -> TieredModelSolveResult[cp_model.CpSolver]:
    """Return the better solution and the narrower bound of two calls."""
    sign = 1 if sense is ObjectiveSense.MAXIMISE else -1
    known = [one for one in (later, earlier) if one.values]
    best = max(known, key=lambda one: sign * one.values[0], default=later)
    bounds = [sign * bound for one in (later, earlier) for bound in one.bounds if bound is not None]
    bound = sign * min(bounds) if bounds else None
    return TieredModelSolveResult(best.solution, best.values, (bound,), later.infeasible)


def solution_values(solution: cp_model.CpSolver) -> Iterable[tuple[int, int]]:
    """Return (variable index, value) pairs of all variables, for `replace_solver_hints`."""
    return enumerate(solution.response_proto.solution)


def _solve(
    model: cp_model.CpModel, sense: ObjectiveSense, budget: SolveBudget, share: float, workers: int
) -> TieredModelSolveResult[cp_model.CpSolver]:
    """Call CP-SAT once."""
    solver = cp_model.CpSolver()
    options = budget.options
    solver.parameters.num_workers = workers
    if workers == 1:
        solver.parameters.linearization_level = 2
        solver.parameters.cp_model_probing_level = 0
        solver.parameters.cut_level = 0
    solver.parameters.random_seed = options.seed
    # Ctrl-C belongs to the caller: CP-SAT would only end this one of many calls.
    solver.parameters.catch_sigint_signal = False
    if SYMMETRY_S * len(model.proto.variables) ** 2 > share:
        # CP-SAT looks for them past any limit: 36 s where 1 s is allowed, 1 pod on 1,000 nodes.
        solver.parameters.symmetry_level = 0
    if options.work_limit is None:
        solver.parameters.max_time_in_seconds = min(share, budget.left)
    else:
        solver.parameters.max_deterministic_time = min(share, budget.left)
    with budget.halt.stopping(solver.stop_search):
        status = solver.solve(model)
    budget.spent_work += solver.response_proto.deterministic_time
    if status == cp_model.MODEL_INVALID:
        raise SolverError(f"CP-SAT calls the model invalid: {model.validate()}")
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return TieredModelSolveResult(
        solution=solver if found else None,
        values=(round(solver.objective_value),) if found else (),
        # Without a solution CP-SAT's bound may be its initial 0, which proves nothing.
        bounds=(_bound(solver, sense) if found else None,),
        infeasible=status == cp_model.INFEASIBLE,
    )


def replace_solver_hints(model: cp_model.CpModel, variables: Iterable[tuple[int, int]]) -> None:
    """Start the next solve from these (variable index, value) pairs.

    A variable may come twice: 1 x a literal is the literal itself. They are written all at once:
    one by one they would take longer than all else that is done for a call of CP-SAT.
    """
    model.clear_hints()
    known = dict(variables)
    hints = model.proto.solution_hint
    hints.vars.extend(known.keys())
    hints.values.extend(known.values())


def _bound(solver: cp_model.CpSolver, sense: ObjectiveSense) -> int | None:
    """Round the bound to the integers that an objective can have."""
    bound = solver.best_objective_bound
    if abs(bound) >= 2**53:
        return None
    rounded = round(bound)
    if abs(bound - rounded) < 1e-6:
        return rounded
    return math.floor(bound) if sense is ObjectiveSense.MAXIMISE else math.ceil(bound)
