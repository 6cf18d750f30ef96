"""Columns of what simple nodes have left, kept up to date node by node across calls."""

from collections.abc import Collection

import numpy as np

from placer.counting.account import Account
from placer.greedy.columns import Indices, Numbers
from placer.greedy.expected.arrays import array_prices
from placer.greedy.free_nodes import MILLI_PER_PERCENT
from placer.greedy.scorer import FreeNodes
from placer.search.by_columns.simple_asks import SimpleAsk
from placer.search.by_columns.simple_nodes import SimpleRow, are_simple, simple_row
from placer_models.cluster import Nodes
from placer_models.demand import ExpectedDemand
from placer_models.expected import alike_counted_together, open_on_each
from placer_models.incremental import PersistentTuple, changed_indices

_NOTHING = SimpleRow(-1, 0, 0, ())
"""The row of a node that is not simple: nobody is placed while there is one."""


class SimpleColumns:
    """The columns of the nodes of a cluster.

    Attributes:
        free: What scorers see of them; its columns of GPUs are those of ``SimpleRow``.
        pods: How many pods more each node takes.
        alike: A number for each node; nodes with one number have the same row.
        changed: The indices of nodes that have changed so far, one after the other.
        idle_milli: What is left of all GPUs, in 1/1000.

    """

    def __init__(self, nodes: Nodes, accounts: PersistentTuple[Account]) -> None:
        """Write down what the nodes have left."""
        self._nodes, self._accounts = nodes, accounts
        self._are_simple = are_simple(nodes)
        self.changed: list[int] = []
        self._ahead: set[int] = set()
        self._odd: set[int] = set()
        self.rows: list[SimpleRow] = []
        self.idle_milli = 0
        if not self._are_simple:
            return
        # Idle nodes that are alike share their account.
        known: dict[int, SimpleRow | None] = {}
        for at, account in enumerate(accounts):
            number = id(account)
            if number not in known:
                known[number] = simple_row(account)
            row = known[number]
            if row is None:
                self._odd.add(at)
            self.rows.append(row or _NOTHING)
        self.idle_milli = sum(sum(row.gpu_milli) for row in self.rows)
        most = max((len(account.devices.healthy) for account in accounts), default=0)
        gpus: Numbers = np.zeros((len(nodes), most), dtype=np.int64)
        for into, row in zip(gpus, self.rows, strict=True):
            into[: len(row.gpu_milli)] = row.gpu_milli
        self._number_of: dict[SimpleRow, int] = {}
        self.alike: Indices = np.array([self._number(row) for row in self.rows], dtype=np.intp)
        self.pods: Numbers = np.array([row.pods for row in self.rows], dtype=np.int64)
        self.free = FreeNodes(
            np.array([row.cpu_milli for row in self.rows], dtype=np.int64),
            np.array([row.memory_bytes for row in self.rows], dtype=np.int64),
            gpus,
        )

    @property
    def are_simple(self) -> bool:
        """Whether all nodes are simple, with what runs there now."""
        return self._are_simple and not self._odd

    def turn_to(self, accounts: PersistentTuple[Account]) -> None:
        """Take note of the nodes as they are now; what was taken counts if it runs there.

        Args:
            accounts: What is left on each node; the nodes are the same.

        """
        if not self._are_simple:
            return
        changed = self._ahead.union(changed_indices(self._accounts, accounts))
        self._ahead.clear()
        self._accounts = accounts
        for at in sorted(changed):
            row = simple_row(accounts[at])
            (self._odd.add if row is None else self._odd.discard)(at)
            # Most pods run where they were placed: then the row is there already.
            if row is not None and row != self.rows[at]:
                self._write(at, row)

    def take(self, at: int, ask: SimpleAsk, gpus: Collection[int]) -> None:
        """Give what a pod asks for away.

        Args:
            at: The index of its node, which has all of it.
            ask: What it asks for.
            gpus: The positions of its GPUs in the node's row.

        """
        row, each = self.rows[at], MILLI_PER_PERCENT * ask.gpu_percent
        milli = list(row.gpu_milli)
        for gpu in gpus:
            milli[gpu] -= each
        self._ahead.add(at)
        self._write(
            at,
            SimpleRow(
                row.cpu_milli - ask.cpu_milli,
                row.memory_bytes - ask.memory_bytes,
                row.pods - 1,
                tuple(milli),
            ),
        )

    def prices(self, demand: ExpectedDemand) -> tuple[int, ...]:
        """Return the prices of a demand on the nodes as they are now."""
        with_memory = demand.looks_at_memory
        lefts = {row: row.left(with_memory=with_memory) for row in set(self.rows)}
        each = zip(open_on_each(demand, self._nodes), self.rows, strict=True)
        return array_prices(demand, alike_counted_together((may, lefts[row]) for may, row in each))

    def _write(self, at: int, row: SimpleRow) -> None:
        self.idle_milli += sum(row.gpu_milli) - sum(self.rows[at].gpu_milli)
        self.rows[at] = row
        self.alike[at] = self._number(row)
        self.pods[at] = row.pods
        free = self.free
        free.cpu_milli[at] = row.cpu_milli
        free.memory_bytes[at] = row.memory_bytes
        free.gpu_milli[at, : len(row.gpu_milli)] = row.gpu_milli
        self.changed.append(at)

    def _number(self, row: SimpleRow) -> int:
        return self._number_of.setdefault(row, len(self._number_of))
