"""What partitions and scopes do to the tiers, by hand."""

from dataclasses import replace

from judge.cases_partitions import PREFER, fabric, scoped
from judge.hand import ALL_CPUS, FAST, SLOW, placed, pod, put, world
from placer.judge.measure import measure
from placer_models.cluster import Instance
from placer_models.goals import GPU_POINTS, PARTITIONS, POD_PAIR_MINIMUM, POD_PAIR_SUM, USABLE, Tier
from placer_models.placement import Placement
from placer_models.policy import QosClass, SameTypeDevicesScope

PAIR = pod("a", gpus=2, qos=QosClass.LS)
CORES = 5 + 12
"""Free cores of the machine, in points."""


def worth(instance: Instance, placement: Placement) -> dict[Tier, int]:
    return dict(measure(instance, placement))


def on(*gpus: int) -> Placement:
    return placed(put("a", ALL_CPUS, gpus=gpus))


def test_a_pod_outside_partitions_counts_where_they_are_preferred() -> None:
    """
    Once a pod, whatever the size; where no node prefers partitions there is no such tier.
    """
    prefers = world(PAIR, nodes=[fabric((0, 2), policy=PREFER)])

    assert worth(prefers, on(0, 2))[PARTITIONS] == 0
    assert worth(prefers, on(0, 1))[PARTITIONS] == 1
    assert PARTITIONS not in worth(world(PAIR, nodes=[fabric((0, 2))]), on(0, 2))


def test_nodes_that_do_not_prefer_partitions_are_not_counted() -> None:
    """
    One node prefers them, and the pods are on the others, or have no GPUs.
    """
    plain = pod("b", nics=1, qos=QosClass.LS)
    nodes = [
        fabric((0, 2), policy=PREFER),
        replace(fabric((0, 2)), name="m", partition_policy=None),
    ]
    instance = world(PAIR, plain, nodes=nodes)
    places = placed(put("a", ALL_CPUS, on="m", gpus=[0, 1]), put("b", ALL_CPUS, on="n", nics=[0]))

    assert worth(instance, places)[PARTITIONS] == 0


def test_links_are_measured_against_the_best_partition() -> None:
    """
    Where only slow pairs are partitions, a slow pair is the best; where one may be had
    without, it is short.
    """
    honors = worth(world(PAIR, nodes=[fabric((0, 2))]), on(0, 2))
    prefers = worth(world(PAIR, nodes=[fabric((0, 2), policy=PREFER)]), on(0, 2))

    assert (honors[POD_PAIR_MINIMUM], honors[POD_PAIR_SUM]) == (0, 0)
    assert (prefers[POD_PAIR_MINIMUM], prefers[POD_PAIR_SUM]) == (FAST - SLOW, FAST - SLOW)


def test_links_are_measured_against_the_best_set_within_the_scope() -> None:
    """
    Three GPUs on the node have a slow pair in any case; within one NUMA node there are two.
    """
    within = worth(world(scoped(2, SameTypeDevicesScope.NUMA_NODE)), on(2, 3))

    assert (within[POD_PAIR_MINIMUM], within[POD_PAIR_SUM]) == (0, 0)


def test_only_partitions_stay_usable_where_they_are_honored() -> None:
    """
    With GPU 0 gone, 1 to 3 are three singles; (2, 3) is the one pair that is a partition,
    and of the machine's fast pairs it is one too.
    """
    table = ((0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3))
    one = pod("a", gpus=1, qos=QosClass.LS)

    pairs = worth(world(one, nodes=[fabric(*table)]), on(0))
    without = worth(world(one, nodes=[fabric(*table[:5])]), on(0))

    assert pairs[USABLE] == GPU_POINTS * (3 + 2) + CORES
    assert without[USABLE] == GPU_POINTS * 3 + CORES
