"""A clock that goes on with the work that is done, so that lateness does not depend on machines.

Each call of a function takes the same time, and a call of CP-SAT all that it is given unless it
is done before. So a solve takes as long on each machine, and a test may say when its answer has
to be there without a look at any real clock.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from ortools.sat.python import cp_model

from placer.search import budget as budget_module
from placer.search import halt as halt_module
from placer.search import solver
from placer.search.budget import SolveBudget
from placer.search.options import SolveOptions
from placer_models.cluster import Instance
from placer_models.placement import Answer

CALL_S = 2e-5
"""What a call of a function takes: a slow machine."""

MOST_WORK = 0.02
"""The most deterministic seconds that a call of CP-SAT really works."""


class WorkClock:
    """The clock, and the budget of the last solve."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take the place of the clock that budgets look at, and of CP-SAT's."""
        self.calls = 0
        self.spent_s = 0.0
        self.budget: SolveBudget | None = None
        really = cp_model.CpSolver.solve

        def budget(options: SolveOptions) -> SolveBudget:
            self.budget = SolveBudget(options)
            return self.budget

        def work(one: cp_model.CpSolver, model: cp_model.CpModel, *given: Any) -> Any:
            given_s = one.parameters.max_time_in_seconds
            one.parameters.max_time_in_seconds = float("inf")
            one.parameters.max_deterministic_time = min(given_s, MOST_WORK)
            with self.stopped():
                status = really(one, model, *given)
            done = status not in (cp_model.FEASIBLE, cp_model.UNKNOWN)
            worked_s = one.response_proto.deterministic_time
            self.spent_s += min(given_s, worked_s) if done else given_s
            return status

        monkeypatch.setattr(budget_module, "time", self)
        monkeypatch.setattr(halt_module, "time", self)
        monkeypatch.setattr(solver, "SolveBudget", budget)
        monkeypatch.setattr(cp_model.CpSolver, "solve", work)

    def monotonic(self) -> float:
        return self.calls * CALL_S + self.spent_s

    @contextmanager
    def going(self) -> Iterator[None]:
        """Let each call count."""
        sys.setprofile(self._count)
        try:
            yield
        finally:
            sys.setprofile(None)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let no call count."""
        sys.setprofile(None)
        try:
            yield
        finally:
            sys.setprofile(self._count)

    def solve(self, instance: Instance, options: SolveOptions) -> tuple[Answer, float, float]:
        """Return the answer, by when it is there, and by when the greedy one was, in seconds."""
        begun_s = self.monotonic()
        with self.going():
            answer = solver.solve(instance, options)
        assert self.budget is not None
        return answer, self.monotonic() - begun_s, self.budget.greedy_s

    def _count(self, _: FrameType, event: str, __: object) -> None:
        self.calls += event in ("call", "c_call")
