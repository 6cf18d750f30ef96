"""Bound pods of a dump whose memory no annotation places: a guess that lets requests fit (C12)."""

from typing import Any

import pytest

from answers import expect
from kubernetes_dumps import places, read
from kubernetes_worlds import node, pod, topology
from placer.judge.misfits import misfits_of_instance
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.placement import Infeasible, Placed

GIB = 2**30
SINGLE = {"node.koordinator.sh/numa-topology-policy": "SingleNUMANode"}
STATUS = "scheduling.koordinator.sh/resource-status"


def on_numa_node(name: str, numa: int, cpu: str, memory: str = "", gib: int = 1) -> Any:
    """Return a running LS pod that says on which NUMA node its CPUs are, or its memory, too."""
    resources = {"cpu": cpu, **({"memory": memory} if memory else {})}
    said = {STATUS: {"numaNodeResources": [{"node": numa, "resources": resources}]}}
    asked = {"cpu": cpu, "memory": f"{gib}Gi"}
    return pod(name, asked, annotations=said, nodeName="n1")


def where(*objects: Any) -> dict[str, dict[int, int]]:
    instance, _ = read(*objects)
    return {
        r.pod.name: {numa: size // GIB for numa, size in r.placement.memory_bytes}
        for r in instance.running
    }


def test_memory_is_where_the_cpus_are_said_to_be() -> None:
    """
    The status names CPUs of NUMA node 1 and no memory; both NUMA nodes have as much.
    """
    objects = node(labels=SINGLE), topology(), on_numa_node("a", 1, "2")
    instance, _ = read(*objects)

    assert where(*objects) == {"a": {1: 1}}
    assert [r.guessed for r in instance.running] == [True]
    assert misfits_of_instance(instance) == ()


def test_memory_that_is_said_is_no_guess() -> None:
    """
    The status names both.
    """
    instance, _ = read(node(labels=SINGLE), topology(), on_numa_node("a", 1, "2", "1Gi"))

    assert [r.guessed for r in instance.running] == [False]


@pytest.mark.parametrize("turned", [False, True])
def test_the_guess_does_not_depend_on_the_order_of_objects(turned: bool) -> None:
    """
    Pods without a word about memory, the largest first, each where most is free.
    """
    pods = [
        pod(name, {"cpu": "1", "memory": f"{gib}Gi"}, nodeName="n1")
        for name, gib in (("a", 3), ("b", 5), ("c", 4))
    ]
    found = where(node(), topology(), *(pods[::-1] if turned else pods))

    assert found == {"b": {0: 5}, "c": {1: 4}, "a": {1: 3}}


def test_what_the_system_keeps_is_counted_where_it_fits() -> None:
    """
    2 CPUs are kept beyond those named; 3 of 4 are counted on NUMA node 0, so they are on 1.
    """
    kept = node(labels=SINGLE, amounts={"cpu": "6"}, capacity={"cpu": "8", "memory": "16Gi"})
    instance, _ = read(kept, topology(), on_numa_node("a", 0, "3", "1Gi"))
    (system,) = [r for r in instance.running if r.pod.name == "n1"]

    assert system.placement.cpu_milli == ((1, 2000),)
    assert misfits_of_instance(instance) == ()


def test_memory_beyond_what_there_is_counts_as_well() -> None:
    """
    20Gi of 16Gi: running pods may ask for more than there is.
    """
    found = where(node(), topology(), pod("a", {"cpu": "1", "memory": "20Gi"}, nodeName="n1"))

    assert sum(found["a"].values()) == 20


def test_a_never_that_hangs_on_a_guess_says_so() -> None:
    """
    7Gi of one NUMA node are asked for; 4Gi of 16 were guessed to be half on either.
    """
    aligned = {
        "scheduling.koordinator.sh/numa-topology-spec": {"numaTopologyPolicy": "SingleNUMANode"}
    }
    waiting = pod("p", {"cpu": "1", "memory": "7Gi"}, annotations=aligned)
    pods = [pod(n, {"cpu": "1", "memory": "2Gi"}, nodeName="n1") for n in "ab"]
    instance, _ = read(node(), topology(), *pods, waiting)
    answer = expect(Infeasible, solve(instance, SolveOptions(workers=1, seed=1)))

    assert answer.guessed
    instance, _ = read(node(), topology(), pods[0], waiting)
    assert isinstance(solve(instance, SolveOptions(workers=1, seed=1)), Placed)
    assert places(instance)
