"""The best place for one pod inside one node, held to trying everything."""

import logging
from itertools import combinations
from random import Random

import pytest

from brute_force import best_placement
from greedy.small import Numa, gang, instance, links_of, machine, realised, spec
from placer.greedy.chooser import choose_cheapest_place_on_node
from placer.greedy.cores import ownable_cpu_count_of_core_class
from placer.greedy.node_table import GreedyNodeTable
from placer.greedy.offer import AT
from placer.greedy.place import place_greedily
from placer.judge.measure import measure
from placer.state.batch import build_problem
from placer_models.cluster import Machine
from placer_models.goals import ALIGNMENT
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Fit, Shape
from worlds import tiny_instance

CASES = 400

log = logging.getLogger(__name__)


def alone(seed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return what a tiny world's first pod is worth, placed alone: found and best."""
    world = tiny_instance(seed)
    pod = world.gangs[0].pods[0]
    world = instance((), gang("a", pod.spec), nodes=world.nodes, running=world.running)
    placed = realised(world, place_greedily(build_problem(world)))
    best = best_placement(world)
    return tuple(v for _, v in measure(world, placed)), tuple(v for _, v in best.vector)


@pytest.mark.check
def test_one_pod_is_placed_as_well_as_trying_everything_places_it() -> None:
    """
    On tiny worlds a pod that can be placed is placed, and in every tier as well as can
    be; only what is left usable may be less, because near GPUs are taken first.
    """
    pairs = [alone(seed) for seed in range(CASES)]
    less = sum(found != best for found, best in pairs)
    log.info("of %d pods %d leave less usable than could be", CASES, less)

    assert all(found[:-1] == best[:-1] for found, best in pairs)
    assert less <= CASES // 50


def crowded(rng: Random) -> Machine:
    """Return a node of up to 9 NUMA nodes that have little of everything."""
    return machine(
        *(
            Numa(
                cores=tuple(rng.choice((1, 2)) for _ in range(rng.randint(0, 3))),
                memory_bytes=rng.randint(0, 4),
                gpus=rng.choice((0, 0, 1, 2)),
                nics=rng.choice((0, 0, 0, 1)),
            )
            for _ in range(rng.randint(2, 9))
        )
    )


def least_cells(node: NodeState, shape: Shape, fit: Fit) -> int | None:
    """Return the fewest NUMA nodes whose sums are enough, by trying every set of them."""
    cells = range(len(node.cells))
    most = len(cells) if fit.cell_limit is None else fit.cell_limit
    for size in range(most + 1):
        if any(enough(node, shape, fit, set(some)) for some in combinations(cells, size)):
            return size
    return None


def enough(node: NodeState, shape: Shape, fit: Fit, cells: set[int]) -> bool:
    cpus = sum(ownable_cpu_count_of_core_class(c, fit) for c in node.cores if c.cell in cells)
    had = {
        bank.type: sum(n for n, cell in zip(bank.free, bank.cells, strict=True) if cell in cells)
        for bank in node.banks
    }
    return (
        cpus >= shape.owned_cpus
        and sum(node.cells[cell].amounts[0] for cell in cells) >= shape.memory
        and all(had.get(kind, 0) >= count for kind, count in shape.devices)
    )


@pytest.mark.parametrize(
    "alignment",
    [AlignmentPolicy.BEST_EFFORT, AlignmentPolicy.RESTRICTED, AlignmentPolicy.SINGLE_NUMA_NODE],
)
def test_no_set_of_numa_nodes_is_overlooked(alignment: AlignmentPolicy) -> None:
    """
    On nodes of up to 9 NUMA nodes a place is found wherever any set of them has room,
    and under BestEffort on no more of them than the smallest such set.
    """
    rng = Random(11)
    places = misses = 0
    for _ in range(CASES):
        wanted = spec(
            rng.randint(0, 4),
            gpus=rng.choice((0, 0, 1, 2)),
            nics=rng.choice((0, 0, 0, 1)),
            memory_bytes=rng.randint(0, 8),
            bind=rng.choice((BindPolicy.FULL_PCPUS, BindPolicy.SPREAD_BY_PCPUS)),
            alignment=alignment,
        )
        problem = build_problem(instance([crowded(rng)], gang("a", wanted)))
        (shape,), ((fit,),) = problem.shapes, problem.fits
        if fit is None:
            continue
        node = problem.nodes[0]
        least = least_cells(node, shape, fit)
        offer = choose_cheapest_place_on_node(node, shape, fit)
        places += least is not None
        misses += (offer is None) is not (least is None)
        if offer is not None and alignment is AlignmentPolicy.BEST_EFFORT:
            assert offer.price[AT[ALIGNMENT]] == (least or 0) - fit.fewest_cells
    log.info("%s: %d of %d pods have a place, %d missed", alignment, places, CASES, misses)

    assert places > CASES // 10
    assert misses == 0


def test_the_fastest_pair_wins_over_the_nearest_cpus() -> None:
    """
    GPUs 0 and 2 are linked best, so both NUMA nodes are used though one would do.
    """
    rows = [[0, 5, 9, 5], [5, 0, 5, 5], [9, 5, 0, 5], [5, 5, 5, 0]]
    half = Numa(cores=(2, 2), gpus=2)
    node = machine(half, half, links=links_of(rows))
    problem = build_problem(instance([node], gang("a", spec(2, gpus=2))))
    choice = GreedyNodeTable(problem).find(0)

    assert choice is not None
    assert choice.devices == ((1, 0, 1, 0),)


def test_of_numa_nodes_that_fit_the_best_linked_is_taken() -> None:
    """
    One NUMA node has to do; the pair on the second is faster.
    """
    rows = [[0, 5, 1, 1], [5, 0, 1, 1], [1, 1, 0, 9], [1, 1, 9, 0]]
    node = machine(Numa(gpus=2), Numa(gpus=2), links=links_of(rows))
    pod = spec(gpus=2, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)
    choice = GreedyNodeTable(build_problem(instance([node], gang("a", pod)))).find(0)

    assert choice is not None
    assert choice.devices == ((0, 2),)


def test_nics_and_cpus_come_from_beside_the_gpu() -> None:
    """
    The only GPU is on the second NUMA node, and so is all the rest.
    """
    node = machine(Numa((2, 2), nics=1), Numa((2, 2), gpus=1, nics=1))
    world = instance([node], gang("a", spec(2, gpus=1, nics=1)))
    (place,) = realised(world, place_greedily(build_problem(world))).pods

    assert place.minors("rdma") == (1,)
    assert place.cpuset == {4, 5}


def test_cpus_without_a_numa_node_serve_only_who_may_have_them() -> None:
    """
    Two CPUs belong to no NUMA node: BestEffort takes them, Restricted does not.
    """
    node = machine(Numa(cores=(2,)), loose=(2,))
    kinds = (AlignmentPolicy.BEST_EFFORT, AlignmentPolicy.RESTRICTED)
    for policy, placed in zip(kinds, (2, 1), strict=True):
        pods = (spec(2, alignment=policy), spec(2, alignment=policy))
        problem = build_problem(instance([node], gang("a", *pods, minimum=1)))

        assert len(place_greedily(problem)) == placed


def test_a_pod_that_owns_cpus_leaves_one_to_those_that_share() -> None:
    """
    An LS pod runs, so the last CPU of its pool is not given away.
    """
    pods = (spec(0, qos=QosClass.LS), spec(1), spec(1))
    problem = build_problem(instance([machine(Numa(cores=(2,)))], gang("a", *pods, minimum=1)))

    assert len(place_greedily(problem)) == 2


def test_an_exclusive_pod_leaves_a_cpu_to_best_effort_pods() -> None:
    """
    A BE pod runs, so an LSE pod does not get the last CPU; an LSR pod may, and shares it.
    """
    for qos, placed in ((QosClass.LSE, 2), (QosClass.LSR, 3)):
        pods = (spec(0, qos=QosClass.BE), spec(1, qos=qos), spec(1, qos=qos))
        problem = build_problem(instance([machine(Numa(cores=(2,)))], gang("a", *pods, minimum=1)))

        assert len(place_greedily(problem)) == placed
