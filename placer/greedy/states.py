"""States of nodes, each different one known by a small number."""

from collections.abc import Hashable, Iterable

from placer.greedy.columns import NodeColumnLayout, NodeRow
from placer.state.node_states import ALL_BUT_THE_NAME
from placer_models.device import GPU
from placer_models.problem.node_state import NodeState


class NodeStateTable:
    """States of nodes by number, each with its row. Nodes that are alike share a state.

    Attributes:
        layouts: One state of each layout: a kind, the widths of the cores, the GPU boards, and the
            totals that a strategy looks at. Kinds are numbered anew in each batch, so a layout that
            no node has any more may be of a kind that is another one now.

    """

    def __init__(self, columns: NodeColumnLayout) -> None:
        """Begin with no state known.

        Args:
            columns: The columns of the rows.

        """
        self.layouts: list[NodeState] = []
        self._columns = columns
        self._layout_of: dict[Hashable, int] = {}
        self._known: dict[NodeState, int] = {}
        self._states: list[NodeState] = []
        self._rows: list[NodeRow] = []

    def __len__(self) -> int:
        """Return how many states are known."""
        return len(self._states)

    def of_all(self, nodes: Iterable[NodeState]) -> list[int]:
        """Return the state of each node. Nodes that share all their parts are looked at once."""
        known: dict[tuple[int, ...], int] = {}
        states = []
        for node in nodes:
            parts = tuple(map(id, ALL_BUT_THE_NAME(node)))
            if parts not in known:
                known[parts] = self._known.setdefault(node, len(self._states))
                if known[parts] == len(self._states):
                    self._states.append(node)
            states.append(known[parts])
        new = self._states[len(self._rows) :]
        self._rows += self._columns.rows_of(new, list(map(self._layout, new)))
        return states

    def number(self, node: NodeState) -> int:
        """Return the number of a state, which is a new one if the state is new."""
        state = self._known.setdefault(node, len(self._states))
        if state == len(self._states):
            self._states.append(node)
            self._rows.append(self._columns.row_of(node, self._layout(node)))
        return state

    def left(self, state: int) -> NodeState:
        """Return what is left on a node in the state, under the name of the first such node."""
        return self._states[state]

    def row(self, state: int) -> NodeRow:
        """Return what is left on a node in the state, as a row of numbers."""
        return self._rows[state]

    def forget_others(self, kept: Iterable[int]) -> dict[int, int]:
        """Forget all states but those kept. Return old number -> new number of these."""
        numbers = {state: number for number, state in enumerate(sorted(set(kept)))}
        self._states = [self._states[state] for state in numbers]
        self._rows = [self._rows[state] for state in numbers]
        self._known = {node: number for number, node in enumerate(self._states)}
        return numbers

    def _layout(self, node: NodeState) -> int:
        # By identity: nodes of one kind share their boards, which a state keeps alive.
        boards = tuple(id(bank.board) for bank in node.banks if bank.type == GPU)
        widths = frozenset((c.threads, c.efficient) for c in node.cores)
        totals = node.load and node.load.total
        layout = self._layout_of.setdefault((node.kind, widths, boards, totals), len(self.layouts))
        if layout == len(self.layouts):
            self.layouts.append(node)
        return layout
