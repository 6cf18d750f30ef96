"""Rows of nodes: what each has left, column by column, and the most that any has."""

from collections.abc import Callable, Sequence

import numpy as np

from placer.greedy.columns import CellColumnName, Indices, NodeColumnLayout, NodeRow, Numbers


class NodeRows:
    """The rows of nodes, column by column.

    Attributes:
        numbers: numbers[column, node].
        cells: cells[column, node, cell]; zeros beyond the cells that a node has.
        layouts: The layout of every node.

    """

    def __init__(self, numbers: Numbers, cells: Numbers, layouts: Indices) -> None:
        """Take the arrays as they are."""
        self.numbers, self.cells, self.layouts = numbers, cells, layouts

    @classmethod
    def of(cls, columns: NodeColumnLayout, rows: Sequence[NodeRow]) -> "NodeRows":
        """Return the rows of all nodes together."""
        most = max((len(row.cells) for row in rows), default=0)
        in_cell = len(CellColumnName) + len(columns.types)
        numbers = np.array([row.numbers for row in rows], dtype=np.int64)
        cells: Numbers = np.zeros((in_cell, len(rows), most), dtype=np.int64)
        lengths = np.array([len(row.cells) for row in rows], dtype=np.intp)
        for length in set(lengths.tolist()):
            (nodes,) = (lengths == length).nonzero()
            found = np.stack([rows[node].cells for node in nodes.tolist()])
            cells[:, nodes, :length] = found.transpose(2, 0, 1)
        return cls(
            np.ascontiguousarray(numbers.reshape(len(rows), columns.count).T),
            cells,
            np.array([row.layout for row in rows], dtype=np.intp),
        )

    @classmethod
    def of_states(
        cls, columns: NodeColumnLayout, states: Indices, row_of: Callable[[int], NodeRow]
    ) -> "NodeRows":
        """Return the rows of all nodes, of which those that are alike share a state.

        Args:
            columns: The columns of the rows.
            states: The state of each node.
            row_of: Returns the row of a state.

        """
        distinct, numbers = np.unique(states, return_inverse=True)
        return cls.of(columns, [row_of(state) for state in distinct.tolist()]).at(numbers)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.layouts)

    def at(self, nodes: Indices) -> "NodeRows":
        """Return a copy with some of the nodes, in that order."""
        # Not by an index in brackets: that would lay out nodes, not columns, one after the other.
        return NodeRows(
            self.numbers.take(nodes, axis=1), self.cells.take(nodes, axis=1), self.layouts[nodes]
        )

    def write(self, node: int, row: NodeRow) -> None:
        """Note what is left on a node now."""
        more = len(row.cells) - self.cells.shape[2]
        if more > 0:
            self.cells = np.pad(self.cells, ((0, 0), (0, 0), (0, more)))
        self.numbers[:, node] = row.numbers
        self.cells[:, node, : len(row.cells)] = row.cells.T
        self.cells[:, node, len(row.cells) :] = 0
        self.layouts[node] = row.layout


def first_node_of_each_code(codes: Indices) -> tuple[Indices, Indices]:
    """Return the first node of each code, and for each node the position of its code there.

    Args:
        codes: A number from 0 on for each node, not much larger than there are nodes.

    """
    first = np.full(int(codes.max(initial=-1)) + 1, -1, dtype=np.intp)
    # Of several that are written to one place the last one stays.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    (there,) = (first >= 0).nonzero()
    nodes = first[there]
    first[there] = np.arange(len(there))
    return nodes, first[codes]


class LargestSpareByColumn:
    """The most that any node has in each column of what is spare.

    Attributes:
        numbers: numbers[column]; 0 in all columns but those of what is spare.

    """

    def __init__(self, columns: NodeColumnLayout, rows: NodeRows) -> None:
        """Look through all nodes."""
        self._columns = columns.spare
        self.numbers: Numbers = np.zeros(columns.count, dtype=np.int64)
        self._most: list[tuple[int, int]] = []
        self.renew(rows)

    def renew(self, rows: NodeRows) -> bool:
        """Look through all nodes again. Return whether any number has changed."""
        found = np.maximum.reduce(rows.numbers[self._columns], axis=1, initial=0)
        most = list(zip(self._columns, found.tolist(), strict=True))
        differs = most != self._most
        self._most = most
        # A new array, so that the old one stays as it was for those that have it.
        self.numbers = np.zeros_like(self.numbers)
        self.numbers[self._columns] = found
        return differs

    def may_differ(self, before: NodeRow, after: NodeRow) -> bool:
        """Return whether a number may change once the row of one node does."""
        had, has = before.numbers, after.numbers
        return any(has[at] > most or has[at] < had[at] == most for at, most in self._most)

    def parts(self, row: NodeRow) -> int:
        """Return how much is spare in a row, in 1/1000 of the most of each column."""
        numbers = row.numbers
        return sum(1000 * max(0, numbers[at]) // most for at, most in self._most if most > 0)
