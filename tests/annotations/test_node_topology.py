"""What a NodeResourceTopology says of a node's CPUs (C15)."""

import pytest

from placer_models.annotations.cpus import AnnotatedSharedPool
from placer_models.annotations.json_parts import AnnotationError
from placer_models.annotations.node_topology import (
    CpuManagerPolicyAnnotation,
    NodeTopologyAnnotationCpu,
    PodCpuAlloc,
    read_cpu_manager_policy_annotation,
    read_cpu_shared_pools_annotation,
    read_cpu_topology_annotation,
    read_pod_cpu_allocs_annotation,
    shared_pools_of,
    topology_to_reported_cpus,
    write_cpu_manager_policy_annotation,
    write_cpu_shared_pools_annotation,
    write_cpu_topology_annotation,
    write_pod_cpu_allocs_annotation,
)
from placer_models.cpuset import parse_cpu_list
from placer_models.machines.catalogue import catalogue_machine_names, load_machine


@pytest.mark.parametrize("name", catalogue_machine_names())
def test_the_cpus_of_a_machine_are_written_and_read_back(name: str) -> None:
    """
    Every machine of the catalogue: online CPUs, each on a core, a package and a NUMA node.
    """
    topology = load_machine(name).topology
    cpus = topology_to_reported_cpus(topology)

    assert read_cpu_topology_annotation(write_cpu_topology_annotation(cpus)) == cpus
    assert {cpu.id for cpu in cpus} == topology.online
    assert len({(cpu.package, cpu.core) for cpu in cpus}) == len(topology.cores)


def test_a_cpu_is_spelt_as_koordinator_does() -> None:
    """
    Its package is a socket, its NUMA node a node.
    """
    assert write_cpu_topology_annotation([NodeTopologyAnnotationCpu(5, 2, 1, 3)]) == (
        '{"detail":[{"id":5,"core":2,"socket":1,"node":3}]}'
    )


def test_pools_are_told_apart_by_package_and_numa_node() -> None:
    """
    CPUs that are not shared are in none of them.
    """
    topology = load_machine("dgx-1-v100").topology
    pools = shared_pools_of(topology, topology.online - parse_cpu_list("0,20"))

    assert [(pool.package, pool.node, 0 in pool.cpuset) for pool in pools] == [
        (0, 0, False),
        (1, 1, False),
    ]
    assert frozenset().union(*(pool.cpuset for pool in pools)) == topology.online - {0, 20}
    assert read_cpu_shared_pools_annotation(write_cpu_shared_pools_annotation(pools)) == pools
    assert read_cpu_shared_pools_annotation('[{"cpuset":"0-3"}]') == (
        AnnotatedSharedPool(0, 0, frozenset(range(4))),
    )


def test_a_policy_is_written_and_read_back() -> None:
    """
    With options and reserved CPUs, or without either.
    """
    policy = CpuManagerPolicyAnnotation("static", (("full-pcpus-only", "true"),), frozenset({0, 8}))
    written = write_cpu_manager_policy_annotation(policy)

    assert written == (
        '{"policy":"static","options":{"full-pcpus-only":"true"},"reservedCPUs":"0,8"}'
    )
    assert read_cpu_manager_policy_annotation(written) == policy
    assert read_cpu_manager_policy_annotation('{"policy":"none"}') == CpuManagerPolicyAnnotation(
        "none"
    )


def test_pods_of_the_kubelet_are_written_and_read_back() -> None:
    """
    Also as the proposal spells them.
    """
    alloc = PodCpuAlloc("default", "a", "u", frozenset({4, 5}), managed_by_kubelet=True)

    assert read_pod_cpu_allocs_annotation(write_pod_cpu_allocs_annotation([alloc])) == (alloc,)
    proposal = (
        '[{"namespace":"default","name":"a","uid":"u","cpu":"4-5","managedByKubelet":"true"}]'
    )
    assert read_pod_cpu_allocs_annotation(proposal) == (alloc,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"detail":[{"id":0,"core":0,"socket":0}]}', "$.detail[0]: the field node is missing"),
        ('{"detail":[{"id":70000,"core":0,"socket":0,"node":0}]}', "end at 65535"),
        (
            '{"detail":[{"id":0,"core":0,"socket":0,"node":0},{"id":0,"core":1,"socket":0,"node":0}]}',
            "$.detail[1]: CPU 0 is there twice; keep one of them",
        ),
    ],
)
def test_contradictions_are_refused(text: str, words: str) -> None:
    """
    With their place.
    """
    with pytest.raises(AnnotationError) as caught:
        read_cpu_topology_annotation(text)

    assert words in str(caught.value)
