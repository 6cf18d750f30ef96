"""The judge answers whatever it is asked, and what brute force finds is clean."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from brute_force import best_placement
from judge.cases_containers import TWO
from judge.cases_mig import CUT, SHARING
from judge.cases_partitions import scoped
from judge.cases_shares import HALF, sharing
from judge.hand import ALL_CPUS, pod, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer_models.cluster import Instance
from placer_models.goals import all_tiers_most_important_first
from placer_models.optional_tiers import tiers_asked_by_instance
from placer_models.placement import ContainerPlacement, DeviceGrant, Placement, PodPlacement
from placer_models.pod import Pod
from placer_models.policy import QosClass, SameTypeDevicesScope
from worlds import tiny_instance, tiny_instances

SHARED = replace(put("a", ALL_CPUS), devices=(DeviceGrant("gpu", 1, share=HALF),))

IDS = st.integers(-2, 20)
CPUS = st.frozensets(IDS, max_size=5)


@st.composite
def nonsense(draw: st.DrawFn) -> tuple[Instance, Placement]:
    """Draw a world and places of which names, ids and amounts may or may not exist."""
    instance = draw(tiny_instances())
    names = [pod.name for gang in instance.gangs for pod in gang.pods]
    place = st.builds(
        PodPlacement,
        name=st.sampled_from([*names, "r0", "stranger"]),
        namespace=st.sampled_from(["default", "default", "other"]),
        gang=st.sampled_from([None, "g0", "g1", "stranger"]),
        node=st.sampled_from(["n0", "n1", "nowhere"]),
        cpuset=CPUS,
        containers=st.lists(
            st.builds(ContainerPlacement, st.sampled_from(["app", "log", "web", ""]), CPUS),
            max_size=3,
        ).map(tuple),
        memory_bytes=st.lists(st.tuples(IDS, st.integers(-5, 2**40)), max_size=3).map(tuple),
        devices=st.lists(
            st.builds(DeviceGrant, st.sampled_from(["gpu", "rdma", "fpga"]), IDS), max_size=5
        ).map(tuple),
    )
    return instance, Placement(tuple(draw(st.lists(place, max_size=5))))


@given(nonsense())
def test_any_placement_is_judged(asked: tuple[Instance, Placement]) -> None:
    """
    Unknown names, ids below 0, a pod placed thrice: reported or measured, never an accident.
    """
    instance, placement = asked

    for breach in breaches(instance, placement):
        assert breach.message
    tiers = tuple(tier for tier, _ in measure(instance, placement))
    priorities = (gang.priority for gang in instance.gangs)
    assert tiers == all_tiers_most_important_first(priorities, tiers_asked_by_instance(instance))


@given(nonsense())
def test_the_order_of_places_does_not_matter(asked: tuple[Instance, Placement]) -> None:
    """
    The same places in another order break the same rules.
    """
    instance, placement = asked
    back = Placement(placement.pods[::-1])

    assert {b.rule for b in breaches(instance, placement)} == {
        b.rule for b in breaches(instance, back)
    }


@given(tiny_instances())
def test_nothing_placed_breaks_nothing(instance: Instance) -> None:
    """
    Whatever runs on the nodes, the empty placement keeps every rule.
    """
    assert breaches(instance, Placement()) == ()


def test_what_runs_is_not_blamed_on_the_placement() -> None:
    """
    Running pods that never fitted are no breach until something new takes more of it.
    """
    greedy = pod("r", 20, memory=9, qos=QosClass.LS), put("r", ALL_CPUS, memory={0: 9})
    idle, more = pod("idle", qos=QosClass.LS), pod("more", 1, memory=1, qos=QosClass.LS)
    instance = world(idle, more, running=[greedy])

    assert breaches(instance, Placement((put("idle", ALL_CPUS),))) == ()
    found = breaches(instance, Placement((put("more", ALL_CPUS, memory={0: 1}),)))
    assert {breach.rule for breach in found} == {"shared-pool", "memory"}


def test_devices_that_nobody_knows_are_reported_and_no_accident() -> None:
    """
    A pod that wants its GPUs within a NUMA node, shares of them, or each container aligned for
    itself: what it claims to hold may be on no node, and its containers may be missing.
    """
    stranger = replace(put("a", ALL_CPUS), devices=(DeviceGrant("gpu", 77),))
    twice = replace(stranger, devices=(DeviceGrant("gpu", 77), DeviceGrant("gpu", 78)))
    half = replace(stranger, devices=(DeviceGrant("gpu", 77, share=HALF),))
    missing = replace(put("a", ALL_CPUS, memory={0: 3, 1: 3}), containers=())

    def broken(waiting: Pod, place: PodPlacement) -> set[str]:
        instance = world(waiting)
        measure(instance, Placement((place,)))
        return {breach.rule for breach in breaches(instance, Placement((place,)))}

    assert broken(scoped(2, SameTypeDevicesScope.NUMA_NODE), twice) == {
        "device-known",
        "device-scope",
    }
    assert "device-known" in broken(sharing("a", HALF), half)
    assert "containers" in broken(TWO, missing)


def test_what_brute_force_calls_best_is_clean() -> None:
    """
    The best placement of a tiny world keeps every rule and is worth what is said.
    """
    for seed in range(60):
        instance = tiny_instance(seed)
        best = best_placement(instance)

        assert breaches(instance, best.placement) == ()
        assert measure(instance, best.placement) == best.vector


def test_a_share_of_a_gpu_in_mig_mode_is_called_one() -> None:
    """
    Whole it is not what the pod holds.
    """
    whole = replace(SHARED, devices=(DeviceGrant("gpu", 1),))
    said = {
        place.devices[0].share: found.message
        for place in (SHARED, whole)
        for found in breaches(world(SHARING, nodes=[CUT]), Placement((place,)))
        if found.rule == "mig"
    }

    assert said[HALF] == (
        "pod 'a' holds a share of gpu 1 of node 'n'; it is in MIG mode and given out in instances"
    )
    assert said[None].startswith("pod 'a' holds gpu 1 whole of node 'n'; it is in MIG mode")


def test_names_of_another_namespace_are_told_apart() -> None:
    """
    Two pods of one name in two namespaces are two pods, and messages say which.
    """
    mine = pod("a", 1)
    other = replace(mine, namespace="prod")
    instance = world(mine, other)
    place = put("a", "0")
    both = Placement((place, replace(place, namespace="prod")))

    (found,) = breaches(instance, both)
    assert (found.rule, found.subject) == ("cpu-exclusive", "prod/a")
    assert found.message == (
        "pod 'prod/a' owns CPUs 0 of node 'n', which pod 'a' owns; a CPU has one owner"
    )
