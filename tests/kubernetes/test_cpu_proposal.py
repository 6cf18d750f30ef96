"""Each form that the proposal of CPU orchestration gives, written down anew: all of them read."""

from pathlib import Path

import pytest
import yaml

from kubernetes.proposed_topology import EXAMPLE, OWNER, the_node, the_topology
from kubernetes_dumps import notes, read
from kubernetes_worlds import Json, lsr, node, pod, topology
from placer.kubernetes.dump import read_dump
from placer_models.annotations.cpus import AnnotatedSharedPool
from placer_models.annotations.node_topology import PodCpuAlloc
from placer_models.kubernetes.join import node_from_joined_objects
from placer_models.kubernetes.node import read_kube_node
from placer_models.kubernetes.pod import read_kube_pod
from placer_models.kubernetes.pod_containers import ClusterFactsForRequests
from placer_models.kubernetes.pod_spec import parsed_spec_of_kube_pod
from placer_models.kubernetes.topology import read_kube_node_resource_topology
from placer_models.policy import (
    AlignmentPolicy,
    AlignmentScope,
    BindPolicy,
    ExclusivePolicy,
    NodeBindPolicy,
    NumaStrategy,
)

GPUS = ClusterFactsForRequests(types=frozenset({"gpu", "rdma"}))


POD = """\
apiVersion: v1
kind: Pod
metadata:
  annotations:
    scheduling.koordinator.sh/resource-spec: |-
      {
        "preferredCPUBindPolicy": "SpreadByPCPUs",
        "preferredCPUExclusivePolicy": "PCPULevel"
      }
    scheduling.koordinator.sh/resource-status: |-
      {
        "cpuset": "0-3"
      }
  labels:
    koordinator.sh/qosClass: LSR
  name: test-pod
  namespace: default
spec:
  containers:
  - name: main
    resources:
      requests: {cpu: 4, memory: 8Gi}
      limits: {cpu: 4, memory: 8Gi}
"""
"""The example of a Pod, with a spec and a class, which it leaves out."""


def test_the_pod_of_the_cpu_proposal(tmp_path: Path) -> None:
    """
    What it wants of CPUs, and which it was given (C8, C9, C14).
    """
    file = tmp_path / "cluster.yaml"
    more = [node("node-0"), topology("node-0")]
    file.write_text(f"{POD}  nodeName: node-0\n---\n{yaml.safe_dump_all(more)}", encoding="utf-8")
    instance, _ = read_dump([file])
    (runs,) = instance.running
    spec = runs.pod.spec
    assert (spec.bind, spec.exclusive) == (BindPolicy.SPREAD_BY_PCPUS, ExclusivePolicy.PCPU_LEVEL)
    assert runs.placement.cpuset == {0, 1, 2, 3}


BIND: dict[str, tuple[BindPolicy, bool]] = {
    # word: (policy, whether the shared pool is constrained)
    "": (BindPolicy.DEFAULT, False),
    "Default": (BindPolicy.DEFAULT, False),
    "FullPCPUs": (BindPolicy.FULL_PCPUS, False),
    "SpreadByPCPUs": (BindPolicy.SPREAD_BY_PCPUS, False),
    "ConstrainedBurst": (BindPolicy.DEFAULT, True),
}


@pytest.mark.parametrize("word", BIND)
def test_each_bind_policy_of_a_pod_reads(word: str) -> None:
    """
    ConstrainedBurst is for a pod of the shared pool, the others for one that owns CPUs (C8).
    """
    policy, burst = BIND[word]
    said = {"scheduling.koordinator.sh/resource-spec": {"preferredCPUBindPolicy": word}}
    amounts = {"cpu": "2", "memory": "1Gi"}
    asking = pod("p", amounts, limits=amounts, annotations=said) if burst else lsr(annotations=said)
    spec = parsed_spec_of_kube_pod(read_kube_pod(asking), GPUS).spec
    assert (spec.bind, spec.constrained_burst) == (policy, burst)


@pytest.mark.parametrize(
    ("word", "policy"),
    [
        ("", None),
        ("Default", None),
        ("PCPULevel", ExclusivePolicy.PCPU_LEVEL),
        ("NUMANodeLevel", ExclusivePolicy.NUMA_NODE_LEVEL),
    ],
)
def test_each_exclusive_policy_of_a_pod_reads(word: str, policy: ExclusivePolicy | None) -> None:
    """
    Preferred, as all are in the proposal (C9); Default leaves it to the scheduler (C22).
    """
    said = {"scheduling.koordinator.sh/resource-spec": {"preferredCPUExclusivePolicy": word}}
    assert (
        parsed_spec_of_kube_pod(read_kube_pod(lsr(annotations=said)), GPUS).spec.exclusive is policy
    )


POOLS: dict[str, tuple[list[Json], set[int]]] = {
    # what a status says: (shared pools, CPUs of the pod)
    "one": ([{"socket": 0, "node": 1}], {4, 5, 6, 7}),
    "its CPUs, too": ([{"socket": 0, "node": 1, "cpuset": "4-7"}], {4, 5, 6, 7}),
    "several": ([{"socket": 0, "node": 0}, {"socket": 0, "node": 1}], set(range(8))),
    "the first one, as Go may leave it out": ([{}], {0, 1, 2, 3}),
}


@pytest.mark.parametrize(("pools", "cpus"), POOLS.values(), ids=POOLS)
def test_the_shared_pools_of_a_status_bind_their_pod(pools: list[Json], cpus: set[int]) -> None:
    """
    The proposal's scheduler names them for an LS pod under a binding policy (C14).
    """
    policy = {"node.koordinator.sh/numa-topology-alignment-policy": "Restricted"}
    status = {"scheduling.koordinator.sh/resource-status": {"cpuSharedPools": pools}}
    runs = pod("p", {"cpu": "1", "memory": "1Gi"}, annotations=status, nodeName="n1")
    instance, _ = read(node(labels=policy), topology(), runs)
    place = instance.running[0].placement
    assert place.cpuset == cpus
    assert place.cpu_milli is not None
    assert sum(milli for _, milli in place.cpu_milli) == 1000


def test_pools_of_two_packages_of_one_numa_node_are_not_there_twice() -> None:
    """
    A pool is of a socket and a NUMA node; Placer writes them so, too.
    """
    policy = {"node.koordinator.sh/numa-topology-alignment-policy": "Restricted"}
    cpus = [(i, i, i % 2, i // 4) for i in range(8)]
    pools = [{"socket": 0, "node": 1}, {"socket": 1, "node": 1}]
    status = {"scheduling.koordinator.sh/resource-status": {"cpuSharedPools": pools}}
    runs = pod("p", {"cpu": "1", "memory": "1Gi"}, annotations=status, nodeName="n1")
    instance, _ = read(node(labels=policy), topology(cpus=cpus), runs)
    assert instance.running[0].placement.cpuset == {4, 5, 6, 7}


NODE = """\
apiVersion: v1
kind: Node
metadata:
  labels:
    node.koordinator.sh/cpu-bind-policy: "FullPCPUsOnly"
    node.koordinator.sh/numa-topology-alignment-policy: "BestEffort"
    node.koordinator.sh/numa-allocate-strategy: "MostAllocated"
  name: node-0
spec:
"""
"""The example of a Node, which leaves its spec out, and its status."""


def test_the_node_of_the_cpu_proposal(tmp_path: Path) -> None:
    """
    It says of no CPUs, so nothing comes there yet (C10, C11, C12).
    """
    file = tmp_path / "cluster.yaml"
    file.write_text(NODE)
    instance, summary = read_dump([file])
    (found,) = instance.nodes
    assert found.cpu_bind is NodeBindPolicy.FULL_PCPUS_ONLY
    assert found.alignment is AlignmentPolicy.BEST_EFFORT
    assert found.numa_strategy is NumaStrategy.MOST_ALLOCATED
    assert "nodes that say of no CPUs yet, taken as one: nothing new comes there" in notes(summary)


LABELS: dict[str, dict[str, object]] = {
    "cpu-bind-policy": {
        "": NodeBindPolicy.NONE,
        "None": NodeBindPolicy.NONE,
        "FullPCPUsOnly": NodeBindPolicy.FULL_PCPUS_ONLY,
        "PCPUOnly": NodeBindPolicy.FULL_PCPUS_ONLY,
        "SpreadByPCPUs": NodeBindPolicy.SPREAD_BY_PCPUS,
    },
    "numa-allocate-strategy": {
        "": None,
        "MostAllocated": NumaStrategy.MOST_ALLOCATED,
        "LeastAllocated": NumaStrategy.LEAST_ALLOCATED,
        "DistributeEvenly": NumaStrategy.DISTRIBUTE_EVENLY,
    },
    "numa-topology-alignment-policy": {
        "": None,
        "None": AlignmentPolicy.NONE,
        "BestEffort": AlignmentPolicy.BEST_EFFORT,
        "Restricted": AlignmentPolicy.RESTRICTED,
        "SingleNUMANode": AlignmentPolicy.SINGLE_NUMA_NODE,
    },
}
"""Label -> each of its values, and what it means."""


@pytest.mark.parametrize(
    ("label", "value"), [(label, value) for label in LABELS for value in LABELS[label]]
)
def test_each_value_of_a_label_of_a_node_reads(label: str, value: str) -> None:
    """
    An empty one says nothing (C10, C11, C12).
    """
    part = read_kube_node(node(labels={f"node.koordinator.sh/{label}": value}))
    found = node_from_joined_objects(part, read_kube_node_resource_topology(topology())).node
    said = {
        "cpu-bind-policy": found.cpu_bind,
        "numa-allocate-strategy": found.numa_strategy,
        "numa-topology-alignment-policy": found.alignment,
    }
    assert said[label] is LABELS[label][value]


@pytest.mark.parametrize(
    ("word", "policy", "scope"),
    [
        ("None", None, None),
        ("SingleNUMANodePodLevel", AlignmentPolicy.SINGLE_NUMA_NODE, AlignmentScope.POD),
        (
            "SingleNUMANodeContainerLevel",
            AlignmentPolicy.SINGLE_NUMA_NODE,
            AlignmentScope.CONTAINER,
        ),
    ],
)
def test_each_topology_policy_of_the_cpu_proposal_reads(
    word: str, policy: AlignmentPolicy | None, scope: AlignmentScope | None
) -> None:
    """
    The kubelet's; the label of the node comes before it (C12, C17). None says nothing (C22).
    """
    part = read_kube_node_resource_topology(topology(policies=[word]))
    found = node_from_joined_objects(read_kube_node(node()), part).node
    assert (found.alignment, found.scope) == (policy, scope)
    label = {"node.koordinator.sh/numa-topology-alignment-policy": "BestEffort"}
    found = node_from_joined_objects(read_kube_node(node(labels=label)), part).node
    assert (found.alignment, found.scope) == (AlignmentPolicy.BEST_EFFORT, None)


def test_the_topology_of_the_cpu_proposal() -> None:
    """
    CPUs that pods own stand under 'cpu' there, and a flag in quotes (C15).
    """
    part = read_kube_node_resource_topology(yaml.safe_load(EXAMPLE))
    assert part.allocs == (
        PodCpuAlloc("default", "static-guaranteed-pod", OWNER, frozenset(range(4, 9)), True),
    )
    assert part.shared_pools == (AnnotatedSharedPool(0, 0, frozenset(range(4))),)
    joined = node_from_joined_objects(read_kube_node(the_node()), part)
    assert joined.kubelet_is_static
    assert joined.node.cpu_bind is NodeBindPolicy.FULL_PCPUS_ONLY
    assert joined.node.numa_strategy is NumaStrategy.DISTRIBUTE_EVENLY
    assert joined.node.alignment is AlignmentPolicy.SINGLE_NUMA_NODE
    assert [numa.id for numa in joined.node.machine.topology.numa_nodes] == [0, 1, 2, 3]
    assert [one.type for one in joined.node.devices] == ["vendor/nic1"] * 9 + ["vendor/nic2"] * 6


def test_the_go_types_of_the_cpu_proposal_read_alike() -> None:
    """
    Their tags are `cpuset`, and a flag is no text; what is empty they leave out.
    """
    alloc = {"namespace": "default", "name": "static-guaranteed-pod", "uid": OWNER}
    written = the_topology(
        pod_cpu_allocs=[{**alloc, "cpuset": "4-8", "managedByKubelet": True}],
        cpu_shared_pools=[{"socket": 0, "node": 0, "cpuset": "0-3"}],
        cpu_manager_policy={
            "policy": "static",
            "options": {"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
            "reservedCPUs": "",
        },
    )
    assert read_kube_node_resource_topology(written) == read_kube_node_resource_topology(
        yaml.safe_load(EXAMPLE)
    )
    bare = the_topology(cpu_manager_policy={"policy": "none"}, pod_cpu_allocs=[{"name": "a"}])
    assert read_kube_node_resource_topology(bare).allocs == (PodCpuAlloc("", "a", "", frozenset()),)
