"""Rows of nodes: what each has left, column by column."""

from collections.abc import Sequence

import numpy as np

from placer.greedy.columns import CellColumn, Columns, Indices, Numbers, Row


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
    def of(cls, columns: Columns, rows: Sequence[Row]) -> "NodeRows":
        """Return the rows of all nodes together."""
        most = max((len(row.cells) for row in rows), default=0)
        in_cell = len(CellColumn) + len(columns.types)
        found = cls(
            np.zeros((columns.count, len(rows)), dtype=np.int64),
            np.zeros((in_cell, len(rows), most), dtype=np.int64),
            np.zeros(len(rows), dtype=np.intp),
        )
        for node, row in enumerate(rows):
            found.write(node, row)
        return found

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.layouts)

    def at(self, nodes: Indices) -> "NodeRows":
        """Return a copy with some of the nodes, in that order."""
        return NodeRows(self.numbers[:, nodes], self.cells[:, nodes], self.layouts[nodes])

    def write(self, node: int, row: Row) -> None:
        """Note what is left on a node now."""
        more = len(row.cells) - self.cells.shape[2]
        if more > 0:
            self.cells = np.pad(self.cells, ((0, 0), (0, 0), (0, more)))
        self.numbers[:, node] = row.numbers
        self.cells[:, node] = 0
        self.cells[:, node, : len(row.cells)] = row.cells.T
        self.layouts[node] = row.layout
