"""One call of CP-SAT, with every outcome told apart."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ortools.sat.python import cp_model

from placer.search.budget import Budget
from placer_models.cpsat.expression import Expression
from placer_models.goals import Sense

SYMMETRY_S = 3e-7
"""Seconds per squared number of variables that CP-SAT may need to look for symmetries."""


FIRST_SHARE = 0.5
"""The share of a call's time for one worker, before all of them go on."""


class SolverError(Exception):
    """CP-SAT refused a model or contradicted the judge: a defect of ours."""


@dataclass(frozen=True, slots=True)
class Solution:
    """One solution of a model.

    Attributes:
        variables: The value of every variable, by index.
        value: Evaluates any expression over the model's variables.

    """

    variables: tuple[int, ...]
    value: Callable[[Expression], int]


@dataclass(frozen=True, slots=True)
class Solved:
    """What one call found.

    Attributes:
        solution: The solution; None if none was found.
        value: Its objective.
        bound: An objective that no solution beats; None if none is known.
        infeasible: Whether it is proven that there is no solution at all.

    """

    solution: Solution | None
    value: int | None
    bound: int | None
    infeasible: bool

    @property
    def proven(self) -> bool:
        """Whether it is proven that no solution is better."""
        return self.value is not None and self.value == self.bound

    def with_more(self, later: "Solved", sense: Sense) -> "Solved":
        """Return the better solution and the narrower bound of two calls."""
        sign = 1 if sense is Sense.MAXIMISE else -1
        values = [(sign * one.value, one) for one in (later, self) if one.value is not None]
        best = max(values, key=lambda pair: pair[0], default=(0, later))[1]
        bounds = [sign * one.bound for one in (later, self) if one.bound is not None]
        bound = sign * min(bounds) if bounds else None
        return Solved(best.solution, best.value, bound, later.infeasible)


def optimise(
    model: cp_model.CpModel,
    expression: Expression,
    sense: Sense,
    budget: Budget,
    share: float,
) -> Solved:
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

    Raises:
        SolverError: CP-SAT calls the model invalid.

    """
    model.clear_objective()
    if sense is Sense.MAXIMISE:
        model.maximize(expression)
    else:
        model.minimize(expression)
    several = budget.options.workers > 1
    solved = _solve(model, sense, budget, share * FIRST_SHARE if several else share, workers=1)
    if not several or solved.infeasible or solved.proven or budget.over:
        return solved
    if solved.solution is not None:
        hint(model, enumerate(solved.solution.variables))
    again = _solve(model, sense, budget, share * (1 - FIRST_SHARE), budget.options.workers)
    return solved.with_more(again, sense)


def _solve(
    model: cp_model.CpModel, sense: Sense, budget: Budget, share: float, workers: int
) -> Solved:
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
    return Solved(
        solution=Solution(tuple(solver.response_proto.solution), solver.value) if found else None,
        value=round(solver.objective_value) if found else None,
        # Without a solution CP-SAT's bound may be its initial 0, which proves nothing.
        bound=_bound(solver, sense) if found else None,
        infeasible=status == cp_model.INFEASIBLE,
    )


def hint(model: cp_model.CpModel, variables: Iterable[tuple[int, int]]) -> None:
    """Start the next solve from these (variable index, value) pairs.

    A variable may come twice: 1 x a literal is the literal itself. They are written all at once:
    one by one they would take longer than all else that is done for a call of CP-SAT.
    """
    model.clear_hints()
    known = dict(variables)
    hints = model.proto.solution_hint
    hints.vars.extend(known.keys())
    hints.values.extend(known.values())


def _bound(solver: cp_model.CpSolver, sense: Sense) -> int | None:
    """Round the bound to the integers that an objective can have."""
    bound = solver.best_objective_bound
    if abs(bound) >= 2**53:
        return None
    towards = -1 if sense is Sense.MAXIMISE else 1
    rounded = round(bound)
    if abs(bound - rounded) < 1e-6:
        return rounded
    return int(bound // 1) if towards < 0 else -int(-bound // 1)
