"""Rankings: the cheapest node as written, and what is written once a node was looked into."""

from random import Random

import numpy as np
import pytest

from placer.greedy.offer import WIDTH
from placer.greedy.ranking import ShapeNodeRanking

FREE = (0,) * (WIDTH + 1)
ONE = (*FREE[:-1], 1)
TWO = (*FREE[:-1], 2)


def indices(*nodes: int) -> np.ndarray:
    return np.array(nodes, dtype=np.intp)


def ranking(*costs: tuple[int, ...]) -> ShapeNodeRanking:
    """Return a ranking of nodes that cost so much at least."""
    made = ShapeNodeRanking(len(costs))
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


@pytest.mark.parametrize("seed", range(200))
def test_the_first_is_that_of_a_ranking_made_anew(seed: int) -> None:
    """
    However nodes change, one by one or many at once, and whatever is looked up in between.
    """
    rng = Random(seed)
    count = rng.choice((2, 3, 12))
    nodes = ShapeNodeRanking(count)
    fits = [False] * count
    costs = [FREE] * count

    def drawn() -> tuple[int, ...]:
        return (*FREE[:-2], rng.randrange(2), rng.randrange(3))

    for _ in range(40):
        some = rng.sample(range(count), rng.randint(1, count))
        if rng.random() < 0.5:
            for node in some:
                fits[node], costs[node] = rng.random() < 0.8, drawn()
            fit = np.array([fits[node] for node in some])
            nodes.expect(indices(*some), fit, np.array([costs[node] for node in some]).T)
        else:
            cost = drawn() if rng.random() < 0.8 else None
            nodes.put(indices(*some), cost)
            for node in some:
                fits[node] = cost is not None
                costs[node] = costs[node] if cost is None else cost
        allowed = np.array([rng.random() < 0.5 for _ in range(count)])
        best = min(((costs[i], i) for i in range(count) if fits[i]), default=(FREE, None))
        few = ((costs[i], i) for i in range(count) if fits[i] and allowed[i])

        if rng.random() < 0.7:
            assert nodes.first() == best[1]
        assert nodes.first(allowed) == min(few, default=(FREE, None))[1]
