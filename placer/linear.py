"""Linear programs in floating point: a typed face of OR-Tools' GLOP.

Whatever comes out of here only proposes; nothing is proven by it.
"""

from ortools.linear_solver import pywraplp  # type: ignore[import-untyped]  # no stubs


class LinearProgram:
    """A linear program to which variables and rows are added; variables are 0 or more.

    Attributes:
        is_solved: Whether the last solve came to an optimum, so that there are values.

    """

    def __init__(self, *, maximise: bool = False, go_on: bool = True) -> None:
        """Begin without variables.

        Args:
            maximise: Whether the goal is to be large.
            go_on: Whether each solve begins where the last one ended, without preprocessing.

        """
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        if go_on:
            self._solver.SetSolverSpecificParametersAsString("use_preprocessing: false")
        self._objective = self._solver.Objective()
        if maximise:
            self._objective.SetMaximization()
        else:
            self._objective.SetMinimization()
        self._endless: float = self._solver.infinity()
        self._variables: list[pywraplp.Variable] = []
        self._rows: list[pywraplp.Constraint] = []
        self.is_solved = False

    def variable(self, cost: float = 0.0, most: float | None = None) -> int:
        """Add a variable, and return its number."""
        made = self._solver.NumVar(0.0, self._endless if most is None else most, "")
        self._variables.append(made)
        if cost:
            self._objective.SetCoefficient(made, cost)
        return len(self._variables) - 1

    def row(self, least: float | None = None, most: float | None = None) -> int:
        """Add a row without coefficients, and return its number."""
        low = -self._endless if least is None else least
        high = self._endless if most is None else most
        self._rows.append(self._solver.Constraint(low, high))
        return len(self._rows) - 1

    def set_row(self, row: int, least: float | None = None, most: float | None = None) -> None:
        """Set both limits of a row; None: there is none."""
        low = -self._endless if least is None else least
        self._rows[row].SetBounds(low, self._endless if most is None else most)

    def put(self, row: int, variable: int, coefficient: float) -> None:
        """Set the coefficient of a variable in a row."""
        self._rows[row].SetCoefficient(self._variables[variable], coefficient)

    def set_cost(self, variable: int, cost: float) -> None:
        """Set what a variable counts in the goal."""
        self._objective.SetCoefficient(self._variables[variable], cost)

    def set_most(self, variable: int, most: float | None) -> None:
        """Set the upper bound of a variable."""
        self._variables[variable].SetBounds(0.0, self._endless if most is None else most)

    def solve(self) -> float:
        """Solve it, and return the value of the goal.

        Where numbers fail on the way from the last solution, it is solved from the start; where
        they fail again, all values are 0.
        """
        self.is_solved = self._solver.Solve() == pywraplp.Solver.OPTIMAL
        if not self.is_solved:
            anew = pywraplp.MPSolverParameters()
            anew.SetIntegerParam(anew.INCREMENTALITY, anew.INCREMENTALITY_OFF)
            self.is_solved = self._solver.Solve(anew) == pywraplp.Solver.OPTIMAL
        return float(self._objective.Value()) if self.is_solved else 0.0

    def value(self, variable: int) -> float:
        """Return the value of a variable."""
        return float(self._variables[variable].solution_value()) if self.is_solved else 0.0

    def dual(self, row: int) -> float:
        """Return what the goal would change by if the limit of a row were higher by 1."""
        return float(self._rows[row].dual_value()) if self.is_solved else 0.0
