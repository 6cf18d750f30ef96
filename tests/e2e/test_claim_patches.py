"""What ResourceClaims and pods are told of a placement, on a real API server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from claim_worlds import claim, claiming, device_class, gpu_listed, resource_slice
from e2e.control_plane import ControlPlane, control_plane_or_skip
from e2e.witness import Witness
from kubernetes_worlds import Json, node, pod
from placer_cli.app import main
from placer_cli.exits import ExitCode

pytestmark = pytest.mark.e2e

RESOURCE = "example.com/gpu"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane where a driver has GPUs, old ones on one node and new ones on the other."""
    name = "device.attributes['gpu.nvidia.com'].productName"
    models = {"n1": "new", "n2": "old"}
    slices = [
        resource_slice(
            on, [gpu_listed(i, attributes={"productName": {"string": model}}) for i in range(2)]
        )
        for on, model in models.items()
    ]
    classes = [device_class(one, f"{name} == '{one}'") for one in models.values()]
    listed = [{"name": one, "deviceClassName": one} for one in models.values()]
    asked = {RESOURCE: "1", "cpu": "1"}
    known = (
        *(node("n1"), node("n2"), *slices, *classes),
        device_class("any", extendedResourceName=RESOURCE),
        *(claim("c", {"name": "gpus", "firstAvailable": listed}), claiming("p"), claiming("q")),
        pod("r", asked, limits={RESOURCE: "1"}, nodeSelector={"kubernetes.io/hostname": "n2"}),
    )
    with control_plane_or_skip(tmp_path, *known) as control_plane:
        yield control_plane


def test_claims_are_told_before_the_bindings(cluster: ControlPlane, tmp_path: Path) -> None:
    """
    The API server takes what is sent as the page says; kube-scheduler would have bound them there.

    It looks at no pod again that has a claim for its extended resources.
    """
    dump, told = tmp_path / "dump.json", tmp_path / "told"
    kinds = "nodes,pods,namespaces,resourceslices,deviceclasses,resourceclaims"
    dump.write_text(cluster.kubectl("get", kinds, "-A", "-o", "json"))
    limits = ["--workers", "1", "--work-limit", "5", "--seed", "0"]
    assert (
        main(["solve", str(dump), *limits, "--emit", "bindings,claims", str(told)]) == ExitCode.DONE
    )

    _send(cluster, told)

    claims = cluster.call("GET", "/apis/resource.k8s.io/v1/resourceclaims")["items"]
    reserved = [
        sorted(one["name"] for one in found["status"]["reservedFor"])
        for found in sorted(claims, key=lambda one: str(one["metadata"]["name"]))
    ]
    assert reserved == [["p", "q"], ["r"]]
    status = cluster.call("GET", "/api/v1/namespaces/default/pods/r")["status"]
    made = status["extendedResourceClaimStatus"]["resourceClaimName"]
    assert made in {found["metadata"]["name"] for found in claims}
    with Witness(cluster.kubeconfig) as witness:
        verdicts = witness.of_cluster([f"default/{name}" for name in "pq"])
    assert {name: verdict.refused for name, verdict in verdicts.items() if verdict.refused} == {}


def _send(cluster: ControlPlane, told: Path) -> None:
    """Send claims and Bindings, as the pages say."""
    for file in sorted(told.glob("claims/*/*.new.yaml")):
        cluster.kubectl("create", "-f", str(file))
    for suffix, kind, more in (
        ("finalizer", "resourceclaim", ()),
        ("status", "resourceclaim", ("--subresource", "status")),
        ("pod", "pod", ("--subresource", "status")),
    ):
        for file in sorted(told.glob(f"claims/*/*.{suffix}.yaml")):
            name = file.name.removesuffix(f".{suffix}.yaml")
            patch = ("--type", "merge", *more, "--patch-file", str(file))
            cluster.kubectl("-n", file.parent.name, "patch", kind, name, *patch)
    for file in sorted(told.glob("bindings/*/*/*.json")):
        body: Json = json.loads(file.read_text())
        path = f"/api/v1/namespaces/{file.parent.name}/pods/{file.stem}/binding"
        cluster.call("POST", path, body)
