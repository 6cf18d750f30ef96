"""Rows of Koordinator's table of requests as Pods ask them: refused and shared out alike."""

import json
from pathlib import Path

import pytest

from device_request.peer_rows import Row, from_peer
from kubernetes_worlds import pod
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.pod import read_kube_pod
from placer_models.kubernetes.pod_containers import ClusterFactsForRequests
from placer_models.kubernetes.pod_spec import parsed_spec_of_kube_pod
from placer_models.pod import DeviceRequest
from placer_models.quantity import parse_bytes
from shared_files import rows_named, shared

ROWS = json.loads((Path(__file__).parent / "data" / "koordinator.json").read_text())["rows"]

READING = ClusterFactsForRequests(types=frozenset({"gpu", "rdma", "fpga"}))


def asked(row: Row) -> tuple[DeviceRequest, ...] | None:
    """Return what a pod with the row's requests asks of devices; None: it is refused."""
    hint = {"rdma": row["hint"]} if row.get("hint") else {}
    notes = {"scheduling.koordinator.sh/device-allocate-hint": hint} if hint else {}
    try:
        found = parsed_spec_of_kube_pod(
            read_kube_pod(pod("p", row["ask"], annotations=notes)), READING
        )
    except KubernetesObjectError:
        return None
    return found.spec.requests.devices


def agrees(row: Row) -> bool:
    """Return whether a pod gets what the row says; who asks for no device is no wrong pod."""
    found = asked(row)
    if row.get("refused"):
        return found is None or not row["ask"]
    if found is None:
        return False
    if "each" not in row or "nics" in row:
        return True  # the row says names, or what becomes of it on one node
    count = row["count"]
    percents = [n for name, n in row["each"].items() if name.endswith(("gpu-core", "/rdma"))]
    memory = [n for name, n in row["each"].items() if name.endswith("gpu-memory")]
    return sum(one.count for one in found) == count and all(
        one.share is None
        or (
            (
                [one.share.percent] == [int(n) for n in percents]
                if percents
                else one.share.percent is None
            )
            and (not memory or one.share.memory_bytes == parse_bytes(memory[0]))
        )
        for one in found
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_pod_gets_what_the_row_says(row: Row) -> None:
    """
    Refused where the peer refuses; else so many devices, and as much of each.
    """
    assert agrees(row)


def test_pods_of_the_peers_own_table_get_what_it_says() -> None:
    """
    The same rows as the peer has written them, where its table lies beside the project.
    """
    table = json.loads(shared("cases/koordinator_device_requests.json").read_text())
    cases = rows_named([row["name"] for row in ROWS], table["cases"])
    rows = [from_peer(case) for case in cases]

    assert [row["name"] for row in rows if not agrees(row)] == []
