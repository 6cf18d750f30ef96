"""How many cores and threads of each class a pod takes (C8), also one that keeps apart (C9)."""

import pytest

from greedy.small import Numa, gang, instance, machine, spec
from judge.cases_apart import NUMA, PCPU, apart
from judge.hand import put, world
from placer.greedy.chooser import choose_cheapest_place_on_node
from placer.greedy.node_table import GreedyNodeTable
from placer.greedy.offer import AT
from placer.greedy.place import place_greedily
from placer.state.batch import build_problem
from placer_models.goals import BIND
from placer_models.pod import PodSpec
from placer_models.policy import BindPolicy, ExclusivePolicy
from placer_models.problem.problem import CoreTake

SPREAD = BindPolicy.SPREAD_BY_PCPUS
FULL = BindPolicy.FULL_PCPUS


def takes(cores: tuple[int, ...], *specs: PodSpec) -> list[tuple[CoreTake, ...] | None]:
    """Place pods one after the other on a node; return what each takes of the classes."""
    problem = build_problem(instance([machine(Numa(cores=cores))], gang("a", *specs)))
    table = GreedyNodeTable(problem)
    found: list[tuple[CoreTake, ...] | None] = []
    for pod in range(len(specs)):
        choice = table.find(pod)
        if choice is not None:
            table.take(pod, choice)
        found.append(choice and choice.cores)
    return found


def test_whole_cores_are_taken_as_far_as_the_count_goes() -> None:
    """
    Five CPUs are two whole cores and one thread.
    """
    assert takes((2,) * 4, spec(5)) == [(CoreTake(2, 1, 1),)]


def test_single_threads_go_to_a_core_that_is_broken_already() -> None:
    """
    The second pod's odd thread sits beside the first one's, and a core stays whole.
    """
    first, second, third = takes((2,) * 4, spec(3), spec(3), spec(2))

    assert first == second == (CoreTake(1, 1, 1),)
    assert third == (CoreTake(1),)


def test_a_broken_core_is_looked_for_on_every_numa_node() -> None:
    """
    The first pod breaks a core beside its GPU; the next joins it there, though the
    other NUMA node has less left.
    """
    node = machine(Numa(cores=(2,) * 2), Numa(cores=(2,) * 3, gpus=1))
    table = GreedyNodeTable(build_problem(instance([node], gang("a", spec(1, gpus=1), spec(1)))))
    found = []
    for pod in (0, 1):
        choice = table.find(pod)
        assert choice is not None
        table.take(pod, choice)
        found.append(choice.cores)

    assert found == [(CoreTake(), CoreTake(0, 1, 1))] * 2


def test_required_whole_cores_are_had_or_refused() -> None:
    """
    Three CPUs are no number of two-thread cores; with one-thread cores beside they are.
    """
    assert takes((2, 2), spec(3, bind=FULL, required=True)) == [None]
    assert takes((2, 1), spec(3, bind=FULL, required=True)) == [(CoreTake(1), CoreTake(1))]


def test_cores_of_uneven_width_are_combined_to_the_count() -> None:
    """
    Four CPUs of cores of 3 and 2 threads: two cores of 2, not one of 3 and a thread.
    """
    assert takes((3, 2, 2), spec(4)) == [(CoreTake(), CoreTake(2))]


def test_spread_takes_a_thread_a_core() -> None:
    """
    Three CPUs touch three cores; five on four cores touch all four.
    """
    assert takes((2,) * 4, spec(3, bind=SPREAD)) == [(CoreTake(0, 3, 3),)]
    assert takes((2,) * 4, spec(5, bind=SPREAD)) == [(CoreTake(0, 5, 4),)]


def test_required_spread_is_refused_where_cores_are_too_few() -> None:
    """
    Four CPUs fit on four cores, five do not.
    """
    wanted = spec(4, bind=SPREAD, required=True)

    assert takes((2,) * 4, wanted) == [(CoreTake(0, 4, 4),)]
    assert takes((2,) * 3, wanted) == [None]


def test_spread_shares_cores_that_others_spread_over() -> None:
    """
    Two pods of two spread CPUs need two cores together, so a third has whole ones.
    """
    *_, last = takes((2,) * 4, spec(2, bind=SPREAD), spec(2, bind=SPREAD), spec(4))

    assert last == (CoreTake(2),)


def test_cores_that_pods_spread_over_stay_broken() -> None:
    """
    Three spread threads and one more fit on two cores by number, yet three are touched.
    """
    *_, last = takes((2,) * 3, spec(3, bind=SPREAD), spec(1), spec(2, bind=FULL, required=True))

    assert last is None


def test_the_odd_thread_stays_beside_the_whole_cores() -> None:
    """
    The second NUMA node has the tighter core, but the pod is on the first.
    """
    node = machine(Numa(cores=(2,) * 4), Numa(cores=(2,)))
    choice = GreedyNodeTable(build_problem(instance([node], gang("a", spec(5))))).find(0)

    assert choice is not None
    assert choice.cores == (CoreTake(2, 1, 1), CoreTake())


def test_the_price_counts_cpus_against_the_policy() -> None:
    """
    On two cores with one free thread each, two CPUs are both outside whole cores.
    """
    world = instance([machine(Numa(cores=(2, 2)))], gang("a", spec(2, bind=SPREAD), spec(2)))
    problem = build_problem(world)
    table = GreedyNodeTable(problem)
    first = table.find(0)
    assert first is not None
    table.take(0, first)
    fit = problem.fit(1, 0)
    assert fit is not None
    offer = choose_cheapest_place_on_node(table.left(table.state(0)), problem.shape_of(1), fit)

    assert offer is not None
    assert offer.price[AT[BIND]] == 2


@pytest.mark.parametrize("policy", [PCPU, NUMA])
def test_a_pod_that_requires_to_be_alone_has_a_place_where_nobody_is(
    policy: ExclusivePolicy,
) -> None:
    """
    On an empty node nothing keeps it off.
    """
    problem = build_problem(world(apart("a", policy, required=True)))

    assert set(place_greedily(problem)) == {0}


def test_a_pod_alone_on_its_cores_does_not_mind_who_is_on_its_numa_node() -> None:
    """
    One pod runs on each NUMA node, alone on it or not; cores are free on both.
    """
    running = [(apart("b", PCPU), put("b", "0")), (apart("c", NUMA), put("c", "4"))]
    problem = build_problem(world(apart("a", PCPU, required=True), running=running))

    assert set(place_greedily(problem)) == {0}
