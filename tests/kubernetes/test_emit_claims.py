"""What ResourceClaims are told of a placement, and what is read of it again."""

import copy
from typing import Any

import pytest

from claim_worlds import (
    GPU_DRIVER,
    allocated,
    claim,
    claiming,
    device_class,
    gpu_listed,
    nic_listed,
    nics,
    request,
    resource_slice,
    template,
)
from dump_worlds import after_binding, files_of, objects_of, solved, with_placed
from json_schemas import check_object
from kubernetes_worlds import Json, node, pod, topology
from placer.counting.account import accounts_of
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.claims import FINALIZER
from placer.kubernetes.emit.kinds import EmitKind, emitted_files
from placer.kubernetes.emit.placed_pods import placed_dump
from placer_models.files.errors import InputError

GANG = "scheduling.x-k8s.io/pod-group"

CLUSTER = [
    *(node("n1"), topology("n1"), resource_slice("n1"), device_class(), nics()),
    resource_slice("n1", [nic_listed(i) for i in range(2)], driver="dra.net"),
]


def told(objects: list[Json]) -> dict[str, Any]:
    """Return path -> patch, as it stands in the file."""
    return files_of(objects, *solved(objects), EmitKind.CLAIMS)


def merged(found: Any, patch: Any) -> Any:
    """Return an object after a merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    known = found if isinstance(found, dict) else {}
    after = {key: value for key, value in known.items() if patch.get(key, "") is not None}
    after.update(
        {key: merged(known.get(key), value) for key, value in patch.items() if value is not None}
    )
    return after


def after_patches(objects: list[Json]) -> list[Json]:
    """Return the objects once their claims have been patched; each is a claim of Kubernetes."""
    patches = list(told(objects).values())
    after = []
    for one in objects:
        found: Any = one
        for patch in patches:
            names = one["metadata"]["name"], patch["metadata"]["name"]
            if one["kind"] == patch["kind"] and names[0] == names[1]:
                found = merged(found, patch)
        if found is not one:
            check_object(found)
        after.append(found)
    return after


def test_a_claim_is_told_which_alternative_it_got() -> None:
    """
    That of its node, with the configuration of its class.
    """
    name = f"device.attributes['{GPU_DRIVER}'].productName"
    opaque = {"opaque": {"driver": GPU_DRIVER, "parameters": {"of": "old"}}}
    classes = [
        device_class("new", f"{name} == 'new'"),
        device_class("old", f"{name} == 'old'", config=[opaque]),
    ]
    listed = [{"name": one, "deviceClassName": one} for one in ("new", "old")]
    asked = claim("c", {"name": "gpus", "firstAvailable": listed})
    old = gpu_listed(0, attributes={"productName": {"string": "old"}})
    new = gpu_listed(0, attributes={"productName": {"string": "new"}})
    slices = [resource_slice("n1", [new]), resource_slice("n2", [old])]
    pod_on_n2 = claiming("p", nodeSelector={"kubernetes.io/hostname": "n2"})
    here = [node("n1"), node("n2"), *slices, *classes, asked, pod_on_n2]

    given = told(here)["claims/default/c.status.yaml"]["status"]["allocation"]["devices"]

    result = {"driver": GPU_DRIVER, "pool": "n2", "device": "gpu-0"}
    assert given["results"] == [{"request": "gpus/old", **result}]
    assert given["config"] == [{"source": "FromClass", "requests": ["gpus/old"], **opaque}]


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        (request("gpus", allocationMode="All"), {"gpus": {"n1": 4, "n2": 1}}),
        (
            {
                "name": "gpus",
                "firstAvailable": [
                    {"name": "several", "deviceClassName": "gpu", "count": 3},
                    {"name": "few", "deviceClassName": "gpu", "count": 1},
                ],
            },
            {"gpus/several": {"n1": 3}, "gpus/few": {"n2": 1}},
        ),
    ],
)
def test_claims_are_told_as_many_devices_as_their_node_serves(
    asked: Json, counts: dict[str, dict[str, int]]
) -> None:
    """
    All of a node's, or the first alternative there: four GPUs on one node, one on the other.
    """
    here = [node("n1"), node("n2"), device_class(), resource_slice("n1")]
    here += [resource_slice("n2", [gpu_listed(0)]), claim("c1", asked), claim("c2", asked)]
    here += [claiming("p1", {"c": "c1"}), claiming("p2", {"c": "c2"})]

    found: dict[str, dict[str, int]] = {}
    for path, patch in told(here).items():
        if path.endswith(".status.yaml"):
            for result in patch["status"]["allocation"]["devices"]["results"]:
                of = found.setdefault(result["request"], {})
                of[result["pool"]] = of.get(result["pool"], 0) + 1

    assert found == counts
    instance, _ = instance_of_cluster_objects(objects_of(after_patches(here)))
    assert not misfits_of_instance(instance)


def test_a_claim_is_told_its_devices_its_node_and_its_pod() -> None:
    """
    By the names that the drivers gave them; what drivers are told of class and claim goes along.
    """
    config = [{"opaque": {"driver": GPU_DRIVER, "parameters": {"kind": "GpuConfig"}}}]
    own = [{"requests": ["gpus"], "opaque": {"driver": GPU_DRIVER, "parameters": {"a": 1}}}]
    same = [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]
    wants = claim("c", request(count=2), request("nic", of="nic"), config=own, constraints=same)
    classes = [device_class("gpu", "device.driver == 'gpu.nvidia.com'", config=config)]
    others = [one for one in CLUSTER if one["metadata"]["name"] != "gpu"]
    found = told([*others, *classes, wants, claiming("p")])

    assert list(found) == ["claims/default/c.finalizer.yaml", "claims/default/c.status.yaml"]
    identity = {"name": "c", "namespace": "default", "uid": "uid-claim-c"}
    first, second = found.values()
    assert first["metadata"] == {**identity, "resourceVersion": "5", "finalizers": [FINALIZER]}
    assert second["metadata"] == identity
    devices = second["status"]["allocation"]["devices"]
    root = devices["results"][2]["device"].removeprefix("rdma")
    gpus = [f"gpu-{2 * int(root)}", f"gpu-{2 * int(root) + 1}"]
    assert devices == {
        "results": [
            *(
                {"request": "gpus", "driver": GPU_DRIVER, "pool": "n1", "device": one}
                for one in gpus
            ),
            {"request": "nic", "driver": "dra.net", "pool": "n1", "device": f"rdma{root}"},
        ],
        "config": [
            {"source": "FromClass", "requests": ["gpus"], **config[0]},
            {"source": "FromClaim", **own[0]},
        ],
    }
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    assert second["status"]["allocation"]["nodeSelector"] == {
        "nodeSelectorTerms": [{"matchFields": [field]}]
    }
    assert second["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "uid-p"}]


def test_a_claim_that_has_its_devices_is_told_of_one_more_pod() -> None:
    """
    Its allocation stays as it is; a claim with a finalizer is patched at its version alone.
    """
    status = allocated("gpu-1")
    status["reservedFor"] = [{"resource": "pods", "name": "old", "uid": "u"}]
    has = claim("c", status=status)
    has["metadata"]["finalizers"] = [FINALIZER]
    (patch,) = told([*CLUSTER, has, claiming("p"), claiming("q")]).values()

    assert patch["metadata"]["resourceVersion"] == "5"
    assert [one["name"] for one in patch["status"]["reservedFor"]] == ["old", "p", "q"]
    assert "allocation" not in patch["status"]


def test_only_claims_that_are_there_are_told() -> None:
    """
    Not those that are yet to be made of a template; a pod without uid has none kept for it.
    """
    objects = [*CLUSTER, template("t"), claiming("p", templates={"g": "t"})]
    assert told(objects) == {}

    nobody = claiming("p")
    del nobody["metadata"]["uid"]
    with pytest.raises(InputError, match="Pod default/p: is missing"):
        told([*CLUSTER, claim("c"), nobody])


def test_nothing_is_told_of_a_pod_whose_claim_is_yet_to_be_made() -> None:
    """
    Bound before that it would wait for ever; nor of its gang. Others are told of.
    """
    mates = [
        claiming("p", templates={"g": "t"}, labels={GANG: "g"}),
        claiming("q", templates={"g": "t"}, made={"g": "made"}, labels={GANG: "g"}),
    ]
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    gang = {**group, "metadata": {"name": "g", "namespace": "default"}, "spec": {"minMember": 2}}
    objects = [*CLUSTER, template("t"), claim("made"), gang, *mates, pod("alone")]
    instance, placement = solved(objects)
    dump = placed_dump(objects_of(objects), instance, placement)

    assert len(placement.pods) == 3
    assert [one.part.identity.name for one in dump.held_back] == ["p"]
    kinds = [EmitKind.BINDINGS, EmitKind.CLAIMS]
    assert [file.path for file in emitted_files(dump, kinds)] == [
        "bindings/default.alone/default/alone.json"
    ]


def test_what_is_read_again_holds_the_same() -> None:
    """
    Claims patched, pods bound: the accounts of all nodes are as the placement left them.
    """
    same = [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]
    objects = [
        *CLUSTER,
        claim("a", status=allocated("gpu-0")),
        claiming("runs", {"c": "a"}, nodeName="n1"),
        claim("b", request(), request("nic", of="nic"), constraints=same),
        claiming("p", {"c": "b"}, requests={"cpu": "1"}),
        template("t"),
        claim("made"),
        claiming("q", templates={"g": "t"}, made={"g": "made"}, requests={"cpu": "1"}),
    ]
    instance, placement = solved(objects)
    assert len(placement.pods) == 2

    bound = after_binding(after_patches(objects), instance, placement)
    after, _ = instance_of_cluster_objects(objects_of(bound))

    waited = {pod.key for gang in instance.gangs for pod in gang.pods}
    held = {one.pod.key: one.placement.devices for one in after.running}
    assert {place.key: place.devices for place in placement.pods} == {
        key: devices for key, devices in held.items() if key in waited
    }
    assert misfits_of_instance(after) == ()
    (found,), (want,) = accounts_of(after), accounts_of(with_placed(instance, placement))
    assert found.devices == want.devices
    assert (found.cores, found.memory, found.pools.shared) == (
        want.cores,
        want.memory,
        want.pools.shared,
    )
