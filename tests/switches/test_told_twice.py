"""Points of whole PCIe switches, told a second time by what the page of tier ``usable`` says."""

from collections import Counter
from dataclasses import replace

import pytest

from features.switches import switch_instance
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node
from placer_models.device import is_mig_instance
from placer_models.goals import USABLE
from placer_models.placement import NamespacedName, PartlyPlaced, Placed, Placement, PodPlacement
from placer_models.pod import Pod, pods_of_gangs

WORLDS = 150


def points_of_switches(instance: Instance, placement: Placement) -> int:
    """Return 8 for each whole switch of all nodes, as the page counts them."""
    moved = {place.key for place in placement.pods}
    running = [r.placement for r in instance.running if r.placement.key not in moved]
    several = those_with_several(instance)
    return sum(
        _points_on(
            node,
            [place for place in running if place.node == node.name],
            [place for place in placement.pods if place.node == node.name],
            several,
        )
        for node in instance.nodes
    )


def those_with_several(instance: Instance) -> set[NamespacedName]:
    """Return the keys of the pods that ask for several whole devices of a type."""
    pods = [*pods_of_gangs(instance.gangs), *(runner.pod for runner in instance.running)]
    return {pod.key for pod in pods if asks_for_several(pod)}


def _points_on(
    node: Node,
    running: list[PodPlacement],
    new: list[PodPlacement],
    those: set[NamespacedName],
) -> int:
    cut = {minor for minor, _ in node.mig}
    points = 0
    for switch in {d.pcie_switch for d in node.devices} - {None}:
        below = {
            (d.type, d.minor)
            for d in node.devices
            if d.pcie_switch == switch
            and d.healthy
            and (d.type, d.minor) not in node.unhealthy
            and not d.type.startswith("mig-")
            and not (d.type == "gpu" and d.minor in cut)
        }
        if len(below) < 2 or all(kind != "gpu" for kind, _ in below):
            continue
        ran = any(_has_any(place, below) for place in running)
        single = any(_has_any(place, below) for place in new if place.key not in those)
        several = any(_has_any(place, below) for place in new if place.key in those)
        if not ran and (several or not single):
            points += 8
    return points


def _has_any(place: PodPlacement, below: set[tuple[str, int]]) -> bool:
    return any((grant.type, grant.minor) in below for grant in place.devices)


def asks_for_several(pod: Pod) -> bool:
    """Return whether the pod asks for several whole devices of a type, and says how many."""
    counted = (
        asked.count
        for asked in pod.spec.requests.devices
        if asked.share is None
        and asked.type not in dict(pod.spec.strategies)
        and not asked.type.startswith("mig-")
    )
    return any(count > 1 for count in counted)


def without_switches(instance: Instance) -> Instance:
    """Return the instance with machines that do not know their switches."""
    machines = {
        id(node.machine): replace(
            node.machine,
            devices=tuple(replace(d, pcie_switch=None) for d in node.machine.devices),
        )
        for node in instance.nodes
    }
    nodes = tuple(replace(node, machine=machines[id(node.machine)]) for node in instance.nodes)
    return replace(instance, nodes=nodes)


def usable(instance: Instance, placement: Placement) -> int | None:
    """Return what the judge counts in tier ``usable``; None if it is not asked for."""
    return dict(measure(instance, placement)).get(USABLE)


@pytest.fixture(scope="module")
def told() -> Counter[str]:
    """Compare the worlds, and return how often each thing that counts was there."""
    seen: Counter[str] = Counter()
    for seed in range(WORLDS):
        instance = switch_instance(seed)
        answer = solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1, seed=1))
        placement = answer.placement if isinstance(answer, Placed | PartlyPlaced) else Placement(())
        counted = usable(instance, placement)
        blind = usable(without_switches(instance), placement)
        if counted is None or blind is None:
            continue
        expected = points_of_switches(instance, placement)
        assert counted - blind == expected, instance.name
        seen["worlds"] += 1
        seen["whole"] += expected > 0
        seen["broken"] += expected < points_of_switches(instance, Placement(()))
        seen["several"] += any(
            place.key in those_with_several(instance) for place in placement.pods
        )
        seen["moves"] += bool(
            {r.pod.key for r in instance.running} & {p.key for p in placement.pods}
        )
    return seen


def test_the_judge_counts_switches_as_the_page_does(told: Counter[str]) -> None:
    """
    On seeded worlds with shares, virtual functions, MIG instances and moves.
    """
    assert told["worlds"] >= WORLDS // 2


@pytest.mark.parametrize("what", ["whole", "broken", "several"])
def test_the_worlds_have_what_counts(told: Counter[str], what: str) -> None:
    """
    Otherwise they would show nothing.
    """
    assert told[what] > WORLDS // 20


def test_instances_are_told_by_their_type() -> None:
    """
    Their type says how they are cut; whole devices of any type are none.
    """
    cut = {d.type for seed in range(WORLDS) for n in switch_instance(seed).nodes for d in n.devices}

    assert {kind for kind in cut if is_mig_instance(kind)} == {k for k in cut if k[:4] == "mig-"}
    assert any(map(is_mig_instance, cut))
    assert not is_mig_instance("gpu")
