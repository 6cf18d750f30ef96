"""The states that nodes were met in: each different residual is a small number."""

from collections.abc import Iterable

from placer.greedy.columns import Columns, Row
from placer.greedy.residual import Layout, Layouts, Residual, residual_of
from placer.state.node_states import ALL_BUT_THE_NAME
from placer_models.problem import NodeState


class States:
    """Residuals by number, with what is left in columns; equal residuals are one state."""

    def __init__(self, columns: Columns) -> None:
        """Begin with none.

        Args:
            columns: What rows have.

        """
        self._columns = columns
        self._layouts = Layouts()
        self._known: dict[Residual, int] = {}
        self._residuals: list[Residual] = []
        self._rows: list[Row] = []

    def __len__(self) -> int:
        """Return how many are known."""
        return len(self._residuals)

    @property
    def layouts(self) -> list[Layout]:
        """The layouts of nodes that were met, by number."""
        return self._layouts.all

    def of(self, node: NodeState) -> int:
        """Return the state of a node where nothing new is placed."""
        return self.number(residual_of(node, self._layouts.of(node)))

    def of_all(self, nodes: Iterable[NodeState]) -> list[int]:
        """Return the state of each node; nodes that share all they have are looked at once."""
        known: dict[tuple[int, ...], int] = {}
        states = []
        for node in nodes:
            parts = tuple(map(id, ALL_BUT_THE_NAME(node)))
            if parts not in known:
                known[parts] = self.of(node)
            states.append(known[parts])
        return states

    def number(self, residual: Residual) -> int:
        """Return the state of the residual."""
        state = self._known.setdefault(residual, len(self._residuals))
        if state == len(self._residuals):
            self._residuals.append(residual)
            self._rows.append(self._columns.row_of(residual))
        return state

    def residual(self, state: int) -> Residual:
        """Return what is left on a node in the state."""
        return self._residuals[state]

    def row(self, state: int) -> Row:
        """Return the same in numbers."""
        return self._rows[state]
