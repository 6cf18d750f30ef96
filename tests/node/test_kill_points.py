"""A process that applies a document may end at any point, and any change may fail."""

from itertools import count

import pytest

from node.kill_points import sweep, transitions

SEEDS_OF_THE_GATE = 20
SEEDS_OF_THE_SLOW_SUITE = 200


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("first", range(0, SEEDS_OF_THE_GATE, 2))
def test_every_point_is_a_safe_place_to_end(version: int, first: int) -> None:
    """
    At every step and after recovery no exclusive CPU is in two places, no container is on
    nothing, nothing is written outside our subtree; and a restart ends where it should.
    """
    for transition in transitions(count(1000 * first), 1, version):
        assert sweep(transition) > 5


@pytest.mark.parametrize("first", range(4))
def test_every_point_is_safe_where_systemd_owns_containers(first: int) -> None:
    """
    The same where most containers are in units: what systemd was asked by a process that ended
    it does later, and the restart waits for that.
    """
    for transition in transitions(count(5000 * first), 1, 2, systemd=True):
        assert any(one.unit for one in transition.plan.operations)
        assert sweep(transition) > 5


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("first", range(0, SEEDS_OF_THE_SLOW_SUITE, 10))
def test_every_point_of_many_more(version: int, first: int) -> None:
    """
    The same, of ten times as many transitions.
    """
    for transition in transitions(count(1_000_000 + 1000 * first), 10, version):
        assert sweep(transition) > 5
