"""The examples of the two proposals, written down anew: each annotation and object reads."""

import json

import pytest

from kubernetes_worlds import Json, device, node, pod, topology
from placer_models.kubernetes.device import device_part
from placer_models.kubernetes.join import join
from placer_models.kubernetes.node import node_part
from placer_models.kubernetes.object_fields import ObjectError
from placer_models.kubernetes.pod import pod_part
from placer_models.kubernetes.pod_containers import Reading
from placer_models.kubernetes.pod_spec import asked_by
from placer_models.kubernetes.topology import topology_part
from placer_models.policy import AlignmentPolicy, BindPolicy, ExclusivePolicy, NumaStrategy

GPUS = Reading(types=frozenset({"gpu", "rdma"}))


@pytest.mark.parametrize(
    ("requests", "each"),
    [
        ({"nvidia.com/gpu": "2"}, (2, None, None)),
        ({"kubernetes.io/gpu": "50"}, (1, 50, 50)),
        ({"kubernetes.io/gpu-core": "50", "kubernetes.io/gpu-memory-ratio": "60"}, (1, 50, 60)),
        ({"kubernetes.io/gpu-core": "60", "kubernetes.io/gpu-memory": "4Gi"}, (1, 60, None)),
    ],
)
def test_requests_of_the_device_proposal(requests: dict[str, str], each: object) -> None:
    """
    Whole GPUs, the shorthand, and compute and memory apart (D2, D3).
    """
    asked = asked_by(pod_part(pod(requests={"cpu": "4", "memory": "8Gi", **requests})), GPUS)
    (request,) = asked.spec.requests.devices
    share = request.share
    assert each == (request.count, share and share.percent, share and share.memory_percent)


def test_devices_of_the_device_proposal() -> None:
    """
    A Device object with the deprecated names of resources, and the kubelet's checkpoint (D12).
    """
    ids = ["GPU-98583a5c-c155-9cf6-f955-03c189d3dbfb", "GPU-7f6410b9-bdf7-f9a5-de09-aa5ec31a7124"]
    given = [
        {
            "health": True,
            "id": id,
            "minor": minor,
            "resources": {
                "kubernetes.io/gpu-core": "100",
                "kubernetes.io/gpu-memory": "15472384Ki",
                "kubernetes.io/gpu-memory-ratio": "100",
            },
            "type": "gpu",
        }
        for minor, id in enumerate(ids)
    ]
    entry = {
        "podUID": "fa8983dc-bb76-4eeb-8dcc-556fbd44d7ce",
        "containerName": "cuda-container",
        "resourceName": "nvidia.com/gpu",
        "deviceIDs": ["GPU-36b27e44-b086-46f7-f2dc-73c36dc65991"],
    }
    key = "node.koordinator.sh/gpu-checkpoints"
    part = device_part(device(devices=given, annotations={key: json.dumps([entry])}))
    assert [(d.minor, d.id, d.memory_bytes) for d in part.devices] == [
        (minor, id, 15472384 * 1024) for minor, id in enumerate(ids)
    ]
    assert part.checkpoints[0].pod_uid == entry["podUID"]


def test_amounts_of_a_node_in_the_device_proposal() -> None:
    """
    Sums over its devices are no resources of their own; '32GB' is no amount of Kubernetes.
    """
    sums = {"kubernetes.io/gpu-core": "400", "kubernetes.io/gpu-memory-ratio": "400"}
    joined = join(node_part(node(amounts={**sums, "kubernetes.io/gpu-memory": "32G"})))
    assert (joined.node.extended, joined.node.max_pods) == ((), 110)
    with pytest.raises(ObjectError, match="gpu-memory: '32GB' is no amount"):
        node_part(node(amounts={"kubernetes.io/gpu-memory": "32GB"}))


def test_the_pod_of_the_cpu_proposal() -> None:
    """
    What it wants of CPUs, and which it was given (C8, C9, C14).
    """
    domain = "scheduling.koordinator.sh/"
    said: dict[str, object] = {
        f"{domain}resource-spec": {
            "preferredCPUBindPolicy": "SpreadByPCPUs",
            "preferredCPUExclusivePolicy": "PCPULevel",
        },
        f"{domain}resource-status": {"cpuset": "0-3"},
    }
    amounts = {"cpu": "4", "memory": "8Gi"}
    labels = {"koordinator.sh/qosClass": "LSR"}
    part = pod_part(pod(requests=amounts, limits=amounts, labels=labels, annotations=said))
    spec = asked_by(part, GPUS).spec
    assert (spec.bind, spec.exclusive) == (BindPolicy.SPREAD_BY_PCPUS, ExclusivePolicy.PCPU_LEVEL)
    assert part.status is not None
    assert part.status.cpuset == {0, 1, 2, 3}


def test_shared_pools_of_the_cpu_proposal_are_read_in_a_status() -> None:
    """
    Which Koordinator dropped since.
    """
    status = {"cpuSharedPools": [{"socket": 0, "node": 1}]}
    part = pod_part(pod(annotations={"scheduling.koordinator.sh/resource-status": status}))
    assert part.status is not None
    assert [pool.node for pool in part.status.shared_pools] == [1]


def test_the_node_of_the_cpu_proposal() -> None:
    """
    With the label of the proposal, and today's (C10, C11, C12).
    """
    domain = "node.koordinator.sh/"
    for label in ("numa-topology-alignment-policy", "numa-topology-policy"):
        part = node_part(
            node(
                labels={
                    f"{domain}cpu-bind-policy": "FullPCPUsOnly",
                    f"{domain}{label}": "BestEffort",
                    f"{domain}numa-allocate-strategy": "MostAllocated",
                }
            )
        )
        assert part.alignment is AlignmentPolicy.BEST_EFFORT
        assert part.numa_strategy is NumaStrategy.MOST_ALLOCATED


def test_the_topology_of_the_cpu_proposal() -> None:
    """
    CPUs that pods own stand under 'cpu' there, and a flag in quotes (C15).
    """
    alloc: Json = {
        "namespace": "default",
        "name": "static-guaranteed-pod",
        "uid": "32b14702-2efe-4be9-a9da-f3b779175846",
        "cpu": "4-8",
        "managedByKubelet": "true",
    }
    part = topology_part(
        topology(
            cpus=[(0, 0, 0, 0), (1, 1, 1, 1)],
            annotations={
                "kubelet.koordinator.sh/cpu-manager-policy": {
                    "policy": "static",
                    "options": {
                        "full-pcpus-only": "true",
                        "distribute-cpus-across-numa": "true",
                    },
                },
                "node.koordinator.sh/cpu-shared-pools": [{"socket": 0, "node": 0, "cpuset": "0-3"}],
                "node.koordinator.sh/pod-cpu-allocs": [alloc],
            },
            policies=["SingleNUMANodePodLevel"],
        )
    )
    assert part.allocs[0].cpuset == {4, 5, 6, 7, 8}
    assert part.allocs[0].managed_by_kubelet
    assert part.shared_pools[0].cpuset == {0, 1, 2, 3}
    joined = join(node_part(node(capacity={"cpu": "2", "memory": "16Gi"})), part)
    assert joined.kubelet_is_static
    assert joined.node.numa_strategy is NumaStrategy.DISTRIBUTE_EVENLY
    assert joined.node.alignment is AlignmentPolicy.SINGLE_NUMA_NODE
