"""Of sets of devices that are equal in every tier, the nearer ones (D7)."""

from dataclasses import replace

import pytest

from answers import expect
from dressing import dressed
from even_topologies import even_topology
from features.joint import joint_instance
from placer.judge.measure import measure
from placer.search.baseline import starting_accounts_of
from placer.search.device_proximity import with_nearer_devices
from placer.search.judged import judged_placement
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import Device, GpuLinkMatrix
from placer_models.links import (
    counts_by_class,
    linked_classes_of_devices,
    total_device_pair_distance,
)
from placer_models.placement import DeviceGrant, PartlyPlaced, Placed, Placement, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy
from tiny_pods import lone

BATCHES = 5

TOPOLOGY = even_topology(8, *(0,) * 4, packages=2)
DEVICES = tuple(
    Device(kind, i, numa_node=i // 2, package=i // 4, pcie_switch="abbcdeef"[i])
    for kind in ("gpu", "rdma")
    for i in range(8)
)
"""Two devices of a type on each NUMA node, four in a package; 1 and 2, 5 and 6 share a switch."""


def machine(links: GpuLinkMatrix | None = None) -> Machine:
    return Machine("box", "", TOPOLOGY, DEVICES, links)


def links(*fast: tuple[int, int]) -> GpuLinkMatrix:
    """Return links of one speed, but for some pairs that are faster."""
    rows = tuple(
        tuple(0 if i == j else 2 if (min(i, j), max(i, j)) in fast else 1 for j in range(8))
        for i in range(8)
    )
    return GpuLinkMatrix(tuple(range(8)), rows, tuple(("L",) * 8 for _ in range(8)))


def wanting(kind: str, count: int, alignment: AlignmentPolicy = AlignmentPolicy.NONE) -> Pod:
    requests = Resources(devices=(DeviceRequest(kind, count),))
    return Pod("a", "default", PodSpec((Container("main", requests),), alignment=alignment))


def holding(
    place: PodPlacement, devices: tuple[DeviceGrant, ...], pod: Pod, node: Node
) -> PodPlacement:
    """Return the place of a pod of one container with other devices."""
    (part,) = place.containers
    bare = replace(place, devices=devices, env=(), containers=(replace(part, devices=()),))
    return dressed(bare, pod.spec, node)


def moved(pod: Pod, minors: list[int], kind: Machine) -> tuple[int, ...]:
    """Return the devices that the pod has afterwards, alone on a machine."""
    instance = Instance((Node("n", kind),), (lone(pod),))
    type_ = pod.spec.requests.devices[0].type
    found = expect(Placed, solve(instance, SolveOptions(engine=Engine.GREEDY)))
    held = tuple(DeviceGrant(type_, minor) for minor in minors)
    place = holding(found.placement.pods[0], held, pod, instance.nodes[0])
    baseline = starting_accounts_of(instance)
    problem = build_problem(instance, baseline.accounts)
    start = judged_placement(instance, baseline, Placement((place,)))
    after = with_nearer_devices(instance, baseline, problem, start)
    assert not start.better_than(after)
    return after.placement.pods[0].minors(type_)


@pytest.mark.parametrize("kind", ["gpu", "rdma"])
def test_devices_come_together_where_nothing_else_decides(kind: str) -> None:
    """
    Two below one switch; three with a third on the NUMA node of one of them.
    """
    assert moved(wanting(kind, 2), [0, 7], machine()) == (1, 2)
    assert moved(wanting(kind, 3), [0, 3, 7], machine()) == (0, 1, 2)


def test_faster_links_are_never_given_up() -> None:
    """
    0 and 7 are far apart, and linked faster than any other pair.
    """
    assert moved(wanting("gpu", 2), [0, 7], machine(links((0, 7)))) == (0, 7)
    assert moved(wanting("gpu", 2), [0, 6], machine(links((0, 7)))) == (1, 2)


def test_a_pod_with_a_policy_stays_on_its_numa_nodes() -> None:
    """
    Under BestEffort the NUMA nodes are what a tier counts.
    """
    spread = wanting("gpu", 2, AlignmentPolicy.BEST_EFFORT)
    assert moved(spread, [2, 3], machine()) == (2, 3)
    assert moved(spread, [0, 2], machine()) == (1, 2)


def test_the_environment_names_the_devices_that_are_held() -> None:
    """
    The variable follows the exchange.
    """
    pod = wanting("gpu", 2)
    instance = Instance((Node("n", machine()),), (lone(pod),))
    found = expect(Placed, solve(instance, SolveOptions(engine=Engine.GREEDY)))
    far = (DeviceGrant("gpu", 0), DeviceGrant("gpu", 7))
    place = holding(found.placement.pods[0], far, pod, instance.nodes[0])
    baseline = starting_accounts_of(instance)
    start = judged_placement(instance, baseline, Placement((place,)))
    problem = build_problem(instance, baseline.accounts)
    after = with_nearer_devices(instance, baseline, problem, start).placement.pods[0]

    assert dict(after.env)["NVIDIA_VISIBLE_DEVICES"] == "1,2"
    assert after.containers[0].env == after.env
    assert after.containers[0].devices == after.devices


def far_apart(instance: Instance, placement: Placement) -> int:
    """Return how far apart the devices of all pods are."""
    total = 0
    for place in placement.pods:
        node = next(node for node in instance.nodes if node.name == place.node)
        for kind in {d.type for d in place.devices}:
            healthy = [d for d in node.machine.devices if d.type == kind and node.is_healthy(d)]
            board = linked_classes_of_devices(tuple(healthy), node.machine.gpu_links)
            total += total_device_pair_distance(board, counts_by_class(board, place.minors(kind)))
    return total


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_tier_gets_worse_and_nothing_farther(batch: int) -> None:
    """
    On random tiny worlds, from what greedy answers.
    """
    nearer = 0
    for seed in range(batch, 150, BATCHES):
        instance = joint_instance(seed)
        answer = solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1))
        if not isinstance(answer, Placed | PartlyPlaced):
            continue
        baseline = starting_accounts_of(instance)
        problem = build_problem(instance, baseline.accounts)
        start = judged_placement(instance, baseline, answer.placement)
        after = with_nearer_devices(instance, baseline, problem, start)
        assert not start.better_than(after), instance.name
        assert measure(instance, after.placement) == after.worth
        assert far_apart(instance, after.placement) <= far_apart(instance, start.placement)
        nearer += 1
    assert nearer > 50 // BATCHES
