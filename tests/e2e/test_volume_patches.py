"""What claims and volumes are told of a placement, on a real API server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e.control_plane import ControlPlane, control_plane_or_skip
from e2e.storage_objects import (
    DRIVER,
    HOSTNAME,
    one_of,
    storage_class,
    volume,
    volume_claim,
    with_claim,
)
from kubernetes_worlds import Json, node, pod
from placer_cli.app import main
from placer_cli.exits import ExitCode

pytestmark = pytest.mark.e2e

MERGE = "application/merge-patch+json"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane with a free local volume, and a class that provisions others."""
    there = volume("v", where=one_of(HOSTNAME, "n2"))
    known = (
        *(node("n1"), node("n2"), storage_class(), storage_class("dynamic", DRIVER), there),
        *(volume_claim("c1"), volume_claim("c2", of_class="dynamic")),
        *(pod("p1", **with_claim("c1")), pod("p2", **with_claim("c2"))),
    )
    with control_plane_or_skip(tmp_path, *known) as control_plane:
        yield control_plane


def test_volumes_are_told_before_the_bindings(cluster: ControlPlane, tmp_path: Path) -> None:
    """
    The API server takes the patches: a volume is kept for its claim, a claim has its node.
    """
    dump, told = tmp_path / "dump.json", tmp_path / "told"
    kinds = "nodes,pods,namespaces,persistentvolumes,persistentvolumeclaims,storageclasses"
    dump.write_text(cluster.kubectl("get", kinds, "-A", "-o", "json"))

    limits = ["--workers", "1", "--work-limit", "5", "--seed", "0"]
    emitted = ["--emit", "bindings,volumes", str(told)]
    assert main(["solve", str(dump), *limits, *emitted]) == ExitCode.DONE

    patch: Json = yaml.safe_load((told / "volumes/PersistentVolume/v.yaml").read_text())
    kept = cluster.call("PATCH", "/api/v1/persistentvolumes/v", patch, MERGE)
    claim = cluster.call("GET", "/api/v1/namespaces/default/persistentvolumeclaims/c1")
    assert kept["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]

    file = told / "volumes/PersistentVolumeClaim/default/c2.yaml"
    path = "/api/v1/namespaces/default/persistentvolumeclaims/c2"
    decided = cluster.call("PATCH", path, yaml.safe_load(file.read_text()), MERGE)
    bound = {}
    for one in sorted(told.glob("bindings/*/*/*.json")):
        body: Json = json.loads(one.read_text())
        cluster.call("POST", f"/api/v1/namespaces/default/pods/{one.stem}/binding", body)
        bound[one.stem] = body["target"]["name"]
    assert bound["p1"] == "n2"
    selected = decided["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]
    assert selected == bound["p2"]
