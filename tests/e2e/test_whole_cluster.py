"""The whole way on a real API server: dumped, solved, sent, judged by kube-scheduler."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.control_plane import ControlPlane, control_plane_or_skip
from e2e.whole_cluster import cluster_objects, leaving_pods, running_pods, waiting_pods
from e2e.witness import Witness
from kubernetes_worlds import Json
from placer.judge.misfits import misfits_of_instance
from placer.load import load_instance
from placer_cli.app import main
from placer_cli.exits import ExitCode

pytestmark = pytest.mark.e2e

KINDS = (
    "nodes,pods,namespaces,persistentvolumes,persistentvolumeclaims,storageclasses,csinodes,"
    "volumeattachments,resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates"
)

NO_PREEMPTION: Json = {"profiles": [{"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}]}
"""Nothing that waits may push out what runs: only then has it no place for the filters' reason."""

LOOKED_AT_LIMIT_S = 60.0

ASKED_ANEW = "DynamicResources: cannot schedule extended resource claim"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane with the cluster's objects."""
    with control_plane_or_skip(tmp_path, *cluster_objects()) as control_plane:
        for one in running_pods():
            control_plane.run(one, one["spec"]["nodeName"])
        for one in leaving_pods():
            control_plane.run(one, one["spec"]["nodeName"])
            path = f"/api/v1/namespaces/shop/pods/{one['metadata']['name']}"
            control_plane.call("DELETE", path)
        for one in waiting_pods():
            control_plane.create(one)
        yield control_plane


def test_nothing_that_is_sent_is_refused(cluster: ControlPlane, tmp_path: Path) -> None:
    """
    kube-scheduler's filters would have taken each pod where Placer bound it, and afterwards find
    no node for a pod that Placer gave a reason for.
    """
    dump, answer, told = tmp_path / "dump.json", tmp_path / "answer.json", tmp_path / "told"
    dump.write_text(cluster.kubectl("get", KINDS, "-A", "-o", "json"))
    limits = ["--workers", "1", "--work-limit", "5", "--seed", "0"]
    emitted = ["--emit", "bindings,claims,volumes", str(told), "--output", str(answer)]

    assert main(["solve", str(dump), *limits, *emitted]) == ExitCode.NOT_ALL

    chosen = {
        f"{file.parent.name}/{file.stem}": json.loads(file.read_text())["target"]["name"]
        for file in told.glob("bindings/*/*/*.json")
    }
    anew = [name for name in chosen if name.startswith("default/extended-")]
    with Witness(cluster.kubeconfig) as witness:
        before = witness.of_cluster(anew)
    bound = _send(cluster, told)
    reasons = json.loads(answer.read_text())["unplaced"]
    left = {f"{one['namespace']}/{one['name']}" for one in reasons}
    assert len(bound) > 250
    assert len(bound) + len(left) == len(list(waiting_pods())) == 300
    with Witness(cluster.kubeconfig) as witness:
        verdicts = witness.of_cluster(sorted(bound))
    refused = {name: dict(found.refused) for name, found in verdicts.items() if found.refused}
    # It asks anew for a pod that has such a claim, even for one of its own making.
    assert refused == {name: {chosen[name]: ASKED_ANEW} for name in anew}
    assert all(chosen[name] in before[name].fits for name in anew)
    again = tmp_path / "again.json"
    again.write_text(cluster.kubectl("get", KINDS, "-A", "-o", "json"))
    assert misfits_of_instance(load_instance([again])) == ()
    with cluster.scheduler(NO_PREEMPTION):
        assert _looked_at(cluster, left) == dict.fromkeys(left, "")


def _send(cluster: ControlPlane, told: Path) -> set[str]:
    """Send claims, volumes and Bindings, as the pages say; return the pods that are bound."""
    claims = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
    for file in sorted(told.glob("claims/*/*.new.yaml")):
        cluster.call("POST", claims.format(file.parent.name), yaml.safe_load(file.read_text()))
    for kind, part in (("finalizer", ""), ("status", "/status")):
        for file in sorted(told.glob(f"claims/*/*.{kind}.yaml")):
            name = file.name.removesuffix(f".{kind}.yaml")
            _patch(cluster, f"{claims.format(file.parent.name)}/{name}{part}", file)
    for file in sorted(told.glob("claims/*/*.pod.yaml")):
        name = file.name.removesuffix(".pod.yaml")
        _patch(cluster, f"/api/v1/namespaces/{file.parent.name}/pods/{name}/status", file)
    for file in sorted(told.glob("volumes/PersistentVolume/*.yaml")):
        _patch(cluster, f"/api/v1/persistentvolumes/{file.stem}", file)
    for file in sorted(told.glob("volumes/PersistentVolumeClaim/*/*.yaml")):
        base = f"/api/v1/namespaces/{file.parent.name}/persistentvolumeclaims"
        _patch(cluster, f"{base}/{file.stem}", file)
    files = sorted(told.glob("bindings/*/*/*.json"))
    for how in ("?dryRun=All", ""):
        for file in files:
            path = f"/api/v1/namespaces/{file.parent.name}/pods/{file.stem}/binding{how}"
            cluster.call("POST", path, json.loads(file.read_text()))
    return {f"{file.parent.name}/{file.stem}" for file in files}


def _patch(cluster: ControlPlane, path: str, file: Path) -> None:
    body: Json = yaml.safe_load(file.read_text())
    cluster.call("PATCH", path, body, "application/merge-patch+json")


def _looked_at(cluster: ControlPlane, pods: set[str]) -> dict[str, str]:
    """Return the node of each pod, or nothing, once kube-scheduler has looked at them all."""
    until = time.monotonic() + LOOKED_AT_LIMIT_S
    while True:
        found = {
            f"{one['metadata']['namespace']}/{one['metadata']['name']}": one
            for one in cluster.call("GET", "/api/v1/pods")["items"]
        }
        if all(_has_answer(found[name]) for name in pods):
            return {name: found[name]["spec"].get("nodeName", "") for name in pods}
        assert time.monotonic() < until, "kube-scheduler has not looked at all pods"
        time.sleep(0.2)


def _has_answer(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(condition["type"] == "PodScheduled" for condition in conditions)
