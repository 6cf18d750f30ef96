"""Each form that the proposal of CPU orchestration gives, written down anew: all of them read."""

from kubernetes_worlds import Json, node, pod, topology
from placer_models.kubernetes.join import join
from placer_models.kubernetes.node import node_part
from placer_models.kubernetes.pod import pod_part
from placer_models.kubernetes.pod_containers import Reading
from placer_models.kubernetes.pod_spec import asked_by
from placer_models.kubernetes.topology import topology_part
from placer_models.policy import AlignmentPolicy, BindPolicy, ExclusivePolicy, NumaStrategy

GPUS = Reading(types=frozenset({"gpu", "rdma"}))


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
