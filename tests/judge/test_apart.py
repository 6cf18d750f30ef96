"""What sharing against an exclusive policy costs, by hand (C9)."""

import pytest

from judge.cases_apart import NUMA, PCPU, apart
from judge.hand import pod, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer_models.cluster import Instance
from placer_models.goals import SHARED_CORES, SHARED_NUMA_NODES
from placer_models.placement import Placement, PodPlacement


def shared(instance: Instance, *places: PodPlacement) -> tuple[int, int | None]:
    """Return the shared cores, and the shared NUMA nodes where that is a tier."""
    assert breaches(instance, Placement(places)) == ()
    found = dict(measure(instance, Placement(places)))
    return found[SHARED_CORES], found.get(SHARED_NUMA_NODES)


@pytest.mark.parametrize(("cpus", "cores"), [("0 2 4", 0), ("0 1 4", 1)])
def test_each_pod_on_a_core_beyond_the_first_counts(cpus: str, cores: int) -> None:
    """
    Three pods on three cores share nothing; two of them on one core are one too many.
    """
    first, second, third = cpus.split()
    instance = world(apart("a", PCPU), apart("b", PCPU), apart("c", PCPU))

    assert shared(instance, put("a", first), put("b", second), put("c", third)) == (cores, None)


def test_what_running_pods_share_is_not_counted_but_they_are_first() -> None:
    """
    Two running pods share a core, and nobody is to blame; a newcomer beside a third is one.
    """
    running = [
        (apart("r", PCPU), put("r", "0")),
        (apart("s", PCPU), put("s", "1")),
        (apart("t", PCPU), put("t", "2")),
    ]

    assert shared(world(apart("a", PCPU), running=running), put("a", "4")) == (0, None)
    assert shared(world(apart("a", PCPU), running=running), put("a", "3")) == (1, None)


def test_a_pod_meets_another_on_each_core_that_they_share() -> None:
    """
    Two pods on the same two cores share both.
    """
    instance = world(apart("a", PCPU, 2), apart("b", PCPU, 2))

    assert shared(instance, put("a", "0,2"), put("b", "1,3")) == (2, None)


def test_sharing_a_numa_node_is_a_tier_of_its_own() -> None:
    """
    On one NUMA node, each on its own core: one NUMA node shared and no core; on one core
    both; on two NUMA nodes nothing.
    """
    instance = world(apart("a", NUMA), apart("b", NUMA))

    assert shared(instance, put("a", "0"), put("b", "2")) == (0, 1)
    assert shared(instance, put("a", "0"), put("b", "1")) == (1, 1)
    assert shared(instance, put("a", "0"), put("b", "4")) == (0, 0)


def test_the_levels_meet_only_where_one_fell_back() -> None:
    """
    A PCPULevel pod shares a core with a NUMANodeLevel pod for nothing, until that one
    shares its NUMA node.
    """
    instance = world(apart("a", NUMA), apart("b", NUMA), apart("c", PCPU))

    assert shared(instance, put("a", "0"), put("b", "4"), put("c", "1")) == (0, 0)
    assert shared(instance, put("a", "0"), put("b", "2"), put("c", "1")) == (1, 1)


def test_the_tiers_are_there_only_where_somebody_wishes() -> None:
    """
    A demand has a rule, not a tier; what runs has its place already.
    """
    running = [(apart("r", NUMA), put("r", "0"))]
    instance = world(apart("a", PCPU, required=True), pod("b", 1), running=running)
    tiers = [tier for tier, _ in measure(instance, Placement())]

    assert SHARED_CORES not in tiers
    assert SHARED_NUMA_NODES not in tiers


def test_a_breach_names_both_pods_and_who_requires_it() -> None:
    """
    Who reads it knows what to part.
    """
    instance = world(apart("a", PCPU, required=True), apart("b", PCPU))
    found = breaches(instance, Placement((put("a", "0"), put("b", "1"))))

    assert [(b.rule, b.subject, b.message) for b in found] == [
        (
            "exclusive-cores",
            "b",
            "pod 'b' shares cores 0 of node 'n' with pod 'a'; "
            "pod 'a' requires PCPULevel: keep them apart",
        )
    ]
