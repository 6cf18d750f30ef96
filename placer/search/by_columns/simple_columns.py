"""Columns of what nodes have left, kept up to date node by node across calls."""

from collections.abc import Collection

import numpy as np

from placer.counting.account import Account
from placer.counting.left import node_left
from placer.greedy.columns import Indices, Mask, Numbers
from placer.greedy.expected.arrays import expected_shape_prices_given_left
from placer.greedy.free_nodes import MILLI_PER_PERCENT
from placer.greedy.scorer import ScorerNodeColumnsLeft
from placer.search.by_columns.simple_asks import SimplePodAsk
from placer.search.by_columns.simple_nodes import (
    SimpleNodeRow,
    runs_only_simple_pods,
    simple_node_flags,
    simple_row_of_account,
)
from placer_models.cluster import NodesWithCachedFacts
from placer_models.demand import ExpectedDemand
from placer_models.incremental import PersistentTuple, changed_indices


class SimpleNodeColumns:
    """The columns of the nodes of a cluster.

    Attributes:
        free: What scorers see of them; its columns of GPUs are those of ``SimpleNodeRow``.
        pods: How many pods more each node takes.
        rows: What is left on each node, as far as numbers tell it.
        alike: A number for each node; nodes with one number have the same row.
        changed: The indices of nodes that have changed so far, one after the other.
        idle_milli: What is left of all GPUs, in 1/1000.
        simple: Of each node whether it is simple, if its pods are.
        are_numbered: Whether there are columns: some node is simple, and numbers of all others
            say what a scorer sees of them.

    """

    def __init__(self, nodes: NodesWithCachedFacts, accounts: PersistentTuple[Account]) -> None:
        """Write down what the nodes have left."""
        self._nodes, self._accounts = nodes, accounts
        simple = simple_node_flags(nodes)
        self.simple: Mask = np.array(simple or [False] * len(nodes), dtype=np.bool_)
        self.are_numbered = simple is not None and any(simple)
        self.changed: list[int] = []
        self._ahead: set[int] = set()
        self._odd: set[int] = set()
        self._asking: set[int] = set()
        self._idle: list[int] = []
        self.rows: list[SimpleNodeRow] = []
        self.idle_milli = 0
        if not self.are_numbered:
            return
        # Idle nodes that are alike share their account.
        distinct = {id(account): account for account in accounts}
        row_by_id = {number: simple_row_of_account(account) for number, account in distinct.items()}
        self.rows = [row_by_id[id(account)] for account in accounts]
        special = {n for n, one in distinct.items() if one.affine or not runs_only_simple_pods(one)}
        for at, account in enumerate(accounts):
            if id(account) in special or not self.simple[at]:
                self._sort(at, account)
        self._idle = [self._idle_on(at) for at in range(len(nodes))]
        self.idle_milli = sum(self._idle)
        most = max((len(row.gpu_milli) for row in self.rows), default=0)
        gpus: Numbers = np.zeros((len(nodes), most), dtype=np.int64)
        for into, row in zip(gpus, self.rows, strict=True):
            into[: len(row.gpu_milli)] = row.gpu_milli
        self._number_of: dict[SimpleNodeRow, int] = {}
        self.alike: Indices = np.array([self._number(row) for row in self.rows], dtype=np.intp)
        self.pods: Numbers = np.array([row.pods for row in self.rows], dtype=np.int64)
        self.free = ScorerNodeColumnsLeft(
            np.array([row.cpu_milli for row in self.rows], dtype=np.int64),
            np.array([row.memory_bytes for row in self.rows], dtype=np.int64),
            gpus,
        )

    @property
    def are_of_use(self) -> bool:
        """Whether some node is simple, and no pod that runs asks anything of those that come."""
        return self.are_numbered and not self._asking

    def is_simple(self, at: int) -> bool:
        """Return whether the row of a node says all of it, with what runs there now."""
        return at not in self._odd

    def account(self, at: int) -> Account:
        """Return what was left on a node when the columns were turned to it."""
        return self._accounts[at]

    def turn_to(self, accounts: PersistentTuple[Account]) -> None:
        """Take note of the nodes as they are now; what was taken counts if it runs there.

        Args:
            accounts: What is left on each node; the nodes are the same.

        """
        if not self.are_numbered:
            return
        changed = self._ahead.union(changed_indices(self._accounts, accounts))
        self._ahead.clear()
        self._accounts = accounts
        for at in sorted(changed):
            account, was_odd = accounts[at], at in self._odd
            row = simple_row_of_account(account)
            self._sort(at, account)
            # Most pods run where they were placed: then the row is there already.
            if row != self.rows[at] or was_odd or at in self._odd:
                self._write(at, row)

    def _sort(self, at: int, account: Account) -> None:
        """Note what kind of node it is with its pods."""
        is_simple = bool(self.simple[at]) and runs_only_simple_pods(account)
        (self._odd.discard if is_simple else self._odd.add)(at)
        (self._asking.add if account.affine else self._asking.discard)(at)

    def _idle_on(self, at: int) -> int:
        if at in self._odd:
            return sum(node_left(self._accounts[at]).gpu_milli)
        return sum(self.rows[at].gpu_milli)

    def take(self, at: int, ask: SimplePodAsk, gpus: Collection[int]) -> None:
        """Give what a pod asks for away.

        Args:
            at: The index of its node, which is simple and has all of it.
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
            SimpleNodeRow(
                row.cpu_milli - ask.cpu_milli,
                row.memory_bytes - ask.memory_bytes,
                row.pods - 1,
                tuple(milli),
            ),
        )

    def prices(self, demand: ExpectedDemand) -> tuple[int, ...]:
        """Return the prices of a demand on the nodes as they are now."""
        with_memory = demand.looks_at_memory
        of_row = {row: row.left(with_memory=with_memory) for row in set(self.rows)}
        lefts = [of_row[row] for row in self.rows]
        for at in self._odd:
            lefts[at] = node_left(self._accounts[at], with_memory=with_memory)
        return expected_shape_prices_given_left(demand, self._nodes, lefts)

    def _write(self, at: int, row: SimpleNodeRow) -> None:
        self.rows[at] = row
        self.alike[at] = self._number(row)
        self.pods[at] = row.pods
        free = self.free
        free.cpu_milli[at] = row.cpu_milli
        free.memory_bytes[at] = row.memory_bytes
        free.gpu_milli[at, : len(row.gpu_milli)] = row.gpu_milli
        idle = self._idle_on(at)
        self.idle_milli += idle - self._idle[at]
        self._idle[at] = idle
        self.changed.append(at)

    def _number(self, row: SimpleNodeRow) -> int:
        return self._number_of.setdefault(row, len(self._number_of))
