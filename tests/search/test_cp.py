"""One call of CP-SAT, and what it may claim."""

from typing import Any

import pytest
from ortools.sat.python.cp_model import CpModel, CpSolver

from placer.search import cp
from placer.search.budget import SolveBudget
from placer.search.cp import (
    SolverError,
    TieredModelSolveResult,
    better_solution_and_bound,
    optimise_expression,
)
from placer.search.options import SolveOptions
from placer_models.goals import ObjectiveSense

NOTHING: TieredModelSolveResult[CpSolver] = TieredModelSolveResult(None, (), (None,))


def found(value: int, bound: int | None) -> TieredModelSolveResult[CpSolver]:
    return TieredModelSolveResult(None, (value,), (bound,))


def budget(seconds: float = 10) -> SolveBudget:
    return SolveBudget(SolveOptions(workers=1, time_limit_s=seconds))


def test_a_search_that_had_no_time_claims_no_bound() -> None:
    """
    CP-SAT then says 0, which is below what a known placement has: a false proof.
    """
    model = CpModel()
    x = model.new_int_var(0, 9, "x")
    solved = optimise_expression(model, x, ObjectiveSense.MAXIMISE, budget(), share=0)

    assert (solved.solution, solved.bounds, solved.infeasible) == (None, (None,), False)


@pytest.mark.parametrize(
    ("sense", "best"), [(ObjectiveSense.MAXIMISE, 7), (ObjectiveSense.MINIMISE, 2)]
)
def test_value_and_bound_meet_at_the_optimum(sense: ObjectiveSense, best: int) -> None:
    """
    Both directions, and the solution can be asked for any expression.
    """
    model = CpModel()
    x = model.new_int_var(2, 7, "x")
    solved = optimise_expression(model, x, sense, budget(), share=10)

    assert solved.solution is not None
    assert (solved.solution.value(x + 1), solved.bounds) == (best + 1, (best,))


def test_a_second_goal_replaces_the_first() -> None:
    """
    The same model is asked for one tier after the other.
    """
    model = CpModel()
    x = model.new_int_var(0, 3, "x")
    optimise_expression(model, x, ObjectiveSense.MAXIMISE, budget(), share=10)

    assert optimise_expression(model, x, ObjectiveSense.MINIMISE, budget(), share=10).bounds == (0,)


def test_no_solution_is_told_apart_from_no_time() -> None:
    """
    Infeasible is a proof, and no solution comes with it.
    """
    model = CpModel()
    x = model.new_int_var(0, 3, "x")
    model.add(x >= 4)
    solved = optimise_expression(model, x, ObjectiveSense.MAXIMISE, budget(), share=10)

    assert (solved.infeasible, solved.solution) == (True, None)


def test_an_invalid_model_is_our_defect() -> None:
    """
    MODEL_INVALID is never passed on as an answer.
    """
    model = CpModel()
    x = model.new_int_var(0, 2**62, "x")
    y = model.new_int_var(0, 2**62, "y")
    model.add(4 * x + 4 * y >= 1)

    with pytest.raises(SolverError, match="invalid"):
        optimise_expression(model, x, ObjectiveSense.MAXIMISE, budget(), share=10)


@pytest.mark.parametrize(("variables", "looked_for"), [(1_000, True), (1_001, False)])
def test_symmetries_are_looked_for_where_the_time_allows(
    variables: int, looked_for: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The search for them minds no limit; its time grows with the square of the model.
    """
    levels = []

    def noted(solver: CpSolver, *given: Any) -> Any:
        levels.append(solver.parameters.symmetry_level)
        return solve(solver, *given)

    solve = CpSolver.solve
    model = CpModel()
    x = [model.new_bool_var("") for _ in range(variables)]
    monkeypatch.setattr(cp, "SYMMETRY_S", 1e-6)
    monkeypatch.setattr(CpSolver, "solve", noted)
    optimise_expression(model, x[0], ObjectiveSense.MAXIMISE, budget(), share=1.0)

    assert [level != 0 for level in levels] == [looked_for]


@pytest.mark.parametrize(
    ("sense", "first", "second", "value", "bound"),
    [
        (ObjectiveSense.MAXIMISE, found(5, 9), found(7, 8), 7, 8),
        (ObjectiveSense.MAXIMISE, found(7, 8), found(5, 9), 7, 8),
        (ObjectiveSense.MAXIMISE, found(7, 9), found(5, 8), 7, 8),
        (ObjectiveSense.MINIMISE, found(7, 3), found(5, 4), 5, 4),
        (ObjectiveSense.MINIMISE, found(5, 4), found(7, 3), 5, 4),
        (ObjectiveSense.MINIMISE, found(5, None), NOTHING, 5, None),
        (ObjectiveSense.MAXIMISE, NOTHING, found(0, 3), 0, 3),
        (ObjectiveSense.MAXIMISE, NOTHING, NOTHING, None, None),
    ],
)
def test_the_better_value_and_the_narrower_bound_are_kept(
    sense: ObjectiveSense,
    first: TieredModelSolveResult[CpSolver],
    second: TieredModelSolveResult[CpSolver],
    value: int | None,
    bound: int | None,
) -> None:
    both = better_solution_and_bound(first, second, sense)
    assert (both.values, both.bounds) == (() if value is None else (value,), (bound,))


def test_a_second_call_without_solution_is_told_as_such() -> None:
    second: TieredModelSolveResult[CpSolver] = TieredModelSolveResult(
        None, (), (None,), infeasible=True
    )
    assert better_solution_and_bound(found(3, 4), second, ObjectiveSense.MAXIMISE).infeasible
