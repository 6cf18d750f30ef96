"""To which NUMA nodes a pod is bound: the solver's words against the judge's (C8, C12)."""

from dataclasses import replace
from random import Random

import pytest

from placer.judge import cells
from placer.judge.scene import JudgedNode, nodes_before_placement, placed_pod_of
from placer_models.alignment import effective_alignment_scope, resolve_alignment_policy
from placer_models.bound import (
    is_bound_by_policy,
    numa_nodes_bound_to,
    numa_nodes_of_cpus,
    numa_nodes_of_memory_and_devices,
    pool_on_numa_nodes,
)
from placer_models.cluster import Instance, Node
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, AlignmentScope, QosClass
from second_tellings.drawing import mixed_worlds

POOLED = (QosClass.LS, QosClass.BE)
NONE, BEST_EFFORT, RESTRICTED, SINGLE = AlignmentPolicy


def site_of(node: Node) -> JudgedNode:
    """Return the judge's view of an empty node."""
    return nodes_before_placement(Instance((node,), ())).judged_nodes[node.name]


def drawn_spec(rng: Random) -> PodSpec:
    """Draw a pod of any class and policy; LS pods may be under ConstrainedBurst."""
    qos = rng.choice((*POOLED, *QosClass))
    burst = qos is QosClass.LS and rng.random() < 0.3
    return PodSpec(
        (Container("app", Resources(1000), cpu_limit_milli=1000),),
        qos,
        alignment=NONE if burst else rng.choice(tuple(AlignmentPolicy)),
        constrained_burst=burst,
    )


def drawn_place(rng: Random, node: Node) -> PodPlacement:
    """Draw a place of which ids may or may not exist, and which names NUMA nodes or does not."""
    present = [cpu.id for cpu in node.machine.topology.cpus]
    ids = rng.sample([*present, 99], rng.randint(0, len(present))) if rng.random() < 0.6 else []
    said = tuple((numa, rng.choice((0, 700))) for numa in range(3) if rng.random() < 0.5)
    devices = [(device.type, device.minor) for device in node.devices] + [("gpu", 99)]
    return PodPlacement(
        "p",
        "default",
        None,
        node.name,
        frozenset(ids),
        memory_bytes=tuple((numa, rng.choice((0, 5))) for numa in range(4) if rng.random() < 0.4),
        hugepages=tuple((numa, 2, rng.choice((0, 1))) for numa in range(4) if rng.random() < 0.2),
        devices=tuple(DeviceGrant(*key) for key in rng.sample(devices, rng.choice((0, 0, 1)))),
        cpu_milli=said if rng.random() < 0.3 else None,
    )


def bound(spec: PodSpec, place: PodPlacement, node: Node) -> set[int]:
    """Return the NUMA nodes to whose pool a pod is bound, as docs/rules/bound.md has it."""
    topology = node.machine.topology
    policies = {spec.alignment, node.alignment} - {NONE}
    binding = len(policies) == 1 and policies <= {RESTRICTED, SINGLE}
    if spec.qos not in POOLED or not (place.cpu_milli is not None or binding or is_burst(spec)):
        return set()
    if place.cpu_milli is not None:
        return {numa for numa, _ in place.cpu_milli}
    homes = [topology.cpu[c].numa_node if c in topology.cpu else None for c in place.cpuset]
    if homes or is_burst(spec):
        floats = None in homes and not is_burst(spec)
        return set() if floats else {home for home in homes if home is not None}
    return held(place, node)


def held(place: PodPlacement, node: Node) -> set[int]:
    """Return the NUMA nodes of what a pod holds besides CPUs."""
    found = {numa for numa, size in place.memory_bytes if size}
    found |= {numa for numa, _, count in place.hugepages if count}
    for device in node.devices:
        if any((device.type, device.minor) == (g.type, g.minor) for g in place.devices):
            found |= {device.numa_node} - {None}
    return found & {numa.id for numa in node.machine.topology.numa_nodes}


def is_burst(spec: PodSpec) -> bool:
    """Return whether a pod is under ConstrainedBurst."""
    return spec.constrained_burst


@pytest.mark.parametrize("batch", range(10))
def test_words_and_judge_agree_on_who_is_bound_where(batch: int) -> None:
    """
    On random places, pods and policies, on the nodes of tiny worlds.
    """
    rng = Random(f"bound-{batch}")
    seen = set()
    for world in mixed_worlds()[batch::10]:
        for drawn in world.nodes:
            for _ in range(60):
                node = replace(drawn, alignment=rng.choice(tuple(AlignmentPolicy)))
                spec, place = drawn_spec(rng), drawn_place(rng, node)
                site, topology = site_of(node), node.machine.topology
                tenant = placed_pod_of(Pod("p", "default", spec), place, new=True)
                expected = bound(spec, place, node)
                homes = {topology.cpu[c].numa_node for c in place.cpuset if c in topology.cpu}
                pool = {c for c in place.cpuset if c in topology.cpu}
                there = {c for c in pool if topology.cpu[c].numa_node in expected}
                seen.add((place.cpu_milli is None, bool(place.cpuset), bool(expected)))

                assert numa_nodes_bound_to(place, spec, node) == expected
                assert cells.numa_nodes_bound_to(site, tenant) == expected
                assert numa_nodes_of_memory_and_devices(place, node) == held(place, node)
                assert cells.numa_nodes_of_memory_and_devices(site, place, place.devices) == held(
                    place, node
                )
                assert numa_nodes_of_cpus(place.cpuset, topology) == homes - {None}
                assert pool_on_numa_nodes(place.cpuset, expected, topology) == there
                assert cells.pool_cpus_on_numa_nodes(site, place.cpuset, expected) == there
    assert len(seen) >= 6


@pytest.mark.parametrize("qos", QosClass)
@pytest.mark.parametrize("pod", AlignmentPolicy)
@pytest.mark.parametrize("on", AlignmentPolicy)
def test_who_owns_no_cpus_is_bound_by_a_binding_policy(
    qos: QosClass, pod: AlignmentPolicy, on: AlignmentPolicy
) -> None:
    """
    Of the pod or of the node; where both say one, it is the same.
    """
    node = replace(mixed_worlds()[0].nodes[0], alignment=on)
    said = {pod, on} - {NONE}
    agreed = said.pop() if len(said) == 1 else NONE if not said else None

    assert resolve_alignment_policy(pod, on) is agreed
    assert is_bound_by_policy(PodSpec((), qos, alignment=pod), node) is (
        qos in POOLED and agreed in (RESTRICTED, SINGLE)
    )


@pytest.mark.parametrize("pod", [None, *AlignmentScope])
@pytest.mark.parametrize("on", [None, *AlignmentScope])
def test_a_scope_is_the_pod_where_nothing_is_said(
    pod: AlignmentScope | None, on: AlignmentScope | None
) -> None:
    """
    Where both say one, it is the same; else the two conflict.
    """
    said = {pod, on} - {None} or {AlignmentScope.POD}

    assert effective_alignment_scope(pod, on) is (said.pop() if len(said) == 1 else None)
