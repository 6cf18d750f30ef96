"""The worth of nodes to expected pods: page, reference, NumPy and Numba say the same number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expected import slow_telling as slow
from placer.greedy.expected.arrays import (
    ExpectedDemandArrays,
    LeftOnNodesForExpectedDemand,
    expected_shape_prices_by_arrays,
    filled_gpu_milli_by_arrays,
    left_as_arrays,
)
from placer.greedy.expected.compiled_scores import CompiledWorthLossCalculator
from placer.greedy.expected.plain_scores import UncompiledWorthLossCalculator
from placer.greedy.scorer import ANY_GPU, ScorerPodAsk
from placer_models.demand import ExpectedDemand, ExpectedShape, expected_demand_from_counts
from placer_models.expected import (
    ExpectedGpuFillCache,
    ExpectedNodeWorthCache,
    ResourcesLeftForExpectedPods,
    expected_pod_streams,
    expected_shape_prices,
    group_equal_left_nodes,
    worth_loss_in_quanta,
)
from placer_models.splitmix import random_number_at

GIB = 2**30
SHAPES = st.builds(
    ExpectedShape,
    cpu_milli=st.sampled_from((0, 500, 1000, 4000, 11_400)),
    gpus=st.sampled_from((1, 1, 1, 2, 3)),
    gpu_milli=st.sampled_from((1, 130, 190, 500, 650, 810, 1000)),
    memory_bytes=st.sampled_from((0, 0, 1, 3 * GIB, 9 * GIB)),
) | st.builds(
    ExpectedShape,
    cpu_milli=st.sampled_from((500, 1000, 4000, 11_400)),
    gpus=st.just(0),
    gpu_milli=st.just(0),
    memory_bytes=st.sampled_from((0, 0, 2 * GIB)),
)
LEFT = st.builds(
    lambda cpu, memory, gpus: ResourcesLeftForExpectedPods(cpu, tuple(sorted(gpus)), memory),
    st.integers(0, 30_000),
    st.sampled_from((0, 1, GIB, 9 * GIB, 9 * GIB, 14 * GIB)),
    st.lists(st.sampled_from((1, 60, 190, 500, 810, 1000, 1000)), max_size=5),
)


@st.composite
def demands(draw_: st.DrawFn) -> ExpectedDemand:
    counts = draw_(st.dictionaries(SHAPES, st.integers(1, 9), min_size=1, max_size=5))
    known = expected_demand_from_counts(counts)
    prices = tuple(draw_(st.sampled_from((0, 1000, 77_123))) for _ in known.shapes)
    return ExpectedDemand(
        known.shapes,
        known.counts,
        prices,
        streams=draw_(st.integers(1, 7)),
        length=draw_(st.integers(1, 12)),
        seed=draw_(st.integers(0, 2**64 - 1)),
    )


@st.composite
def worlds(
    draw_: st.DrawFn,
) -> tuple[ExpectedDemand, list[tuple[tuple[bool, ...], ResourcesLeftForExpectedPods]]]:
    demand = draw_(demands())
    may = st.tuples(*(st.booleans() for _ in demand.shapes))
    return demand, draw_(st.lists(st.tuples(may, LEFT), min_size=1, max_size=6))


def test_draws_are_those_of_splitmix64() -> None:
    """
    The first two numbers of seed 0, as every implementation gives them.
    """
    assert [random_number_at(0, i) for i in range(2)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


@given(demands())
def test_streams_are_as_the_page_says(demand: ExpectedDemand) -> None:
    """
    Drawn by count, the first half sorted by size, equal sizes as drawn.
    """
    assert list(map(list, expected_pod_streams(demand))) == slow.streams(demand)


@given(worlds())
def test_all_tellings_give_the_same_fills_and_worths(
    world: tuple[ExpectedDemand, list[tuple[tuple[bool, ...], ResourcesLeftForExpectedPods]]],
) -> None:
    """
    Of a node to which only some shapes may come, with any parts of GPUs left.
    """
    demand, nodes = world
    fills = [slow.fill(demand, *node) for node in nodes]
    lefts = left_as_arrays([left for _, left in nodes])
    open_ = np.array([may for may, _ in nodes])
    placed = filled_gpu_milli_by_arrays(
        ExpectedDemandArrays.of(demand), open_, np.arange(len(nodes)), lefts
    )
    by_arrays = [(2000 * p + demand.streams) // (2 * demand.streams) for p in placed.tolist()]
    outlooks = [
        ExpectedNodeWorthCache(demand, ExpectedGpuFillCache(demand, may)) for may, _ in nodes
    ]

    assert [o.fills.fill(left) for o, (_, left) in zip(outlooks, nodes, strict=True)] == fills
    assert by_arrays == fills
    worths = [slow.worth(demand, *node) for node in nodes]
    assert [o.worth(left) for o, (_, left) in zip(outlooks, nodes, strict=True)] == worths


@given(worlds())
def test_all_tellings_give_the_same_prices(
    world: tuple[ExpectedDemand, list[tuple[tuple[bool, ...], ResourcesLeftForExpectedPods]]],
) -> None:
    """
    Prices follow from all nodes together.
    """
    demand, nodes = world

    assert expected_shape_prices(demand, group_equal_left_nodes(nodes)) == slow.prices(
        demand, nodes
    )
    assert expected_shape_prices_by_arrays(demand, group_equal_left_nodes(nodes)) == slow.prices(
        demand, nodes
    )


@settings(max_examples=200)
@given(
    worlds(),
    st.sampled_from((0, 500, 4000)),
    st.sampled_from((0, 1, 5 * GIB)),
    st.sampled_from(((0, 0), (1, 190), (1, 500), (1, 1000), (2, 1000), (3, 130))),
)
def test_both_kernels_lose_the_same_steps_as_the_page(
    world: tuple[ExpectedDemand, list[tuple[tuple[bool, ...], ResourcesLeftForExpectedPods]]],
    cpu: int,
    memory: int,
    gpus: tuple[int, int],
) -> None:
    """
    A share goes to the first GPU where it costs least, whole GPUs are alike.
    """
    demand, nodes = world
    count, each = gpus
    places = []
    for i, (may, left) in enumerate(nodes):
        fitting = [at for at, milli in enumerate(left.gpu_milli) if milli >= each]
        if left.cpu_milli < cpu or left.memory_bytes < memory or len(fitting) < count:
            continue
        tried = [fitting[:count]] if count != 1 else [[at] for at in fitting]
        after = [
            [milli - each * (at in taken) for at, milli in enumerate(left.gpu_milli)]
            for taken in tried
        ]
        lost = [
            worth_loss_in_quanta(
                slow.worth(demand, may, left)
                - slow.worth(
                    demand,
                    may,
                    ResourcesLeftForExpectedPods(
                        left.cpu_milli - cpu, tuple(sorted(rest)), left.memory_bytes - memory
                    ),
                )
            )
            for rest in after
        ]
        places.append((i, min(lost)))
    lefts = left_as_arrays([left for _, left in nodes])
    rows, may = np.arange(len(nodes)), [may for may, _ in nodes]
    asked, at = (
        ScorerPodAsk(cpu, memory, count, each),
        np.array([i for i, _ in places], dtype=np.intp),
    )
    assert demand.prices is not None
    compiled = CompiledWorthLossCalculator(
        ExpectedDemandArrays.of(demand), np.array(may), rows, demand.prices
    )
    plain = UncompiledWorthLossCalculator(demand, may, rows, demand.prices)

    by_loop, loop_gpus = compiled.lost(asked, lefts, at)
    by_arrays, array_gpus = plain.lost(asked, lefts, at)
    assert by_loop.tolist() == [lost for _, lost in places]
    assert by_arrays.tolist() == [lost for _, lost in places]
    if count == 1 and each < 1000:
        assert loop_gpus.tolist() == array_gpus.tolist()


@pytest.mark.parametrize(
    ("lost", "steps"), [(0, 0), (12_499, 0), (12_500, 0), (12_501, 1), (-12_500, -1)]
)
def test_a_step_is_a_fortieth_of_a_gpu(lost: int, steps: int) -> None:
    """
    Rounded to the nearest; exactly half a step counts in favour of the place.
    """
    assert worth_loss_in_quanta(lost) == steps


@pytest.mark.parametrize(
    "ask",
    [ScorerPodAsk(1000, 0, 1, 330), ScorerPodAsk(1000, 0, 2, 330), ScorerPodAsk(1000, 0, 2, 1000)],
    ids=str,
)
def test_where_too_few_gpus_have_as_much_left_a_place_takes_no_gpu_by_these_numbers(
    ask: ScorerPodAsk,
) -> None:
    """
    A share by memory may fit there still; which GPU has it, and what it takes, nobody tells here.
    """
    demand = expected_demand_from_counts({ExpectedShape(500, 1): 1, ExpectedShape(2000, 0, 0): 1})
    gpu_milli = np.array([[0, 0, 0], [200, 100, 0], [500 * (ask.gpus - 1), 0, 0]])
    nodes = np.arange(3)
    lefts = LeftOnNodesForExpectedDemand(np.array([2500, 1200, 1000]), nodes * 0, gpu_milli)
    compiled = CompiledWorthLossCalculator(
        ExpectedDemandArrays.of(demand), np.ones((1, 2), np.bool_), nodes * 0, (0, 9)
    )
    plain = UncompiledWorthLossCalculator(demand, [(True, True)], nodes * 0, (0, 9))
    only_cpu = ask._replace(gpus=0, gpu_milli=0)

    for scores in (compiled, plain):
        lost, gpus = scores.lost(ask, lefts, nodes)
        assert lost.tolist() == scores.lost(only_cpu, lefts, nodes)[0].tolist()
        assert gpus.tolist() == [ANY_GPU] * 3


def test_where_no_node_has_a_gpu_nothing_is_lost() -> None:
    """
    There are no columns of GPUs then, and any CPU may be taken.
    """
    demand = expected_demand_from_counts({ExpectedShape(500, 1): 1})
    nodes = np.arange(2)
    lefts = LeftOnNodesForExpectedDemand(
        np.array([4000, 500]), nodes * 0, np.zeros((2, 0), dtype=np.int64)
    )
    prices = (0,)
    compiled = CompiledWorthLossCalculator(
        ExpectedDemandArrays.of(demand), np.ones((1, 1), np.bool_), nodes * 0, prices
    )
    plain = UncompiledWorthLossCalculator(demand, [(True,)], nodes * 0, prices)

    for scores in (compiled, plain):
        assert scores.lost(ScorerPodAsk(500, 0, 0, 0), lefts, nodes)[0].tolist() == [0, 0]
