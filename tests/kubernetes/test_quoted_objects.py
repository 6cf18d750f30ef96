"""Objects that proposals and notes quote: each reads, or has the error that is right."""

import json
import re
from pathlib import Path

import pytest
import yaml

from kubernetes_dumps import faults, read
from kubernetes_worlds import Json, device, node, pod
from placer.kubernetes.objects import ClusterObjects
from placer_models.kubernetes.stream import load_kubernetes_objects
from placer_models.placement import DeviceGrant
from shared_files import shared

DEVICES, CPUS = "seeds/001_ca011b4639499d5c.txt", "seeds/004_1c1508a94ab6a5d4.txt"
NOTES = "research/nodeside.md"

_ZONE = "01112221222"

OBJECTS = {
    "Device": (DEVICES, "000112" + "3" * 8 + "01" + 2 * "12223332" + "0"),
    "Pod": (CPUS, "00012333323331100"),
    "Node": (CPUS, "000122210"),
    "NodeResourceTopology": (
        CPUS,
        "00012" + "3" * 7 + "2" + "3" * 16 + "2" + "3" * 7 + "2" + "3" * 9 + "12100" + 4 * _ZONE,
    ),
}
"""Kind -> the file, and how deep each line is: their indentation is lost."""

READS = {
    "Device": ["Device node-1"],
    "Node": ["Node node-0"],
    "NodeResourceTopology": ["NodeResourceTopology node1"],
}

REFUSED = {
    # It has '...' in place of a spec.
    "Pod": "spec.containers: Pod default/test-pod: names no container",
}

AS_PRINTED = {
    "Device": "is not YAML at column 1",
    "Pod": "is not YAML at column 1",
    "Node": "metadata.name: Node without a name: is missing",
    "NodeResourceTopology": "is not YAML at column 1",
}
"""What is wrong with each without its indentation."""

REQUESTS = {
    "nvidia.com/gpu": "",
    "kubernetes.io/gpu-core, kubernetes.io/gpu-memory-ratio, kubernetes.io/gpu-memory": (
        "device-combination: koordinator.sh/gpu-core and koordinator.sh/gpu-memory and "
        "koordinator.sh/gpu-memory-ratio cannot be asked for together"
    ),
    "kubernetes.io/gpu": "",
    "kubernetes.io/gpu-core, kubernetes.io/gpu-memory-ratio": "",
    "kubernetes.io/gpu-core, kubernetes.io/gpu-memory": "",
    "kubernetes.io/rdma": "",
}
"""What examples of requests name -> what is wrong with it."""


def lines_of(kind: str) -> list[str]:
    """Return the lines of an object that is quoted, without their indentation."""
    file, depths = OBJECTS[kind]
    lines = shared(file).read_text("utf-8").splitlines()
    begin = lines.index(f"kind: {kind}") - 1
    return lines[begin : begin + len(depths)]


def read_text(folder: Path, *lines: str) -> ClusterObjects:
    """Return what a file of these lines says."""
    file = folder / "quoted.yaml"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    objects = ClusterObjects()
    for found in load_kubernetes_objects(file):
        objects.add(found)
    return objects


@pytest.mark.parametrize("kind", OBJECTS)
def test_a_quoted_object_reads_or_says_why(kind: str, tmp_path: Path) -> None:
    """
    With its indentation restored; without it the file is none of objects, and says so.
    """
    lines = lines_of(kind)
    depths = OBJECTS[kind][1]

    restored = read_text(
        tmp_path, *("  " * int(deep) + line for deep, line in zip(depths, lines, strict=True))
    )

    assert list(restored.places) == READS.get(kind, [])
    assert [REFUSED[kind] in str(fault) for fault in restored.faults] == [True] * (kind in REFUSED)
    (fault,) = read_text(tmp_path, *lines).faults
    assert AS_PRINTED[kind] in str(fault)


def quoted_requests(names: str) -> dict[str, str]:
    """Return the first example of requests for these devices."""
    text = shared(DEVICES).read_text("utf-8")
    blocks = re.findall(r'^resources:\nrequests:\n((?:[\w./-]+: ".*\n)+)', text, re.MULTILINE)
    found: list[dict[str, str]] = [yaml.safe_load(block) for block in blocks]
    return next(one for one in found if ", ".join(name for name in one if "/" in name) == names)


@pytest.mark.parametrize("names", REQUESTS)
def test_quoted_requests_read_or_say_why(names: str) -> None:
    """
    Those that a proposal gives as examples, on a node with GPUs.

    What the scheduler translates some to is what a bound pod may have, and none may ask for.
    """
    requests = quoted_requests(names)
    asking = pod(requests=requests, limits=requests)
    if message := REQUESTS[names]:
        (left_out,) = read(node(), device(), asking)[0].left_out
        assert message in str(left_out.why)
        asking = {**asking, "spec": {**asking["spec"], "nodeName": "n1"}}
        instance, _ = read(node(), device(), asking)
        assert len(instance.running[0].pod.spec.requests.devices) == 1
    else:
        instance, _ = read(node(), device(), asking)
        assert len(instance.gangs[0].pods[0].spec.containers[0].requests.devices) == 1


def test_a_quoted_allocation_reads() -> None:
    """
    It spells resources otherwise: the pod holds all of both GPUs.
    """
    text = shared(DEVICES).read_text("utf-8")
    quoted, *_ = re.findall(r"^/\*\n(\{.*?\n\})\n\*/$", text, re.DOTALL | re.MULTILINE)
    annotations = {"scheduling.koordinator.sh/device-allocated": json.loads(quoted)}
    holder = pod("p", {"nvidia.com/gpu": "2"}, annotations=annotations, nodeName="n1")

    instance, _ = read(node(), device(), holder)

    assert instance.running[0].placement.devices == (DeviceGrant("gpu", 0), DeviceGrant("gpu", 1))


def test_a_quoted_status_of_a_claim_says_what_is_missing() -> None:
    """
    The allocation of CPUs to a claim reads; the ResourceSlice of its device is not quoted.
    """
    text = shared(NOTES).read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(status: .*?)^```", text, re.DOTALL | re.MULTILINE)
    (status,) = (block for block in blocks if "cpudevmachine" in block)
    claim: Json = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "cpus", "namespace": "default"},
        **yaml.safe_load(status),
    }

    (fault,) = faults(node(), claim)
    assert "'cpudevmachine' of pool test-node of dra.cpu is in no ResourceSlice" in fault
