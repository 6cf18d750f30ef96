"""What a cluster is told of a placement, object by object (C14, D11, G1)."""

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from claim_worlds import claim, claiming, device_class, resource_slice
from dump_worlds import objects_of, solved
from kubernetes_worlds import Json, device, held, lsr, member, node, owned, pod, pod_group, topology
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.kinds import EmitKind, emitted_files
from placer.kubernetes.emit.placed_pods import placed_dump
from placer.kubernetes.emit.writer import object_file_text
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.placement import Placed, Placement

STATUS = "scheduling.koordinator.sh/resource-status"
ALLOCATED = "scheduling.koordinator.sh/device-allocated"
MEMORY = "placer/memory-status"
BOUND_WITH = "internal.scheduling.koordinator.sh/bind-gang-group-id"
SO_MANY = "internal.scheduling.koordinator.sh/bind-gang-member-count"


def told(*objects: Json, kind: EmitKind = EmitKind.BINDINGS) -> dict[str, list[Any]]:
    """Return path -> objects that the cluster is told, as they stand in the file."""
    files = emitted_files(placed_dump(objects_of(objects), *solved(objects)), [kind])
    read = {file.path: object_file_text(file) for file in files}
    return {
        path: [json.loads(text)] if path.endswith(".json") else list(yaml.safe_load_all(text))
        for path, text in read.items()
    }


def notes(*objects: Json) -> dict[str, dict[str, Any]]:
    """Return pod -> its annotations, documents read."""
    return {
        one["metadata"]["name"]: {
            key: json.loads(text) if text[:1] in "{[" else text
            for key, text in one["metadata"].get("annotations", {}).items()
        }
        for found in told(*objects).values()
        for one in found
    }


def small(name: str, gang: str) -> Json:
    """Return a small pod of a gang."""
    return member(name, gang, {"cpu": "1"})


def test_a_pod_that_owns_cpus_says_which_and_where_its_memory_is() -> None:
    """
    As Koordinator's scheduler writes it.
    """
    assert notes(node(), topology(), lsr("p", 2))["p"] == {
        STATUS: {
            "cpuset": "0-1",
            "numaNodeResources": [{"node": 0, "resources": {"cpu": "2", "memory": "1Gi"}}],
        }
    }


def test_a_pod_that_floats_says_where_its_memory_counts_to_placer_alone() -> None:
    """
    Koordinator's agent would keep it to the CPUs of NUMA nodes that resource-status names.
    """
    found = notes(node(), topology(), pod("p", {"cpu": "1", "memory": "1Gi"}))["p"]

    assert found == {MEMORY: {"numaNodeResources": [{"node": 0, "resources": {"memory": "1Gi"}}]}}
    assert notes(node(), pod("p"))["p"] == {}


def test_devices_are_named_where_a_device_object_lists_them() -> None:
    """
    Those that a kubelet gives out by itself are not, for nobody knows which it takes.
    """
    wants = pod("p", {"nvidia.com/gpu": "1"})
    found = notes(node(), topology(), device(), wants)["p"][ALLOCATED]
    resources = {
        "koordinator.sh/gpu-core": "100",
        "koordinator.sh/gpu-memory": "16Gi",
        "koordinator.sh/gpu-memory-ratio": "100",
    }
    assert found == {"gpu": [{"minor": 0, "id": "GPU-0", "resources": resources}]}

    zones = topology()
    for zone in zones["zones"]:
        amounts = {"capacity": "2", "allocatable": "2", "available": "2"}
        zone["resources"].append({"name": "nvidia.com/gpu", **amounts})
    assert ALLOCATED not in notes(node(), zones, wants)["p"]
    assert notes(node(amounts={"nvidia.com/gpu": "1"}), wants)["p"] == {}


def test_devices_of_claims_are_told_of_by_the_claims() -> None:
    """
    Koordinator's annotation has those that containers ask for.
    """
    drivers = node(), topology(), device(), resource_slice(), device_class(), claim()
    assert ALLOCATED not in notes(*drivers, claiming("p"))["p"]
    assert ALLOCATED in notes(*drivers, pod("q", {"koordinator.sh/gpu": "50"}))["q"]


def test_annotations_of_another_place_are_written_over() -> None:
    """
    A pod made of the manifest of another one may carry them before it has a place.
    """
    where = {"numaNodeResources": [{"node": 1, "resources": {"memory": "1Gi"}}]}
    stale = {**owned("0-1"), **held(3), MEMORY: where}

    one = pod("p", {"cpu": "1"}, annotations=stale)
    assert notes(node(), topology(), one)["p"] == {STATUS: {}, MEMORY: {}, ALLOCATED: {}}
    owner = notes(node(), topology(), lsr("p", annotations=stale))["p"]
    assert (owner[STATUS]["cpuset"], owner[MEMORY]) == ("0-1", {})


def test_an_empty_note_of_placer_hides_nothing() -> None:
    """
    Memory that resource-status names counts where that says.
    """
    status = {"cpuset": "4", "numaNodeResources": [{"node": 1, "resources": {"memory": "1Gi"}}]}
    runs = lsr("p", 1, annotations={STATUS: status, MEMORY: {}}, nodeName="n1")

    instance, _ = instance_of_cluster_objects(objects_of([node(), topology(), runs]))

    (running,) = instance.running
    assert running.placement.memory_bytes == ((1, 2**30),)


def test_members_of_a_gang_say_with_whom_they_are_bound() -> None:
    """
    Its group of gangs, and how many pods; a pod by itself says nothing.
    """
    groups = {"gang.scheduling.koordinator.sh/groups": '["default/a","default/b"]'}
    found = notes(
        node(),
        pod_group("a", 1, annotations=groups),
        pod_group("b", 2, annotations=groups),
        pod_group("c", 1),
        *(small("a-0", "a"), small("b-0", "b"), small("b-1", "b"), small("c-0", "c")),
    )

    assert found["a-0"] == found["b-1"] == {BOUND_WITH: "default/a,default/b", SO_MANY: "3"}
    assert found["c-0"] == {}


def test_what_comes_together_is_bound_from_one_folder() -> None:
    """
    All gangs of a group in one; a pod by itself has one of its own.
    """
    groups = {"gang.scheduling.koordinator.sh/groups": '["default/a","default/b"]'}
    found = told(
        node(),
        pod_group("a", 1, annotations=groups),
        pod_group("b", 1, annotations=groups),
        *(small("a-0", "a"), small("b-0", "b"), pod("lone", {"cpu": "1"})),
    )

    assert sorted(found) == [
        "bindings/default.a/default/a-0.json",
        "bindings/default.a/default/b-0.json",
        "bindings/default.lone/default/lone.json",
    ]
    (lone,) = found["bindings/default.lone/default/lone.json"]
    assert lone == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "lone", "namespace": "default", "uid": "uid-lone"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }


def test_patches_say_which_state_of_the_pod_they_are_for() -> None:
    """
    By uid and resourceVersion: a pod that has changed since refuses them.
    """
    found = told(node(), topology(), lsr("p"), pod("none", {"cpu": "1"}), kind=EmitKind.PATCHES)

    assert list(found) == ["patches/default/p.yaml"]
    metadata = found["patches/default/p.yaml"][0]["metadata"]
    assert (metadata["uid"], metadata["resourceVersion"]) == ("uid-p", "9")
    assert set(metadata["annotations"]) == {STATUS}


def test_whole_pods_are_new_ones_on_their_node() -> None:
    """
    What they asked for, and nothing that a cluster said of them.
    """
    found = told(node(), topology(), lsr("p"), kind=EmitKind.YAML)

    (whole,) = found["pods.yaml"]
    assert whole["spec"] == {**lsr("p")["spec"], "nodeName": "n1"}
    assert set(whole) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(whole["metadata"]) == {"name", "namespace", "labels", "annotations"}


def test_half_a_gang_is_bound_by_nobody() -> None:
    """
    Neither a gang below its minimum nor some gangs of a group.
    """
    groups = {"gang.scheduling.koordinator.sh/groups": '["default/a","default/b"]'}
    known = objects_of(
        [
            node(),
            pod_group("a", 2, annotations=groups),
            pod_group("b", 1, annotations=groups),
            *(small("a-0", "a"), small("a-1", "a"), small("b-0", "b")),
        ]
    )
    instance, _ = instance_of_cluster_objects(known)
    answer = solve(instance, SolveOptions(Engine.GREEDY, 10, None, workers=1, seed=0))
    assert isinstance(answer, Placed)
    places = {place.name: place for place in answer.placement.pods}

    for names, gang in ((("a-0", "b-0"), "default/a"), (("a-0", "a-1"), "default/b")):
        with pytest.raises(ValueError, match=gang):
            placed_dump(known, instance, Placement(tuple(places[name] for name in names)))


def test_nobody_is_moved_by_a_binding() -> None:
    """
    A pod that runs would have to be deleted first, and that is for its owner to do.
    """
    known = objects_of([node("n1"), node("n2"), pod("runs", nodeName="n1")])
    instance, _ = instance_of_cluster_objects(known)
    (running,) = instance.running
    moved = Placement((replace(running.placement, node="n2"),))

    with pytest.raises(ValueError, match="Pod default/runs runs on node n1"):
        placed_dump(known, instance, moved)
