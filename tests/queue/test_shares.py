"""Steady shares: properties, and that the queue reaches them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer.queue.dominant import FlowOfEqualTasks, drf_task_counts
from placer.queue.fair_shares import FlowShareDemand, steady_shares
from placer.queue.simulation.engine import simulate_fair_queue
from placer.queue.simulation.scenario import (
    FlowGroupSpec,
    QueueScenario,
    QueueThreadCountOverTime,
    SimulatedJob,
)

DEMANDS = st.lists(
    st.builds(
        lambda weight, least, more: (weight, least, None if more is None else least + more),
        st.integers(1, 9000),
        st.integers(0, 5),
        st.none() | st.integers(0, 20),
    ),
    max_size=6,
)


@given(DEMANDS, st.integers(0, 60))
def test_flat_shares_are_max_min_fair(
    drawn: list[tuple[int, int, int | None]], capacity: int
) -> None:
    """
    All that can be used is used; a flow below its limit has no richer sibling that could give.
    """
    demands = [
        FlowShareDemand(str(i), w, least=low, most=most) for i, (w, low, most) in enumerate(drawn)
    ]

    shares = steady_shares(capacity, demands)

    total = sum(shares.values(), Fraction(0))
    needed = sum(demand.least for demand in demands)
    useful = sum(capacity if d.most is None else d.most for d in demands)
    assert total == max(needed, min(capacity, useful))
    for demand in demands:
        share = shares[demand.name]
        assert share >= demand.least
        assert demand.most is None or share <= demand.most
        if demand.most is not None and share == demand.most:
            continue
        for other in demands:
            richer = shares[other.name] / other.weight_milli > share / demand.weight_milli
            assert not richer or shares[other.name] == other.least


@pytest.mark.parametrize(("weight", "expected"), [(4, (48, 6, 6)), (2, (40, 10, 10))])
def test_the_queue_reaches_the_steady_shares(weight: int, expected: tuple[int, ...]) -> None:
    """
    While all jobs have work, threads of capacity stand where max-min fairness says.
    """
    jobs = tuple(
        SimulatedJob(name, (60,) * 3000, group=group)
        for name, group in (("M", "medium"), ("D1", None), ("D2", None))
    )
    groups = (FlowGroupSpec("medium", weight * 1000),)
    scenario = QueueScenario("", QueueThreadCountOverTime(60, changes=((600, 0),)), jobs, groups)
    tree = [
        FlowShareDemand("medium", weight * 1000, (FlowShareDemand("M"),)),
        FlowShareDemand("default", 1000, (FlowShareDemand("D1"), FlowShareDemand("D2"))),
    ]

    result = simulate_fair_queue(scenario)

    ran = tuple(sum(run.job == job.name for run in result.runs) for job in jobs)
    assert ran == tuple(10 * threads for threads in expected)
    assert tuple(steady_shares(60, tree).values()) == expected


def test_dominant_shares_need_a_capacity() -> None:
    """
    A resource of which there is nothing has no shares.
    """
    with pytest.raises(ValueError, match="there is 1 or more of each resource"):
        drf_task_counts([0, 4], [FlowOfEqualTasks("a", task=(1, 1), tasks=1)])


def test_dominant_shares_of_one_resource_are_weighted_shares() -> None:
    """
    With a single resource, tasks are divided by weight, to the last whole task.
    """
    flows = [
        FlowOfEqualTasks("a", 2000, (1,), 99),
        FlowOfEqualTasks("b", 1000, (1,), 99),
        FlowOfEqualTasks("c", 1000, (1,), 3),
    ]

    assert drf_task_counts([30], flows) == {"a": 18, "b": 9, "c": 3}
