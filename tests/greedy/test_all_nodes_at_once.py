"""States and rows of all nodes at once: those of each node alone, whatever nodes share."""

from collections.abc import Iterator

import numpy as np
import pytest

from mixed_worlds import mixed_instance
from placer.counting.account import accounts_of
from placer.greedy.columns import NodeColumnLayout
from placer.greedy.node_rows import NodeRows
from placer.state.batch import build_problem
from placer.state.problem_cache import ProblemCache
from placer_models.cluster import Instance
from placer_models.illegal_running import with_running_pods_counted_as_legal
from placer_models.incremental import PersistentTuple
from placer_models.problem.problem import Problem

WORLDS = 60


def worlds(batch: int) -> Iterator[tuple[Instance, Problem]]:
    """Yield worlds with words of all families, and the Problem that the greedy path has of each."""
    for seed in range(WORLDS * batch, WORLDS * (batch + 1)):
        world = with_running_pods_counted_as_legal(mixed_instance(seed))
        yield world, build_problem(world, each_core=True, absolute=True, scored=seed % 2 == 0)


@pytest.mark.parametrize("batch", range(3), ids="batch {}".format)
def test_a_state_does_not_depend_on_the_nodes_beside_it(batch: int) -> None:
    """
    Banks and classes of cores that nodes share are those that each would have alone.
    """
    for world, problem in worlds(batch):
        accounts, cache = accounts_of(world), ProblemCache()
        assert problem.encoding is not None
        kinds, numbers = cache.kinds_of(world.nodes, problem.encoding.relevant)
        of_all = cache.states_of(
            world.nodes, PersistentTuple.of(accounts), kinds, numbers, problem.encoding
        )
        for node, account, number, state in zip(
            world.nodes, accounts, numbers, of_all, strict=True
        ):
            one = PersistentTuple.of((account,))
            (alone,) = ProblemCache().states_of((node,), one, kinds, (number,), problem.encoding)
            assert state == alone
            assert state.name == node.name


@pytest.mark.parametrize("batch", range(3), ids="batch {}".format)
def test_rows_of_all_nodes_are_those_of_each(batch: int) -> None:
    """
    Nodes have one cell, or several.
    """
    for _, problem in worlds(batch):
        columns = NodeColumnLayout.of(problem)
        layouts = list(range(len(problem.nodes)))
        rows = columns.rows_of(problem.nodes, layouts)
        for node, layout, row in zip(problem.nodes, layouts, rows, strict=True):
            alone = columns.row_of(node, layout)
            assert row.numbers == alone.numbers
            assert row.layout == alone.layout == layout
            assert np.array_equal(row.cells, alone.cells)
        together = NodeRows.of(columns, rows)
        written = NodeRows.of(columns, rows[::-1])
        for at, row in enumerate(rows):
            written.write(at, row)
        assert np.array_equal(together.numbers, written.numbers)
        assert np.array_equal(together.cells, written.cells)
        assert np.array_equal(together.layouts, written.layouts)
