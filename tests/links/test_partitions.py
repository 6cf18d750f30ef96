"""Jobs that share one empty machine: together they get the best there is.

Our tiers sum, over the pods, first what the slowest pairs and then what the pair sums
fall short. The rows' optimum is the largest total, and the best slowest pair of any job.
These are different orders, so the test says both: no placement is better by our order
(brute force), and the row's two figures are reached. In all 65 rows one placement has
both, and no row is excused.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from links.boards import Gpus, gpus, rows
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node
from placer_models.goals import POD_PAIR_MINIMUM, POD_PAIR_SUM
from placer_models.placement import Placed
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.topology import Cpu, NumaNode, Topology


def empty_node(world: Gpus) -> Node:
    """Return a node of the GPUs, with one CPU on each of their NUMA nodes."""
    numa_nodes = sorted({d.numa_node for d in world.devices if d.numa_node is not None} | {0})
    return Node(
        "n0",
        Machine(
            "m",
            "the row's machine",
            Topology(
                "x86_64",
                tuple(Cpu(i, i, 0, numa) for i, numa in enumerate(numa_nodes)),
                tuple(NumaNode(numa, 0) for numa in numa_nodes),
            ),
            world.devices,
            world.links,
        ),
    )


def job(number: int, size: int) -> Gang:
    """Return a lone pod that wants so many GPUs and nothing else."""
    name = f"job-{number}"
    requests = Resources(devices=(DeviceRequest("gpu", size),))
    pod = Pod(name, "default", PodSpec((Container("main", requests),)))
    return Gang(name, "default", (pod,), minimum=1, lone=True)


def partitions(
    world: Gpus, free: frozenset[int], sizes: Sequence[int]
) -> Iterator[tuple[frozenset[int], ...]]:
    """Yield each way to give the jobs disjoint sets."""
    if not sizes:
        yield ()
        return
    for chosen in world.sets(sizes[0], free):
        for rest in partitions(world, free - chosen, sizes[1:]):
            yield (chosen, *rest)


def worth(world: Gpus, sets: Sequence[frozenset[int]]) -> tuple[int, int]:
    """Return what our two tiers order by: slowest pairs added up, then all pairs."""
    return sum(map(world.pair_minimum, sets)), sum(map(world.pair_sum, sets))


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=f"{row['machine']}-{'-'.join(map(str, row['sizes']))}")
        for row in rows("partitions")["rows"]
    ],
)
def test_jobs_together_get_the_best_that_the_machine_can_give(row: dict[str, Any]) -> None:
    """
    Every job is placed, both tiers are proven, and slowest pair and total are the optimum.
    """
    world = gpus(rows("partitions")["machines"][row["machine"]])
    jobs = tuple(job(number, size) for number, size in enumerate(row["sizes"]))

    answer = solve(
        Instance((empty_node(world),), jobs), SolveOptions(engine=Engine.EXACT, workers=1)
    )

    assert isinstance(answer, Placed)
    sets = [frozenset(pod.minors("gpu")) for pod in answer.placement.pods]
    assert sorted(map(len, sets)) == sorted(row["sizes"])
    assert worth(world, sets) == max(
        worth(world, other) for other in partitions(world, world.minors, row["sizes"])
    )
    assert worth(world, sets)[1] == round(100 * row["total_gb_per_s"])
    slowest = min((world.pair_minimum(s) for s in sets if len(s) > 1), default=0)
    assert slowest == round(100 * row["slowest_gb_per_s"])
    proven = {value.tier: value.proven for value in answer.tiers}
    assert proven[POD_PAIR_MINIMUM]
    assert proven[POD_PAIR_SUM]
