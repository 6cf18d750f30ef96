"""What placements are worth, worked out by hand, tier by tier."""

from dataclasses import replace

import pytest

from judge.cases_joint import side_by_side, switched
from judge.hand import ALL_CPUS, FAST, MACHINE, SLOW, gang, links, node, pod, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import are_tier_values_better, measure
from placer_models.cluster import Instance
from placer_models.device import Device
from placer_models.goals import (
    ALIGNMENT,
    BIND,
    GANG_PAIR_SUM,
    JOINT,
    POD_PAIR_MINIMUM,
    POD_PAIR_SUM,
    USABLE,
    Tier,
    all_tiers_most_important_first,
    placed_tier,
)
from placer_models.placement import Placement, PodPlacement
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass, RequiredOrPreferred

ROOMS = 4 * 1 + 2 * 2 + 4
"""Points of a node that is free as a whole: four quarters, two halves and all of it."""

LS, LSE = QosClass.LS, QosClass.LSE
BEST_EFFORT = AlignmentPolicy.BEST_EFFORT
FULL, SPREAD = BindPolicy.FULL_PCPUS, BindPolicy.SPREAD_BY_PCPUS

OTHER = replace(
    MACHINE, gpu_links=links(*[[0 if i == j else SLOW for j in range(4)] for i in range(4)])
)
"""The machine with slow links only."""


def value(tier: Tier, instance: Instance, *places: PodPlacement) -> int:
    """Return the placement's value in the tier; the placement has to be allowed."""
    assert breaches(instance, Placement(places)) == ()

    return dict(measure(instance, Placement(places)))[tier]


def test_tiers_are_those_of_the_priorities() -> None:
    """
    One tier for each distinct priority, highest first, then the others.
    """
    instance = world(
        gang("g", pod("a", qos=LS), priority=5),
        gang("h", pod("b", qos=LS), priority=-1),
        gang("i", pod("c", qos=LS), priority=5),
    )

    assert tuple(
        tier for tier, _ in measure(instance, Placement())
    ) == all_tiers_most_important_first((5, -1), [USABLE])


def test_placed_counts_minimum_twice_and_members_above_it_once() -> None:
    """
    A gang of weight 3 with minimum 2 and 3 members placed: 3 x (2 x 2 + 1) = 15.
    """
    members = [pod(name, qos=LS) for name in "abcd"]
    instance = world(
        gang("g", *members, minimum=2, priority=1, weight=3),
        gang("h", pod("x", qos=LS), priority=1),
        pod("y", qos=LS),
    )
    three = [put(name, ALL_CPUS, gang="g") for name in "abd"]

    assert value(placed_tier(1), instance) == 0
    assert value(placed_tier(1), instance, *three) == 15
    assert value(placed_tier(1), instance, *three, put("x", ALL_CPUS, gang="h")) == 17
    assert value(placed_tier(0), instance, *three) == 0
    assert value(placed_tier(0), instance, put("y", ALL_CPUS)) == 2


@pytest.mark.parametrize(
    ("cpus", "memory", "gpus", "beyond"),
    [
        pytest.param("0-1", {0: 2}, [1], 0, id="all on one NUMA node"),
        pytest.param("0-1", {1: 2}, [1], 1, id="memory on the other"),
        pytest.param("0,8", {1: 2}, [1], 2, id="three cells: a CPU of no NUMA node too"),
        pytest.param("0,4", {0: 1, 1: 1}, [3], 1, id="all on both"),
    ],
)
def test_alignment_counts_cells_beyond_one(
    cpus: str, memory: dict[int, int], gpus: list[int], beyond: int
) -> None:
    """
    2 CPUs, 2 bytes and a GPU fit one NUMA node, so each other cell used is one too many.
    """
    instance = world(pod("a", 2, memory=2, gpus=1), nodes=[node(alignment=BEST_EFFORT)])
    place = put("a", cpus, memory=memory, gpus=gpus)

    assert value(ALIGNMENT, instance, place) == beyond


def test_alignment_knows_the_fewest_cells_of_the_whole_request() -> None:
    """
    5 CPUs need two cells, and the CPU of no NUMA node may be the second; 5 bytes need
    both NUMA nodes. What others hold changes none of it.
    """
    five = pod("a", 5, alignment=BEST_EFFORT)
    both = pod("a", 5, memory=5, alignment=BEST_EFFORT)
    other = (pod("r", 1), put("r", "4"))

    assert value(ALIGNMENT, world(five), put("a", "0-3,8")) == 0
    assert value(ALIGNMENT, world(five), put("a", "0-4")) == 0
    assert value(ALIGNMENT, world(five), put("a", "0-2,4,8")) == 1
    assert value(ALIGNMENT, world(both), put("a", "0-3,8", memory={0: 4, 1: 1})) == 1
    assert value(ALIGNMENT, world(five, running=[other]), put("a", "0-2,5,8")) == 1


def test_alignment_looks_at_pods_under_best_effort_only() -> None:
    """
    Without a policy a pod may lie across NUMA nodes at no price, and LS CPUs float.
    """
    assert value(ALIGNMENT, world(pod("a", 2)), put("a", "0,4")) == 0
    assert (
        value(
            ALIGNMENT,
            world(pod("a", 2, memory=1, qos=LS, alignment=BEST_EFFORT)),
            put("a", ALL_CPUS, memory={0: 1}),
        )
        == 0
    )


def test_alignment_leaves_out_a_device_type_of_which_one_has_no_numa_node() -> None:
    """
    Its devices need no cell, but one that has a NUMA node uses it.
    """
    homeless = tuple(replace(d, numa_node=None) if d.minor == 3 else d for d in MACHINE.devices)
    instance = world(
        pod("a", 1, gpus=1, alignment=BEST_EFFORT),
        nodes=[node(machine=replace(MACHINE, devices=homeless))],
    )

    assert value(ALIGNMENT, instance, put("a", "0", gpus=[3])) == 0
    assert value(ALIGNMENT, instance, put("a", "0", gpus=[0])) == 0
    assert value(ALIGNMENT, instance, put("a", "0", gpus=[2])) == 1


@pytest.mark.parametrize("bind", [BindPolicy.DEFAULT, FULL])
@pytest.mark.parametrize(
    ("cpu", "cpus", "against"),
    [
        pytest.param(2, "2-3", 0, id="a whole core"),
        pytest.param(2, "3-4", 2, id="two halves"),
        pytest.param(3, "2-3,8", 0, id="a core and the core of one thread"),
        pytest.param(3, "2-4", 1, id="a half where the core of one thread was to have"),
        pytest.param(9, "0-8", 0, id="all there is"),
    ],
)
def test_bind_counts_cpus_outside_whole_cores(
    cpu: int, cpus: str, against: int, bind: BindPolicy
) -> None:
    """
    FullPCPUs preferred: each CPU whose core the pod has not whole counts.
    """
    assert value(BIND, world(pod("a", cpu, bind=bind)), put("a", cpus)) == against


def test_bind_forgives_what_the_empty_node_cannot_avoid() -> None:
    """
    Without the core of one thread, 3 CPUs are a core and a half: the half is free.
    Cores with a reserved thread are never whole.
    """
    instance = world(pod("a", 3), nodes=[node(reserved="8")])
    halves = world(pod("a", 3), nodes=[node(reserved="0,2,4,8")])

    assert value(BIND, instance, put("a", "0-2")) == 0
    assert value(BIND, instance, put("a", "0,2,4")) == 2
    assert value(BIND, halves, put("a", "1,6-7")) == 0
    assert value(BIND, halves, put("a", "1,3,5")) == 2


def test_bind_counts_threads_beyond_one_a_core_for_spread() -> None:
    """
    SpreadByPCPUs preferred: 6 CPUs on 5 cores share one core at least.
    """
    assert value(BIND, world(pod("a", 3, bind=SPREAD)), put("a", "0,2,4")) == 0
    assert value(BIND, world(pod("a", 3, bind=SPREAD)), put("a", "0-1,4")) == 1
    assert value(BIND, world(pod("a", 6, bind=SPREAD)), put("a", "0-2,4,6,8")) == 0
    assert value(BIND, world(pod("a", 6, bind=SPREAD)), put("a", "0-3,4,6")) == 1
    reserved = world(pod("a", 5, bind=SPREAD), nodes=[node(reserved="6-8")])
    assert value(BIND, reserved, put("a", "0-4")) == 0


def test_bind_looks_at_preferred_policies_of_pods_that_own_cpus() -> None:
    """
    A required policy is a rule, not a wish, and LS pods have no cores.
    """
    required = world(pod("a", 2, bind=SPREAD, required=True))

    assert value(BIND, required, put("a", "0,2")) == 0
    assert value(BIND, world(pod("a", 2, bind=FULL, qos=LS)), put("a", ALL_CPUS)) == 0


def test_link_tiers_compare_with_the_best_set_of_the_same_size() -> None:
    """
    Two GPUs of one NUMA node are the best pair, so the others fall short by 250 GB/s.
    Of three GPUs no set has more than one fast pair.
    """
    two, three = world(pod("a", gpus=2, qos=LS)), world(pod("a", gpus=3, qos=LS))

    assert value(POD_PAIR_MINIMUM, two, put("a", ALL_CPUS, gpus=[2, 3])) == 0
    assert value(POD_PAIR_SUM, two, put("a", ALL_CPUS, gpus=[2, 3])) == 0
    assert value(POD_PAIR_MINIMUM, two, put("a", ALL_CPUS, gpus=[1, 2])) == FAST - SLOW
    assert value(POD_PAIR_SUM, two, put("a", ALL_CPUS, gpus=[1, 2])) == FAST - SLOW
    assert value(POD_PAIR_MINIMUM, three, put("a", ALL_CPUS, gpus=[0, 1, 2])) == 0
    assert value(POD_PAIR_SUM, three, put("a", ALL_CPUS, gpus=[0, 1, 2])) == 0


def test_the_slowest_pair_is_measured_against_any_node_and_the_sum_against_its_own() -> None:
    """
    On a node with slow links the sum is as good as it can be there; the slowest pair is
    not, as long as a better node is open to the pod.
    """
    wish = pod("a", gpus=2, qos=LS)
    slow = put("a", ALL_CPUS, on="m", gpus=[0, 1])
    two = (node("n"), node("m", OTHER))

    assert value(POD_PAIR_MINIMUM, world(wish, nodes=two), slow) == FAST - SLOW
    assert value(POD_PAIR_SUM, world(wish, nodes=two), slow) == 0
    cordoned = (node("n", cordoned=True), node("m", OTHER))
    assert value(POD_PAIR_MINIMUM, world(wish, nodes=cordoned), slow) == 0
    broken = (node("n", broken_gpus=[1, 2]), node("m", OTHER))
    assert value(POD_PAIR_MINIMUM, world(wish, nodes=broken), slow) == 0
    labelled = (node("n"), node("m", OTHER, labels={"zone": "east"}))
    choosy = pod("a", gpus=2, qos=LS, selector={"zone": "east"})
    assert value(POD_PAIR_MINIMUM, world(choosy, nodes=labelled), slow) == 0


def test_link_tiers_measure_against_empty_nodes() -> None:
    """
    What runs, or is placed beside, does not make a slow pair less slow.
    """
    running = [(pod("r", gpus=2, qos=LS), put("r", ALL_CPUS, gpus=[0, 2]))]
    instance = world(pod("a", gpus=2, qos=LS), running=running)

    assert value(POD_PAIR_MINIMUM, instance, put("a", ALL_CPUS, gpus=[1, 3])) == FAST - SLOW


def test_the_gang_tier_takes_all_gpus_of_a_gang_that_gathers() -> None:
    """
    Two members with a GPU each are one pair; without gathering there is no such pair (D8).
    """
    members = pod("a", gpus=1, qos=LS), pod("b", gpus=1, qos=LS)
    apart = (
        put("a", ALL_CPUS, gpus=[0], gang="g"),
        put("b", ALL_CPUS, gpus=[2], gang="g"),
    )
    near = (apart[0], put("b", ALL_CPUS, gpus=[1], gang="g"))

    assert value(GANG_PAIR_SUM, world(gang("g", *members, gather=True)), *apart) == FAST - SLOW
    assert value(GANG_PAIR_SUM, world(gang("g", *members, gather=True)), *near) == 0
    assert value(GANG_PAIR_SUM, world(gang("g", *members, gather=True)), apart[0]) == 0
    assert value(GANG_PAIR_SUM, world(gang("g", *members)), *apart) == 0
    assert value(POD_PAIR_SUM, world(gang("g", *members, gather=True)), *apart) == 0


def test_usable_counts_free_sets_and_free_cores() -> None:
    """
    Empty: 4 single GPUs, 2 fast pairs and 1 set of four make 12 GPUs of 16 points each;
    5 cores are whole. A GPU taken leaves 3 singles and 1 pair; a CPU taken, 4 cores, and
    three quarters of the node.
    """
    empty = 16 * (4 + 2 * 2 + 4) + 5 + ROOMS
    one = world(pod("a", gpus=1, qos=LS))
    cpu = world(pod("a", 1))

    assert value(USABLE, one) == empty
    assert value(USABLE, one, put("a", ALL_CPUS, gpus=[2])) == 16 * (3 + 2) + 5 + ROOMS
    assert value(USABLE, cpu, put("a", "3")) == empty - 1 - ROOMS + 5
    assert value(USABLE, cpu, put("a", "8")) == empty - 1 - ROOMS + 5


def test_usable_counts_two_gpus_of_one_pair_less_than_two_of_two() -> None:
    """
    Taking a fast pair whole leaves the other; taking a half of each leaves none.
    """
    instance = world(pod("a", gpus=1, qos=LS), pod("b", gpus=1, qos=LS))
    first = put("a", ALL_CPUS, gpus=[0])

    assert value(USABLE, instance, first, put("b", ALL_CPUS, gpus=[1])) == 16 * (2 + 2) + 5 + ROOMS
    assert value(USABLE, instance, first, put("b", ALL_CPUS, gpus=[2])) == 16 * 2 + 5 + ROOMS


def test_usable_looks_at_all_nodes_and_at_what_runs() -> None:
    """
    Cordoned nodes count; broken GPUs, owned CPUs and reserved threads do not.
    """
    running = [(pod("r", 1, gpus=1, qos=LSE), put("r", "0", on="m", gpus=[0]))]
    instance = world(
        pod("a", qos=LS),
        nodes=(node("n", broken_gpus=[0, 1], reserved="8"), node("m", cordoned=True)),
        running=running,
    )
    broken = 16 * (2 + 2) + 4 + ROOMS  # the two that are left are the best pair there is
    cordoned = 16 * (3 + 2) + 4 + 5

    assert value(USABLE, instance) == broken + cordoned


def test_unknown_links_count_as_nothing() -> None:
    """
    On a machine without known links every pair is as good as any: 0 GB/s.
    """
    blind = replace(MACHINE, gpu_links=None)
    instance = world(pod("a", gpus=2, qos=LS), nodes=[node(machine=blind)])
    place = put("a", ALL_CPUS, gpus=[1, 2])

    assert value(POD_PAIR_MINIMUM, instance, place) == 0
    assert value(POD_PAIR_SUM, instance, place) == 0
    assert value(USABLE, instance, place) == 16 * (2 + 2) + 5 + ROOMS


def test_links_are_between_gpus_only() -> None:
    """
    Devices of another type with the same minors have no links.
    """
    nics = tuple(Device("rdma", minor) for minor in range(4))
    machine = replace(MACHINE, devices=(*MACHINE.devices[:4], *nics))
    instance = world(pod("a", nics=2, qos=LS), nodes=[node(machine=machine)])

    assert value(POD_PAIR_SUM, instance, put("a", ALL_CPUS, nics=[0, 2])) == 0


def test_better_is_decided_by_the_first_tier_that_differs() -> None:
    """
    More is better where a tier is maximised, less where it is minimised; equal is not better.
    """
    high, low = placed_tier(1), placed_tier(0)
    base = ((high, 4), (low, 2), (BIND, 3))

    assert not are_tier_values_better(base, base)
    assert are_tier_values_better(((high, 5), (low, 0), (BIND, 9)), base)
    assert not are_tier_values_better(((high, 3), (low, 9), (BIND, 0)), base)
    assert are_tier_values_better(((high, 4), (low, 2), (BIND, 2)), base)
    assert not are_tier_values_better(((high, 4), (low, 2), (BIND, 4)), base)


@pytest.mark.parametrize(
    ("gpus", "nics", "apart"),
    [
        ([0, 1], [0], 0),
        ([0, 2], [0, 2], 0),
        ([0, 2], [0], 1),  # no NIC of b
        ([0, 1], [0, 2], 1),  # no GPU of b
        ([0, 1], [2], 2),
        ([0, 3], [0], 1),  # GPU 3 is below no switch that is known
        ([3], [3], 2),  # nor is c the switch of any GPU
    ],
)
def test_joint_counts_groups_that_lack_a_type(gpus: list[int], nics: list[int], apart: int) -> None:
    """
    GPUs 0 and 1 and NICs 0 and 1 are below switch a, GPU 2 and NIC 2 below b.
    """
    wish = side_by_side(len(gpus), len(nics), strength=RequiredOrPreferred.PREFERRED)
    instance = world(wish, nodes=[node(machine=switched("aab-", "aabc"))])

    assert value(JOINT, instance, put("a", ALL_CPUS, gpus=gpus, nics=nics)) == apart


def test_only_who_prefers_it_brings_the_tier_joint() -> None:
    """
    A pod that requires it has no wish left, and a pod that runs already waits for nothing.
    """
    wish = side_by_side(1, 1, strength=RequiredOrPreferred.PREFERRED)
    here = [node(machine=switched("aab-", "aabc"))]
    runs = [(wish, put("a", ALL_CPUS, gpus=[0], nics=[3]))]

    assert JOINT not in dict(measure(world(side_by_side(1, 1), nodes=here), Placement()))
    assert JOINT not in dict(measure(world(nodes=here, running=runs), Placement()))
    assert JOINT in dict(measure(world(wish, nodes=here), Placement()))
