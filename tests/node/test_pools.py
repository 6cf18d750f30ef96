"""The pools of a node, from its document (C4 to C7)."""

import re
from dataclasses import replace

import pytest

from node.node_documents import GIB, a_document, a_node, a_pod
from placer.node.document import node_placement_faults, placement_of_node
from placer.node.pools import cpu_pools_of_node, with_cpus_of_each_container
from placer.node.targets import desired_container_cgroups
from placer_models.cluster import Instance, RunningPod
from placer_models.cpuset import format_cpu_list
from placer_models.node_placement import NodePlacement
from placer_models.placement import Placement
from placer_models.pod import Gang
from placer_models.policy import AlignmentPolicy, QosClass

LSE, LSR, LS, BE = QosClass.LSE, QosClass.LSR, QosClass.LS, QosClass.BE


def sets(document: NodePlacement) -> dict[str, str]:
    """The CPUs of each container's pod."""
    return {t.one.pod.name: format_cpu_list(t.cpus) for t in desired_container_cgroups(document)}


def test_pools_are_what_owners_leave() -> None:
    """
    Reserved CPUs are inside both pools (C5, C6); CPUs of LSR pods in that of BE pods.
    """
    node = replace(a_node(), reserved_cpus=frozenset({0}))
    document = a_document(
        a_pod("a", LSE, "2-3"), a_pod("b", LSR, "4"), a_pod("c"), a_pod("d", BE), node=node
    )

    pools = cpu_pools_of_node(document)

    assert format_cpu_list(pools.shared) == "0-1,5-7"
    assert format_cpu_list(pools.best_effort) == "0-1,4-7"
    assert sets(document) == {"a": "2-3", "b": "4", "c": "0-1,5-7", "d": "0-1,4-7"}


def test_a_bound_pod_has_the_pool_of_its_numa_nodes() -> None:
    """
    Its memory comes from there, too.
    """
    node = replace(a_node(), alignment=AlignmentPolicy.SINGLE_NUMA_NODE)
    bound = a_pod("c", cpus="", memory={1: GIB})
    document = a_document(a_pod("a", LSE, "4"), bound, node=node)

    assert sets(document) == {"a": "4", "c": "5-7"}
    assert [sorted(t.mems) for t in desired_container_cgroups(document)] == [[0, 1], [1]]
    assert {tuple(k): format_cpu_list(v) for k, v in cpu_pools_of_node(document).bound.items()} == {
        (1,): "5-7"
    }


def test_what_a_placement_says_of_a_pool_is_out_of_date() -> None:
    """
    It was written before others came: every container follows the pool (C7), once and for all.
    """
    document = a_document(a_pod("c", cpus="0-7"), a_pod("a", LSR, "0-3"))

    once = with_cpus_of_each_container(document)

    assert sets(once) == {"c": "4-7", "a": "0-3"}
    assert with_cpus_of_each_container(once) == once


def test_pools_lose_what_is_offline() -> None:
    """
    Owners keep their sets, which the node then refuses.
    """
    document = a_document(a_pod("a", LSR, "0-3"), a_pod("c"))

    found = {t.one.pod.name: t.cpus for t in desired_container_cgroups(document, frozenset({0, 5}))}

    assert found == {"a": {0, 1, 2, 3}, "c": {5}}


def test_a_document_has_who_runs_and_who_comes() -> None:
    """
    A running pod that the placement names is where the placement says.
    """
    there = [a_pod("old", LSR, "0"), a_pod("moves", LSR, "1"), a_pod("leaves", LSR, "2")]
    new, moved = a_pod("new", LSR, "3"), a_pod("moves", LSR, "4")
    away = a_pod("leaves", LSR, "5", node="n1")
    instance = Instance(
        nodes=(a_node(), a_node(name="n1")),
        gangs=(Gang("new", "default", (new.pod,), 1, lone=True),),
        running=tuple(RunningPod(one.pod, one.placement) for one in there),
    )
    placement = Placement((new.placement, moved.placement, away.placement))

    first, second = (placement_of_node(node, instance, placement, 3) for node in instance.nodes)

    assert first.generation == 3
    assert sets(first) == {"old": "0", "new": "3", "moves": "4"}
    assert sets(second) == {"leaves": "5"}


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        ([a_pod("a", LSE, "0", milli=2000)], "owns 1 CPU"),
        ([a_pod("a", LSE, "0-1"), a_pod("b", LSE, "1")], "a CPU has one owner"),
        ([a_pod("a", LSE, "6-9")], "8-9 .not on the machine."),
        ([a_pod("a", LSE, "0-7"), a_pod("c", BE)], "1 BE pod of node 'n0' may use is owned"),
    ],
)
def test_what_cannot_be_is_told(pods: list, message: str) -> None:
    """
    In the judge's words.
    """
    (fault, *_) = node_placement_faults(a_document(*pods))

    assert re.search(message, fault)
