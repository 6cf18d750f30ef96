"""Required jointAllocate, held to the words of its page by trying every choice of devices."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations, product
from random import Random

import pytest

from dressing import all_shown
from judge.hand import ALL_CPUS, MACHINE, node, placed, pod, put, world
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.device import Device
from placer_models.placement import DeviceGrant, Placed, Placement
from placer_models.pod import Container, DeviceRequest, JointDevicesRequest, Resources
from placer_models.policy import JointDevicesScope, QosClass, RequiredOrPreferred

Choice = Mapping[str, tuple[Device, ...]]
"""Type -> the devices of it that the pod has."""

WORLDS = 60
TYPES = (("gpu", "rdma"), ("rdma", "gpu"), ("gpu", "rdma", "storage"))


def drawn(rng: Random) -> tuple[Instance, dict[str, int], list[Choice]]:
    """Return an empty node with a pod that waits, what it asks for, and all it could have."""
    types = rng.choice(TYPES)
    switches = [*rng.sample("abc", rng.choice((2, 3))), *rng.choice(((), (None,)))]
    devices = [
        # The first of each type names a switch, so that switches are compared and not roots.
        Device(kind, minor, numa_node=0, pcie_switch=rng.choice(switches) if minor else "a")
        for kind in sorted(types)
        for minor in range(rng.randint(1, 4))
    ]
    machine = replace(MACHINE, devices=tuple(devices), gpu_links=None)
    of = {kind: [d for d in devices if d.type == kind] for kind in types}
    counts = {kind: rng.randint(1, len(of[kind])) for kind in types}
    asked = tuple(DeviceRequest(kind, counts[kind]) for kind in sorted(types))
    wish = JointDevicesRequest(types, JointDevicesScope.SAME_PCIE, RequiredOrPreferred.REQUIRED)
    bare = pod("a", qos=QosClass.LS)
    containers = (Container("app", Resources(devices=asked)),)
    waits = replace(bare, spec=replace(bare.spec, containers=containers, joint=wish))
    ways = product(*(combinations(of[kind], counts[kind]) for kind in types))
    choices: list[Choice] = [dict(zip(types, way, strict=True)) for way in ways]
    return world(waits, nodes=[node(machine=machine)]), counts, choices


def groups(choice: Choice, kind: str) -> set[str | None]:
    return {device.pcie_switch for device in choice[kind]}


def in_full(choice: Choice) -> bool:
    """Return whether every group in use gives every type."""
    in_use = set[str | None]().union(*(groups(choice, kind) for kind in choice))
    return None not in in_use and all(groups(choice, kind) == in_use for kind in choice)


def against_the_first(choice: Choice, counts: Mapping[str, int]) -> bool:
    """Return whether who is asked for less often is beside the other, type by type."""
    first, *others = choice
    if any(None in groups(choice, kind) for kind in choice):
        return False
    return all(
        (counts[kind] > counts[first] or groups(choice, kind) <= groups(choice, first))
        and (counts[first] > counts[kind] or groups(choice, first) <= groups(choice, kind))
        for kind in others
    )


def allowed(counts: Mapping[str, int], choices: Iterable[Choice]) -> list[bool]:
    """Return for each choice whether the words allow it."""
    every = list(choices)
    if any(map(in_full, every)):
        return list(map(in_full, every))
    return [against_the_first(choice, counts) for choice in every]


def having(choice: Choice) -> Placement:
    grants = (DeviceGrant(d.type, d.minor) for kind in sorted(choice) for d in choice[kind])
    return placed(replace(put("a", ALL_CPUS), devices=tuple(grants)))


@pytest.mark.parametrize("seed", range(WORLDS))
def test_the_rule_is_what_its_page_says(seed: int) -> None:
    """
    The judge allows the very choices, and both engines place the pod where there is one.
    """
    instance, counts, choices = drawn(Random(seed))
    right = allowed(counts, choices)

    for choice, is_right in zip(choices, right, strict=True):
        assert (breaches(instance, all_shown(instance, having(choice))) == ()) == is_right
    for engine in (Engine.GREEDY, Engine.EXACT):
        answer = solve(instance, SolveOptions(engine=engine, workers=1, seed=1))
        assert isinstance(answer, Placed) == any(right)
