"""Each form that the proposal of device scheduling gives, written down anew: all of them read.

YAML as it stands there, and the JSON that its Go types make.
"""

from pathlib import Path

import pytest

from kubernetes_dumps import faults, read
from kubernetes_worlds import Json, device, node, pod, topology
from placer.kubernetes.dump import read_dump
from placer_models.device import Device
from placer_models.device_share import DeviceShare
from placer_models.illegal_running import illegality_text
from placer_models.kubernetes.device import KubeKoordinatorDevice, read_kube_koordinator_device
from placer_models.kubernetes.join import node_from_joined_objects
from placer_models.kubernetes.node import read_kube_node
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.pod import read_kube_pod
from placer_models.kubernetes.pod_containers import ClusterFactsForRequests
from placer_models.kubernetes.pod_spec import parsed_spec_of_kube_pod
from placer_models.kubernetes.topology import read_kube_node_resource_topology
from placer_models.placement import DeviceGrant
from placer_models.pod import DeviceRequest

GPUS = ClusterFactsForRequests(types=frozenset({"gpu", "rdma"}))

IDS = ("GPU-98583a5c-c155-9cf6-f955-03c189d3dbfb", "GPU-7f6410b9-bdf7-f9a5-de09-aa5ec31a7124")

AMOUNTS = {
    "kubernetes.io/gpu-core": "100",
    "kubernetes.io/gpu-memory": "15472384Ki",
    "kubernetes.io/gpu-memory-ratio": "100",
}

OBJECT = """\
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Device
metadata:
  name: node-1
  annotations:
    node.koordinator.sh/gpu-checkpoints: |-
      [
        {
          "podUID": "fa8983dc-bb76-4eeb-8dcc-556fbd44d7ce",
          "containerName": "cuda-container",
          "resourceName": "nvidia.com/gpu",
          "deviceIDs": ["GPU-36b27e44-b086-46f7-f2dc-73c36dc65991"]
        }
      ]
spec:
  devices:
  - health: true
    id: GPU-98583a5c-c155-9cf6-f955-03c189d3dbfb
    minor: 0
    resources:
      kubernetes.io/gpu-core: "100"
      kubernetes.io/gpu-memory: 15472384Ki
      kubernetes.io/gpu-memory-ratio: "100"
    type: gpu
  - health: true
    id: GPU-7f6410b9-bdf7-f9a5-de09-aa5ec31a7124
    minor: 1
    resources:
      kubernetes.io/gpu-core: "100"
      kubernetes.io/gpu-memory: 15472384Ki
      kubernetes.io/gpu-memory-ratio: "100"
    type: gpu
status: {}
"""
"""The example of a Device, in the tags that the example has."""

NODE = """\
---
apiVersion: v1
kind: Node
metadata: {name: node-1}
status:
  capacity: {cpu: 8, memory: 16Gi}
"""


def both_of(part: KubeKoordinatorDevice) -> bool:
    """Return whether these are the two GPUs of the example."""
    return part.devices == tuple(
        Device("gpu", minor, id=id, memory_bytes=15472384 * 1024) for minor, id in enumerate(IDS)
    )


def listed(**tags: object) -> list[Json]:
    """Return the two GPUs, with the given names for their type and amounts."""
    return [
        {"id": id, "minor": minor, "health": True, **tags}
        if minor
        else {"id": id, "health": True, **tags}  # Go leaves out what is 0
        for minor, id in enumerate(IDS)
    ]


TAGS = {
    "of the example": {"type": "gpu", "resources": AMOUNTS},
    "of the Go type": {"deviceType": "gpu", "resource": AMOUNTS},
    "one of each": {"type": "gpu", "resource": AMOUNTS},
    "the other one of each": {"deviceType": "gpu", "resources": AMOUNTS},
    "both, alike": {
        "type": "gpu",
        "deviceType": "gpu",
        "resources": AMOUNTS,
        "resource": {**AMOUNTS, "kubernetes.io/gpu-core": 100},
    },
    "one of them empty": {"type": "", "deviceType": "gpu", "resources": {}, "resource": AMOUNTS},
}


@pytest.mark.parametrize("tags", TAGS.values(), ids=TAGS)
def test_devices_read_in_both_spellings_of_their_tags(tags: Json) -> None:
    """
    The Go type writes `deviceType` and `resource`, the example `type` and `resources` (D11).
    """
    assert both_of(read_kube_koordinator_device(device("node-1", listed(**tags))))


@pytest.mark.parametrize(
    ("tags", "field", "message"),
    [
        (
            {"type": "gpu", "deviceType": "rdma", "resources": AMOUNTS},
            "deviceType",
            "got 'rdma', and type says 'gpu'; keep one of them",
        ),
        (
            {"type": "gpu", "resources": AMOUNTS, "resource": {"kubernetes.io/gpu-core": 100}},
            "resource",
            "says something else than resources; keep one of them",
        ),
        (
            {"type": "gpu", "resource": {"kubernetes.io/gpu-core": 50}},
            "resource",
            "koordinator.sh/gpu-core is 50; a device has 100 of it",
        ),
        ({"deviceType": "", "resources": AMOUNTS}, "type", "is missing"),
        ({"deviceType": 7, "resources": AMOUNTS}, "deviceType", "got 7; expected a text"),
        ({"type": 0, "deviceType": "gpu"}, "type", "got 0; expected a text"),
        ({"type": "gpu", "resources": [], "resource": AMOUNTS}, "resources", "got a list"),
    ],
)
def test_two_spellings_that_differ_are_refused(tags: Json, field: str, message: str) -> None:
    """
    With the field that is written, because nobody can know which of the two is meant.
    """
    with pytest.raises(KubernetesObjectError) as caught:
        read_kube_koordinator_device(device("node-1", listed(**tags)))
    assert (*caught.value.path[:2], caught.value.path[-1]) == ("spec", "devices", field)
    assert message in caught.value.message


def test_devices_of_a_node_may_differ_in_their_spelling() -> None:
    """
    Each is read by itself: GPU, FPGA and NIC.
    """
    part = read_kube_koordinator_device(
        device(
            devices=[
                {"deviceType": "gpu", "health": True, "resource": {"kubernetes.io/gpu-core": 100}},
                {"type": "fpga", "health": True, "resources": {"kubernetes.io/fpga": 100}},
                {"deviceType": "rdma", "health": True, "resource": {"kubernetes.io/rdma": "100"}},
                {"deviceType": "rdma", "minor": 1},
            ]
        )
    )
    assert [(d.type, d.minor, d.healthy) for d in part.devices] == [
        ("fpga", 0, True),
        ("gpu", 0, True),
        ("rdma", 0, True),
        ("rdma", 1, False),
    ]


@pytest.mark.parametrize(
    "text",
    [
        OBJECT,
        OBJECT.replace("resources:", "resource:").replace("type:", "deviceType:"),
        "apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: DeviceList\nitems:\n- "
        + OBJECT.split("\n", 2)[2].replace("\n", "\n  ").strip()
        + "\n",
    ],
    ids=["example", "with the tags of the Go type", "in a DeviceList"],
)
def test_the_device_object_reads_from_a_file(text: str, tmp_path: Path) -> None:
    """
    Both GPUs of the node, each with its memory (D11).
    """
    file = tmp_path / "cluster.yaml"
    file.write_text(text + NODE, encoding="utf-8")
    instance, summary = read_dump([file])
    (found,) = instance.nodes
    assert [(d.minor, d.id, d.memory_bytes) for d in found.devices] == [
        (minor, id, 15472384 * 1024) for minor, id in enumerate(IDS)
    ]
    assert summary.read == {"Device": 1, "Node": 1}


@pytest.mark.parametrize(
    ("requests", "each"),
    [
        ({"nvidia.com/gpu": "2"}, DeviceRequest("gpu", 2)),
        ({"kubernetes.io/gpu": "50"}, DeviceRequest("gpu", 1, DeviceShare(50, None, 50))),
        (
            {"kubernetes.io/gpu-core": "50", "kubernetes.io/gpu-memory-ratio": "60"},
            DeviceRequest("gpu", 1, DeviceShare(50, None, 60)),
        ),
        (
            {"kubernetes.io/gpu-core": "60", "kubernetes.io/gpu-memory": "4Gi"},
            DeviceRequest("gpu", 1, DeviceShare(60, 4 * 2**30)),
        ),
        ({"kubernetes.io/rdma": "100"}, DeviceRequest("rdma", 1)),
    ],
)
def test_requests_of_the_device_proposal(requests: dict[str, str], each: DeviceRequest) -> None:
    """
    Whole GPUs, the shorthand, compute and memory apart, and a NIC (D2, D3).
    """
    asked = parsed_spec_of_kube_pod(
        read_kube_pod(pod(requests={"cpu": "4", "memory": "8Gi", **requests})), GPUS
    )
    assert asked.spec.requests.devices == (each,)


TOTALS = {
    "GPUs": 'kubernetes.io/gpu-core: 400, kubernetes.io/gpu-memory: "32GB", '
    "kubernetes.io/gpu-memory-ratio: 400",
    "a NIC and an FPGA": "kubernetes.io/rdma: 100, kubernetes.io/fpga: 100",
    "in both spellings": "kubernetes.io/gpu-core: 400, koordinator.sh/gpu-core: 400",
}


@pytest.mark.parametrize("totals", TOTALS.values(), ids=TOTALS)
def test_a_node_with_totals_of_its_devices_reads(totals: str, tmp_path: Path) -> None:
    """
    They are no resources of their own: the devices are. '32GB' is no amount of Kubernetes.
    """
    file = tmp_path / "cluster.yaml"
    amounts = f"{{cpu: 8, memory: 16Gi, {totals}}}"
    file.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus:\n"
        f"  capacity: {amounts}\n  allocatable: {amounts}\n"
    )
    instance, _ = read_dump([file])
    assert instance.nodes[0].extended == ()


def test_zones_with_totals_of_their_devices_read() -> None:
    """
    As the node has them.
    """
    found = topology()
    total = {"name": "kubernetes.io/gpu-memory", "capacity": "32GB", "allocatable": "32GB"}
    found["zones"][0]["resources"].append(total)
    assert (
        node_from_joined_objects(
            read_kube_node(node()), read_kube_node_resource_topology(found)
        ).node.devices
        == ()
    )


def test_no_other_amount_is_read_in_that_unit() -> None:
    """
    What counts is an amount of Kubernetes, or refused: of the node itself, of a device, of a pod.
    """
    for make, message in (
        (lambda: read_kube_node(node(amounts={"memory": "32GB"})), "memory: '32GB' is no amount"),
        (
            lambda: read_kube_node(node(amounts={"example.com/gpu-memory": "1GB"})),
            "'1GB' is no amount",
        ),
        (
            lambda: read_kube_koordinator_device(
                device(devices=[{"type": "gpu", "resources": {"kubernetes.io/gpu-memory": "8GB"}}])
            ),
            "gpu-memory: '8GB' is no amount",
        ),
        (
            lambda: read_kube_pod(pod("p", {"kubernetes.io/gpu-memory": "8GB"})),
            "'8GB' is no amount",
        ),
    ):
        with pytest.raises(KubernetesObjectError, match=message):
            make()


TRANSLATED = {
    "of whole GPUs": ("200", "200", "30944768Ki", DeviceRequest("gpu", 2)),
    "of a part": ("50", "50", "4Gi", DeviceRequest("gpu", 1, DeviceShare(50, None, 50))),
}


@pytest.mark.parametrize(("core", "ratio", "size", "expected"), TRANSLATED.values(), ids=TRANSLATED)
def test_a_bound_pod_has_what_its_request_was_translated_to(
    core: str, ratio: str, size: str, expected: DeviceRequest
) -> None:
    """
    The scheduler writes compute, percent of memory and its bytes: the bytes are of that percent.
    """
    amounts = {
        "kubernetes.io/gpu-core": core,
        "kubernetes.io/gpu-memory-ratio": ratio,
        "kubernetes.io/gpu-memory": size,
        "cpu": "4",
        "memory": "8Gi",
    }
    bound = pod("p", amounts, limits=amounts, nodeName="n1")
    instance, _ = read(node(), device(devices=listed(type="gpu", resources=AMOUNTS)), bound)
    assert instance.running[0].pod.spec.requests.devices == (expected,)


@pytest.mark.parametrize(
    ("name", "more"),
    [("a pod that waits", {}), ("a pod that is bound", {"nodeName": "n1"})],
    ids=["waits", "bound"],
)
def test_nobody_asks_for_memory_twice(name: str, more: dict[str, str]) -> None:
    """
    In bytes and in percent, as Koordinator refuses it; a translation has the compute, too (D4).
    """
    amounts = {"kubernetes.io/gpu-memory": "4Gi", "kubernetes.io/gpu-memory-ratio": "50"}
    if not more:
        amounts |= {"kubernetes.io/gpu-core": "50"}
    instance, _ = read(node(), device(), pod("p", amounts, limits=amounts, **more))
    said = [str(one.why) for one in instance.left_out] + [*map(illegality_text, instance.running)]
    assert len(said) == 1, name
    assert "device-combination" in said[0], name


FULL = {
    "kubernetes.io/gpu-core": 100,
    "kubernetes.io/gpu-mem-ratio": 100,
    "kubernetes.io/gpu-mem": "16Gi",
}
HALF = {**FULL, "kubernetes.io/gpu-core": 50, "kubernetes.io/gpu-mem-ratio": 50}
del HALF["kubernetes.io/gpu-mem"]
SHARE = DeviceShare(50, None, 50)

ALLOCATED = {
    "the example": ([{"minor": 0, "resouurces": FULL}, {"minor": 1, "resouurces": FULL}], None),
    "a part, as the example": ([{"minor": m, "resouurces": HALF} for m in (0, 1)], SHARE),
    "the Go type, which has no tags": ([{"Minor": m, "Resources": HALF} for m in (0, 1)], SHARE),
}


@pytest.mark.parametrize(("listed", "share"), ALLOCATED.values(), ids=ALLOCATED)
def test_an_allocation_reads(listed: list[Json], share: DeviceShare | None) -> None:
    """
    The example misspells its field of resources, and what it says there counts (D11).
    """
    key = "scheduling.koordinator.sh/device-allocated"
    asks = {"kubernetes.io/gpu-core": "100", "kubernetes.io/gpu-memory-ratio": "100"}
    holder = pod("p", asks, annotations={key: {"gpu": listed}}, nodeName="n1")
    instance, _ = read(node(), device(), holder)
    assert instance.running[0].placement.devices == tuple(
        DeviceGrant("gpu", minor, share=share) for minor in (0, 1)
    )


def test_an_allocation_in_both_spellings_is_refused() -> None:
    """
    Nobody can know which of them is meant.
    """
    key = "scheduling.koordinator.sh/device-allocated"
    one = {"minor": 0, "resouurces": HALF, "resources": FULL}
    holder = pod("p", {"nvidia.com/gpu": "1"}, annotations={key: {"gpu": [one]}}, nodeName="n1")
    (fault,) = faults(node(), device(), holder)
    assert "$.gpu[0].resources: the field resources is there twice" in fault
