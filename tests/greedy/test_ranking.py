"""Rankings: the cheapest node as written, and what is written once a node was looked into."""

import numpy as np

from placer.greedy.offer import WIDTH
from placer.greedy.ranking import Ranking

FREE = (0,) * (WIDTH + 1)
ONE = (*FREE[:-1], 1)
TWO = (*FREE[:-1], 2)


def indices(*nodes: int) -> np.ndarray:
    return np.array(nodes, dtype=np.intp)


def ranking(*costs: tuple[int, ...]) -> Ranking:
    """Return a ranking of nodes that cost so much at least."""
    made = Ranking(len(costs))
    fits = np.ones(len(costs), dtype=np.bool_)
    made.expect(np.arange(len(costs)), fits, np.array(costs, dtype=np.int64).T)
    return made


def test_the_cheapest_node_comes_first_and_the_first_of_equals() -> None:
    assert ranking(TWO, ONE, ONE).first() == 1


def test_a_node_that_costs_what_was_expected_stays_first() -> None:
    nodes = ranking(TWO, ONE, ONE)

    assert nodes.put(indices(1), ONE)

    assert nodes.first() == 1
    assert nodes.is_sure(1)
    assert not nodes.is_sure(2)


def test_a_node_that_costs_more_than_expected_makes_room_for_the_next() -> None:
    nodes = ranking(ONE, ONE, TWO)

    assert not nodes.put(indices(0), TWO)

    assert nodes.first() == 1


def test_nodes_of_one_state_are_written_even_if_the_first_of_them_was_known() -> None:
    # Node 1 has come into the state of node 0, of which it is known what it costs.
    nodes = ranking(TWO, FREE, ONE)
    nodes.put(indices(0), TWO)

    assert not nodes.put(indices(0, 1), TWO)

    assert nodes.first() == 2


def test_a_node_without_a_place_is_never_first() -> None:
    nodes = ranking(FREE, ONE)

    assert not nodes.put(indices(0), None)

    assert nodes.first() == 1
    assert nodes.first(np.array([True, False])) is None
