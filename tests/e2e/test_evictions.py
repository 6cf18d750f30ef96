"""Evictions of pods that move, on a real API server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.control_plane import ControlPlane, control_plane_or_skip
from kubernetes_worlds import Json, node, pod
from placer_cli.app import main
from placer_cli.exits import ExitCode

pytestmark = pytest.mark.e2e

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane with three nodes, a pod of 3 CPUs on each, and one of 7 that waits."""
    with control_plane_or_skip(tmp_path) as control_plane:
        for i in range(3):
            control_plane.create(node(f"n{i}"))
            control_plane.run(pod(f"runs-{i}", {"cpu": "3"}), f"n{i}")
        control_plane.create(pod("large", {"cpu": "7"}))
        yield control_plane


def left(cluster: ControlPlane) -> set[str]:
    """Return the names of the pods that are not on their way out."""
    items: list[Json] = cluster.call("GET", PODS)["items"]
    return {one["metadata"]["name"] for one in items if "deletionTimestamp" not in one["metadata"]}


def test_the_pod_that_moves_is_evicted_and_no_other_of_its_name(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """
    The API server takes the eviction; one that names another uid it refuses. Then the pod for
    which room was made is bound.
    """
    dump, told = tmp_path / "dump.json", tmp_path / "told"
    dump.write_text(cluster.kubectl("get", "nodes,pods,namespaces", "-A", "-o", "json"))
    solve = ["solve", str(dump), "--workers", "1", "--move-budget", "1"]
    assert main([*solve, "--emit", "evictions,bindings", str(told)]) == ExitCode.DONE
    (file,) = (told / "evictions").iterdir()
    eviction: Json = json.loads(file.read_text())
    name = eviction["metadata"]["name"]
    path = f"{PODS}/{name}/eviction"

    other = {**eviction, "deleteOptions": {"preconditions": {"uid": "of-another-pod"}}}
    with pytest.raises(RuntimeError, match="409"):
        cluster.call("POST", path, other)
    assert name in left(cluster)
    cluster.call("POST", path, eviction)
    assert name not in left(cluster)

    (binding,) = (told / "bindings").rglob("*.json")
    body: Json = json.loads(binding.read_text())
    cluster.call("POST", f"{PODS}/large/binding", body)
    assert body["target"]["name"] == f"n{name[-1]}"
