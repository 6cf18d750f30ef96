"""Nodes whose CPUs are amplified: what LS pods ask for, and what owned CPUs take of it."""

import json

import pytest

from kubernetes_dumps import faults, notes, places, read
from kubernetes_worlds import Json, lsr, node, owned, pod, topology

RATIO = "node.koordinator.sh/resource-amplification-ratio"
EIGHT = {"cpu": "8", "memory": "16Gi"}


def amplified(ratio: object, **more: Json) -> Json:
    """Return a node of 8 CPUs that calls them 12."""
    text = json.dumps({"cpu": ratio})
    return node(annotations={RATIO: text}, amounts={"cpu": "12"}, capacity=EIGHT, **more)


def ls(name: str, cpu: str) -> Json:
    """Return a pod of the shared pool."""
    return pod(name, {"cpu": cpu, "memory": "1Gi"})


@pytest.mark.parametrize(("asked", "fits"), [("12", True), ("12001m", False)])
def test_pods_of_the_shared_pool_have_what_the_node_calls_allocatable(
    asked: str, *, fits: bool
) -> None:
    """
    Their requests count as they are.
    """
    assert bool(places(read(amplified(1.5), topology(), ls("p", asked))[0])) is fits


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize(("asked", "fits"), [("6", True), ("6001m", False)])
def test_owned_cpus_count_times_the_ratio(asked: str, *, fits: bool, running: bool) -> None:
    """
    Four of eight CPUs are owned, and six of twelve are left; ids are those of the machine.
    """
    bound = {"annotations": owned("0-3"), "nodeName": "n1"} if running else {}
    instance, _ = read(amplified("1.5"), topology(), lsr("own", 4, **bound), ls("p", asked))
    found = places(instance)
    both = {"p"} if running else {"own", "p"}
    assert (set(found) == both) is fits
    assert all(len(place.cpuset) == 4 for name, place in found.items() if name == "own")


def test_an_owner_asks_for_no_more_cpus_than_there_are() -> None:
    """
    Nine CPUs are not to be had of eight, whatever they are called.
    """
    assert len(places(read(amplified(1.5), topology(), lsr(cpus=8))[0])) == 1
    assert not places(read(amplified(1.5), topology(), lsr(cpus=9))[0])


def test_what_the_system_keeps_is_what_is_missing_from_the_amplified_cpus() -> None:
    """
    Of 12 CPUs 11.5 are allocatable.
    """
    kept = node(annotations={RATIO: '{"cpu":1.5}'}, amounts={"cpu": "11500m"}, capacity=EIGHT)
    assert places(read(kept, topology(), ls("p", "11500m"))[0])
    assert not places(read(kept, topology(), ls("p", "11501m"))[0])


@pytest.mark.parametrize(("asked", "fits"), [("6", True), ("6001m", False)])
def test_each_numa_node_has_its_part_of_amplified_cpus(asked: str, *, fits: bool) -> None:
    """
    Under SingleNUMANode a pod of the pool has the four CPUs of one, which count as six.
    """
    label = {"node.koordinator.sh/numa-topology-policy": "SingleNUMANode"}
    instance, _ = read(amplified(1.5, labels=label), topology(), ls("p", asked))
    assert bool(places(instance)) is fits


def test_other_amplified_resources_close_their_node_by_name() -> None:
    """
    There is no word for memory that is not there.
    """
    said = {RATIO: '{"cpu":1.5,"memory":1.2,"ephemeral-storage":1}'}
    instance, summary = read(node(annotations=said), pod())
    assert not places(instance)
    assert "with memory amplified by 1.2, for which there is no word" in notes(summary)
    assert "ephemeral-storage" not in notes(summary)


@pytest.mark.parametrize(
    ("ratio", "message"),
    [(-1, "is negative"), ("x", "is no amount"), (1000, "expected 100 at most")],
)
def test_a_ratio_that_is_none_is_refused(ratio: object, message: str) -> None:
    """
    The annotation is named, and what is wrong with it.
    """
    (fault,) = faults(amplified(ratio))
    assert "Node n1" in fault
    assert "resource-amplification-ratio" in fault
    assert message in fault


def test_a_ratio_below_one_says_nothing() -> None:
    """
    As for Koordinator.
    """
    instance, _ = read(node(annotations={RATIO: '{"cpu":0.5}'}), topology())
    assert instance.nodes[0].milli_per_cpu == 1000
