"""Extended resources that DeviceClasses give: by claims that are made with the placement."""

from typing import Any

import pytest

from claim_worlds import (
    GPU_DRIVER,
    allocated,
    claim,
    claiming,
    device_class,
    request,
    resource_slice,
)
from dump_worlds import after_binding, files_of, objects_of, solved
from json_schemas import check_object
from kubernetes_dumps import notes, places, read
from kubernetes_worlds import Json, node, pod
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.claims import EXTENDED, FINALIZER
from placer.kubernetes.emit.kinds import EmitKind
from placer_models.cluster import Instance
from placer_models.placement import Placement

RESOURCE = "example.com/gpu"


def of_class(name: str = "gpu", resource: str = RESOURCE, **metadata: str) -> Json:
    """Return a class of GPUs that are had by a resource, too."""
    found = device_class(name, extendedResourceName=resource)
    found["metadata"].update(metadata)
    return found


def wanting(name: str = "p", count: int = 1, resource: str = RESOURCE, **more: Any) -> Json:
    """Return a pod that asks for so much of a resource."""
    return pod(name, {"cpu": "1", resource: str(count)}, limits={resource: str(count)}, **more)


def told(objects: list[Json]) -> tuple[Instance, Placement, dict[str, Any]]:
    """Return the cluster, what is placed, and path -> what is written of claims."""
    instance, placement = solved(objects, whole=True)
    return instance, placement, files_of(objects, instance, placement, EmitKind.CLAIMS)


@pytest.mark.parametrize("resource", [RESOURCE, "deviceclass.resource.kubernetes.io/gpu"])
def test_a_pod_gets_devices_for_the_resource_of_a_class(resource: str) -> None:
    """
    By the name that the class says, or by the one that every class has; no device twice.
    """
    instance, summary = read(
        *(node("n0"), node("n1"), resource_slice("n1"), of_class()),
        *(wanting("p", 2, resource), wanting("q", 3, resource), claim(), claiming("r")),
    )
    found = places(instance)

    assert {name: (one.node, len(one.devices)) for name, one in found.items()} in (
        {"p": ("n1", 2), "r": ("n1", 1)},
        {"q": ("n1", 3), "r": ("n1", 1)},
    )
    assert "by a claim that is made for them: Pod default/p, Pod default/q" in notes(summary)


def test_nvidia_gpus_of_a_driver_are_had_by_their_usual_name() -> None:
    """
    As in a cluster that has left the device plugin behind.
    """
    instance, _ = read(
        node("n1"),
        resource_slice("n1"),
        of_class(resource="nvidia.com/gpu"),
        wanting(count=4, resource="nvidia.com/gpu"),
    )

    assert len(places(instance)["p"].devices) == 4


@pytest.mark.parametrize("newer", ["a", "b"])
def test_of_two_classes_with_one_resource_the_newer_gives_it(newer: str) -> None:
    """
    Whichever comes first by name, which decides where both are as old.
    """
    older = "b" if newer == "a" else "a"
    none = device_class(older, "device.driver == 'none'", extendedResourceName=RESOURCE)
    here = [node("n1"), resource_slice("n1"), none, wanting()]
    alike, _ = read(*here, of_class(newer))
    none["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    instance, _ = read(*here, of_class(newer, creationTimestamp="2026-02-01T00:00:00Z"))

    assert set(places(instance)) == {"p"}
    assert set(places(alike)) == ({"p"} if newer == "a" else set())


def test_init_containers_use_the_devices_of_those_after_them() -> None:
    """
    Three requests: the sidecar's, the main container's, and what the larger init container lacks.
    """
    asked = wanting("p", 2)
    more = [("small", 3, {}), ("sidecar", 1, {"restartPolicy": "Always"}), ("large", 4, {})]
    asked["spec"]["initContainers"] = [
        {
            "name": name,
            "resources": {"requests": {RESOURCE: str(count)}, "limits": {RESOURCE: str(count)}},
            **rest,
        }
        for name, count, rest in more
    ]
    objects = [node("n1"), resource_slice("n1", [_gpu(i) for i in range(8)]), of_class(), asked]
    instance, placement, files = told(objects)

    (place,) = placement.pods
    assert len(place.devices) == 5
    made = next(one for path, one in files.items() if path.endswith(".new.yaml"))
    assert {
        one["name"]: one["exactly"]["count"] for one in made["spec"]["devices"]["requests"]
    } == {"container-1-request-0": 1, "container-2-request-0": 2, "container-3-request-1": 2}
    status = files["claims/default/p.pod.yaml"]["status"]["extendedResourceClaimStatus"]
    uses = {(one["containerName"], one["requestName"]) for one in status["requestMappings"]}
    assert uses == {
        ("small", "container-1-request-0"),
        ("small", "container-3-request-1"),
        ("sidecar", "container-1-request-0"),
        ("large", "container-2-request-0"),
        ("large", "container-3-request-1"),
        ("main", "container-3-request-1"),
    }
    assert not misfits_of_instance(instance)


def _gpu(i: int) -> Json:
    return {"name": f"gpu-{i}", "attributes": {"type": {"string": "gpu"}}}


def test_the_claim_is_created_and_the_pod_is_told_of_it() -> None:
    """
    As kube-scheduler does; read again with the pod bound, the pod holds these devices.
    """
    objects = [node("n1"), resource_slice("n1"), of_class(), wanting("p", 2)]
    instance, placement, files = told(objects)
    (place,) = placement.pods

    new, status, patch = files
    name = new.removeprefix("claims/default/").removesuffix(".new.yaml")
    assert name.startswith("p-extended-resources-")
    assert [status, patch] == [f"claims/default/{name}.status.yaml", "claims/default/p.pod.yaml"]
    made = files[new]
    check_object(made)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    assert made["metadata"] == {
        "name": name,
        "namespace": "default",
        "annotations": {EXTENDED: "true"},
        "ownerReferences": [owner],
        "finalizers": [FINALIZER],
    }
    results = files[status]["status"]["allocation"]["devices"]["results"]
    assert [one["device"] for one in results] == [f"gpu-{one.minor}" for one in place.devices]
    assert {one["driver"] for one in results} == {GPU_DRIVER}
    assert files[patch]["metadata"] == {"name": "p", "namespace": "default", "uid": "uid-p"}

    after = [{**made, "status": files[status]["status"]}]
    for one in after_binding(objects, instance, placement):
        bound = one["kind"] == "Pod"
        after.append(
            {**one, "status": {**one["status"], **files[patch]["status"]}} if bound else one
        )
    again, _ = instance_of_cluster_objects(objects_of(after))
    (running,) = again.running
    assert running.placement.devices == place.devices
    assert misfits_of_instance(again) == ()


def test_a_claim_that_was_made_earlier_is_not_created_again() -> None:
    """
    Its status and the pod's are written, as for any claim.
    """
    objects = [node("n1"), resource_slice("n1"), of_class(), wanting()]
    _, _, files = told(objects)
    made = next(one for path, one in files.items() if path.endswith(".new.yaml"))
    made["metadata"] |= {"uid": "u", "resourceVersion": "7"}

    _, _, again = told([*objects, made])

    assert sorted(path.partition(".")[2] for path in again) == ["pod.yaml", "status.yaml"]


def test_a_name_that_is_too_long_is_cut() -> None:
    """
    Kubernetes' names of claims end at 63 letters.
    """
    name = "p" * 60
    _, _, files = told([node("n1"), resource_slice("n1"), of_class(), wanting(name)])

    made = next(one for path, one in files.items() if path.endswith(".new.yaml"))
    assert len(made["metadata"]["name"]) == 63


def test_a_pod_has_claims_of_its_own_beside() -> None:
    """
    The devices of both are counted.
    """
    asked = claiming("p", requests={"cpu": "1", RESOURCE: "1"}, limits={RESOURCE: "1"})
    held = claim("held", status=allocated("gpu-3"))
    objects = [node("n1"), resource_slice("n1"), of_class(), held, claim("c", request(count=2))]
    _, placement, files = told([*objects, asked])

    (place,) = placement.pods
    assert [one.minor for one in place.devices] == [0, 1, 2]
    counts = [
        len(one["status"]["allocation"]["devices"]["results"])
        for path, one in files.items()
        if path.endswith(".status.yaml")
    ]
    assert sorted(counts) == [1, 2]
