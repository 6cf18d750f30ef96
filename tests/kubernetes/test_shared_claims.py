"""Claims of several pods before their devices are chosen: one set of devices, on one node."""

import pytest

from claim_worlds import (
    GPU_DRIVER,
    allocated,
    claim,
    claiming,
    device_class,
    gpu_listed,
    request,
    resource_slice,
    template,
)
from dump_worlds import after_binding, files_of, objects_of, solved
from kubernetes_dumps import notes, places, read
from kubernetes_worlds import Json, node
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.kinds import EmitKind
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.placement import Placed

ON = "kubernetes.io/hostname"
GANG = "scheduling.x-k8s.io/pod-group"


def cluster(*gpus: int) -> list[Json]:
    """Return nodes n1, n2, … with so many GPUs each, and the class of these."""
    found = [device_class()]
    for i, count in enumerate(gpus, 1):
        listed = [gpu_listed(j) for j in range(count)]
        found += [node(f"n{i}"), *([resource_slice(f"n{i}", listed)] if listed else [])]
    return found


def test_pods_that_share_a_claim_are_on_one_node_with_one_set_of_devices() -> None:
    """
    Two GPUs for three pods, though each node has no more than these.
    """
    pods = [claiming(name) for name in ("p", "q", "r")]
    instance, summary = read(*cluster(2, 0, 2), claim("c", request(count=2)), *pods)
    found = places(instance)

    assert len(found) == 3
    assert len({place.node for place in found.values()}) == 1
    assert sorted(len(place.devices) for place in found.values()) == [0, 0, 2]
    assert "they come to its node: Pod default/q, Pod default/r" in notes(summary)


def test_who_cannot_come_to_the_devices_is_not_placed() -> None:
    """
    One pod selects a node without devices, and the devices are not there twice.
    """
    elsewhere = claiming("q", nodeSelector={ON: "n2"})
    instance, _ = read(*cluster(1, 1), claim(), claiming(nodeSelector={ON: "n1"}), elsewhere)

    assert set(places(instance)) == {"p"}


def test_the_exact_search_keeps_them_together() -> None:
    """
    Two claims of two pods each; only one node has room for a pair that wants two GPUs.
    """
    claims = [claim("c", request(count=2)), claim("d")]
    pods = [
        claiming(one, {"x": of}) for one, of in (("a", "d"), ("b", "d"), ("p", "c"), ("q", "c"))
    ]
    instance, _ = read(*cluster(1, 2), *claims, *pods)
    answer = solve(instance, SolveOptions(Engine.EXACT, 10, None, workers=1, seed=0))

    assert isinstance(answer, Placed)
    assert {place.name: place.node for place in answer.placement.pods} == {
        **{"a": "n1", "b": "n1"},
        **{"p": "n2", "q": "n2"},
    }


def test_a_gang_shares_a_claim() -> None:
    """
    All of it is placed, where all of it has room.
    """
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    gang = {**group, "metadata": {"name": "g", "namespace": "default"}, "spec": {"minMember": 2}}
    mates = [claiming(name, {"c": "c"}, labels={GANG: "g"}) for name in ("p", "q")]
    instance, _ = read(*cluster(1, 1), claim(), gang, *mates)

    assert len({place.node for place in places(instance).values()}) == 1
    assert len(places(instance)) == 2


def test_a_pod_that_is_not_asked_about_holds_nothing_for_the_others() -> None:
    """
    The next pod gets the devices.
    """
    first = claiming("p", {"c": "c", "other": "other"})
    instance, _ = read(
        *cluster(1), claim(), claim("other", request(adminAccess=True)), first, claiming("q")
    )

    assert len(places(instance)["q"].devices) == 1


@pytest.mark.parametrize(
    "first",
    [
        claiming("p", nodeSelector={ON: "nowhere"}),
        claiming("p", requests={"cpu": "999"}),
        claiming("p", labels={GANG: "g"}),
    ],
)
def test_the_pod_that_can_come_to_most_nodes_holds_the_devices(first: Json) -> None:
    """
    Not one that no node has room for, nor a member of a gang that lacks others.
    """
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    gang = {**group, "metadata": {"name": "g", "namespace": "default"}, "spec": {"minMember": 3}}
    instance, _ = read(*cluster(1), claim(), gang, first, claiming("q", requests={"cpu": "1"}))

    assert {name: len(one.devices) for name, one in places(instance).items()} == {"q": 1}


@pytest.mark.parametrize("more", [{"nodeName": "n2"}, {"schedulingGates": [{"name": "g"}]}])
def test_only_pods_that_are_to_be_placed_share(more: Json) -> None:
    """
    One that is bound has no devices by the claim yet; one with a gate is not asked about.
    """
    instance, _ = read(*cluster(1, 0), claim(), claiming("a", **more), claiming("p"))

    assert len(places(instance)["p"].devices) == 1


def test_a_claim_that_has_its_devices_binds_nobody_to_anybody() -> None:
    """
    Its pods go where the devices are, whoever comes first.
    """
    has = claim("c", status=allocated("gpu-0", node="n2"))
    instance, _ = read(*cluster(1, 1), has, claiming("p"), claiming("q"))

    assert {name: place.node for name, place in places(instance).items()} == {"p": "n2", "q": "n2"}
    assert not any(one.spec.affinity for gang in instance.gangs for one in gang.pods)


def test_the_claim_is_told_once_and_is_reserved_for_all() -> None:
    """
    Read again with its pods bound, the devices are held by one, and nothing is broken.
    """
    objects = [*cluster(2), claim(), claiming("p"), claiming("q")]
    instance, placement = solved(objects, whole=True)
    files = files_of(objects, instance, placement, EmitKind.CLAIMS)
    status: Json = files["claims/default/c.status.yaml"]["status"]

    (result,) = status["allocation"]["devices"]["results"]
    assert (result["driver"], result["pool"]) == (GPU_DRIVER, "n1")
    assert [one["name"] for one in status["reservedFor"]] == ["p", "q"]

    patched = [
        {**one, "status": status} if one["kind"] == "ResourceClaim" else one for one in objects
    ]
    after, _ = instance_of_cluster_objects(objects_of(after_binding(patched, instance, placement)))
    assert misfits_of_instance(after) == ()
    assert sorted(len(one.placement.devices) for one in after.running) == [0, 1]


def test_nobody_is_told_of_while_the_pod_with_the_devices_is_held_back() -> None:
    """
    Another claim of that pod is not made yet, so this one would have no devices.
    """
    first = claiming("p", {"c": "c"}, templates={"g": "t"})
    objects = [*cluster(2), template("t"), claim(), first, claiming("q")]
    instance, placement = solved(objects, whole=True)

    assert files_of(objects, instance, placement, EmitKind.CLAIMS, EmitKind.BINDINGS) == {}


def test_cpus_are_shared_by_nobody() -> None:
    """
    A pod owns its CPUs by itself; who shares a claim on some is refused by name.
    """
    cpus = device_class("cpu", "device.driver == 'dra.cpu'")
    attributes = {
        f"dra.cpu/{name}": {"int": value}
        for name, value in (("cpuID", 1), ("coreID", 1), ("socketID", 0), ("numaNodeID", 0))
    }
    listed = [{"name": "cpu1", "attributes": attributes}]
    asked = claim("c", request(of="cpu"))
    owns = resource_slice("n1", listed, driver="dra.cpu")
    _, summary = read(node(), cpus, owns, asked, claiming("p"), claiming("q"))

    why = "there is no word yet for CPUs of ResourceClaim default/c, which 2 pods share"
    assert f"not placed: Pod default/p, Pod default/q: {why}" in notes(summary)
