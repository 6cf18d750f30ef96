"""Linear programs: numbers that fail on the way are no answer."""

from typing import Any

import pytest
from ortools.linear_solver import pywraplp

from placer.linear import LinearProgram


class _Failing:
    """A solver whose numbers fail so many times."""

    def __init__(self, solver: Any, times: int) -> None:
        self._solver, self._times, self.anew = solver, times, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._solver, name)

    def Solve(self, *parameters: Any) -> int:
        self._times -= 1
        self.anew += bool(parameters)
        failed = self._times >= 0
        return pywraplp.Solver.ABNORMAL if failed else int(self._solver.Solve(*parameters))


@pytest.mark.parametrize(("times", "solved"), [(0, True), (1, True), (2, False)])
def test_numbers_that_fail_are_tried_from_the_start(
    times: int, solved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Once is mended; twice there are no values, and nothing is asked for them.
    """
    failing = _Failing(pywraplp.Solver.CreateSolver("GLOP"), times)
    monkeypatch.setattr(pywraplp.Solver, "CreateSolver", lambda _: failing)
    program = LinearProgram(maximise=True)
    variable, row = program.variable(cost=2.0), program.row(most=3.0)
    program.put(row, variable, 1.0)

    goal = program.solve()

    assert failing.anew == (times > 0)
    assert (goal, program.value(variable), program.dual(row)) == pytest.approx(
        (6.0, 3.0, 2.0) if solved else (0.0, 0.0, 0.0)
    )
