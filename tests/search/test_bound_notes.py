"""Where bounds come from, and what binds: said in the answer, and true."""

from collections.abc import Collection
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from even_topologies import even_topology
from placer.search.binding import minimal_set_giving_bound
from placer.search.bound_notes import TierBoundOrigins
from placer.search.budget import SolveBudget
from placer.search.first_tier_bounds import bound_first_tiers, resources_limiting_placed_pods
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer.search.sums_bound import bound_by_sums
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine, Node
from placer_models.placement import (
    Answer,
    PartlyPlaced,
    Placed,
    TierBottleneck,
    TierBoundSource,
    TierValue,
)
from placer_models.pod import DeviceRequest, Gang, PodSpec, Resources
from placer_models.topology import NumaNode
from search.exchange_worlds import asking, gpu_machine, share_of_gpu

GIB = 2**30
WORK = SolveOptions(workers=1, seed=1, work_limit=5)
SMALL = Machine("small", "", even_topology(8, 8 * GIB))
POOL = (("pool", "cpu"),)


def nodes(count: int) -> tuple[Node, ...]:
    return tuple(Node(f"n{i}", SMALL) for i in range(count))


def pods(count: int, cpus: int, memory_gib: int, **words: object) -> tuple[Gang, ...]:
    """Return lone pods that ask for so much, with further words of their spec."""
    found = []
    for i in range(count):
        gang = asking(f"p{cpus}-{memory_gib}-{i}", Resources(1000 * cpus, memory_gib * GIB))
        spec: PodSpec = replace(gang.pods[0].spec, **words)
        found.append(replace(gang, pods=(replace(gang.pods[0], spec=spec),)))
    return tuple(found)


def first_tier(answer: Answer) -> TierValue:
    assert isinstance(answer, Placed | PartlyPlaced)
    return answer.tiers[0]


def test_what_is_all_placed_is_bounded_by_the_limit() -> None:
    """
    Nothing needs to be solved to know that no more than all pods have a place.
    """
    tier = first_tier(solve(Instance(nodes(1), pods(2, 1, 1)), WORK))

    assert (tier.bound, tier.bound_from, tier.binds) == (4, TierBoundSource.LIMIT, ())


def test_the_tightest_bound_is_named() -> None:
    """
    Six pods of 3 GiB on two nodes of 8 GiB: sums say five, counting on equal nodes says four.
    """
    tier = first_tier(solve(Instance(nodes(2), pods(6, 1, 3)), WORK))

    assert (tier.bound, tier.bound_from) == (8, TierBoundSource.RELAXED_MODEL)
    assert tier.binds == (TierBottleneck("memory"),)


def test_the_answer_says_what_binds() -> None:
    """
    Six pods of 4 GiB on two nodes of 8 GiB: the memory of both is used up by four.
    """
    tier = first_tier(solve(Instance(nodes(2), pods(6, 1, 4)), WORK))

    assert (tier.bound, tier.bound_from) == (8, TierBoundSource.SUMS)
    assert tier.binds == (TierBottleneck("memory"),)


def test_sums_name_memory_where_memory_runs_out() -> None:
    """
    The same without a search.
    """
    problem = build_problem(Instance(nodes(2), pods(6, 1, 4)))
    found = bound_by_sums(problem, [0], [12], SolveBudget(WORK))

    assert found.bounds == [8]
    assert found.binds == [(TierBottleneck("memory"),)]


def test_two_resources_bind_together() -> None:
    """
    Pods of 4 CPUs and pods of 4 GiB: neither resource alone says that four of each have places.
    """
    waiting = (*pods(6, 4, 0), *pods(6, 0, 4))
    problem = build_problem(Instance(nodes(2), waiting))
    found = bound_by_sums(problem, [0], [24], SolveBudget(WORK))

    assert found.bounds[0] is not None
    assert found.bounds[0] < 24
    assert set(found.binds[0]) == {TierBottleneck("cpu"), TierBottleneck("memory")}


def test_pods_that_are_confined_to_nodes_are_bounded_by_those_nodes() -> None:
    """
    Six pods of 4 CPUs that name a pool of two nodes; two more nodes do not help them.
    """
    both = tuple(replace(node, labels=POOL if i < 2 else ()) for i, node in enumerate(nodes(4)))
    problem = build_problem(Instance(both, pods(6, 4, 1, node_selector=POOL)))
    found = bound_by_sums(problem, [0], [12], SolveBudget(WORK))

    assert found.bounds == [8]
    assert found.binds == [(TierBottleneck("cpu", ("n0", "n1")),)]


def test_devices_are_those_of_the_nodes_that_have_them() -> None:
    """
    Four shares of 60 % on three GPUs of one node; the other node has none.
    """
    gangs = tuple(asking(f"p{i}", Resources(1000, devices=share_of_gpu(60))) for i in range(4))
    problem = build_problem(Instance((Node("g", gpu_machine(3)), *nodes(1)), gangs))
    found = bound_by_sums(problem, [0], [8], SolveBudget(WORK))

    assert found.bounds == [6]
    assert found.binds == [(TierBottleneck("gpu", ("g",)),)]


@pytest.mark.parametrize("memory_gib", [1, 8])
def test_more_of_what_does_not_bind_does_not_help(memory_gib: int) -> None:
    """
    With CPUs binding, the bound is the same whatever memory the pods ask for.
    """
    problem = build_problem(Instance(nodes(1), pods(3, 7, memory_gib)))
    found = bound_by_sums(problem, [0], [6], SolveBudget(WORK))

    assert found.bounds == [2]
    assert len(found.binds[0]) == 1


def test_notes_name_the_source_of_each_change() -> None:
    """
    Whoever changes bounds is named; what changes in between comes from a model.
    """
    bounds: list[int | None] = [10, None, 0]
    notes = TierBoundOrigins.of_limits(bounds)
    with notes.by(bounds, TierBoundSource.SUMS):
        bounds[0] = 8
    bounds[1] = 5
    with notes.by(bounds, TierBoundSource.RELAXED_MODEL):
        bounds[0] = 7

    assert notes.sources == [
        TierBoundSource.RELAXED_MODEL,
        TierBoundSource.MODEL,
        TierBoundSource.LIMIT,
    ]


def test_what_binds_holds_as_long_as_its_bound() -> None:
    """
    Once another bound is tighter, the sums' bottlenecks are not what holds pods back.
    """
    bounds: list[int | None] = [10]
    notes = TierBoundOrigins.of_limits(bounds)
    with notes.by(bounds, TierBoundSource.SUMS):
        bounds[0] = 8
    notes.bind(TierBoundSource.SUMS, [(TierBottleneck("memory"),)])
    before = notes.binds[0]
    with notes.by(bounds, TierBoundSource.PATTERNS):
        bounds[0] = 7
    notes.bind(TierBoundSource.SUMS, [(TierBottleneck("cpu"),)])

    assert before == (TierBottleneck("memory"),)
    assert notes.binds[0] == ()


def small_and_large() -> tuple[Node, ...]:
    """Return two nodes of 8 CPUs and 8 GiB, and two of 8 CPUs and 64 GiB."""
    roomy = replace(SMALL.topology, numa_nodes=(NumaNode(0, 64 * GIB),))
    large = Machine("large", "", roomy)
    return (*nodes(2), Node("l0", large), Node("l1", large))


def test_the_relaxed_model_names_the_class_of_nodes_whose_resource_is_short() -> None:
    """
    Pods of 5 GiB: one fits a small node by its memory; by their CPUs four fit any node.
    """
    problem = build_problem(Instance(small_and_large(), pods(20, 2, 5)))
    budget = SolveBudget(WORK)
    (bound,) = bound_first_tiers(problem, [0], [40], budget)

    assert bound == 20  # one on each small node, four on each large one
    assert set(resources_limiting_placed_pods(problem, [0], 0, bound, budget)) == {
        TierBottleneck("memory", ("n0", "n1")),
        TierBottleneck("cpu", ("l0", "l1")),
    }


def test_nodes_without_a_resource_are_not_what_binds() -> None:
    """
    Five pods want a GPU; of two nodes one has three.
    """
    asked = Resources(1000, devices=(DeviceRequest("gpu", 1),))
    gangs = tuple(asking(f"p{i}", asked) for i in range(5))
    problem = build_problem(Instance((Node("g", gpu_machine(3)), *nodes(1)), gangs))

    assert resources_limiting_placed_pods(problem, [0], 0, 6, SolveBudget(WORK)) == (
        TierBottleneck("gpu", ("g",)),
    )


def test_nothing_is_said_to_bind_when_the_time_is_over() -> None:
    """
    Rather than naming resources of which it is not known.
    """
    problem = build_problem(Instance(small_and_large(), pods(20, 2, 5)))

    assert (
        resources_limiting_placed_pods(
            problem, [0], 0, 20, SolveBudget(replace(WORK, work_limit=0))
        )
        == ()
    )
    everything = ["cpu", "memory"]
    assert minimal_set_giving_bound(everything, [["cpu"], ["memory"]], lambda _: None) == []


@given(st.frozensets(st.integers(0, 9)), st.permutations(range(10)), st.data())
def test_nothing_that_binds_can_be_left_out(
    needed: frozenset[int], order: list[int], data: st.DataObject
) -> None:
    """
    The bound needs all of one set, or all of another: one of both is left.
    """
    other = data.draw(st.frozensets(st.integers(0, 9)))

    def same(counted: Collection[int]) -> bool:
        return needed.issubset(counted) or other.issubset(counted)

    kept = set(minimal_set_giving_bound(range(10), [[one] for one in order], same))

    assert same(kept)
    assert not any(same(kept - {one}) for one in kept)
