"""What a pod asks for in all, told a second time from docs/rules (C8, C9, C12, D5)."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import ceil
from random import Random

import pytest

from placer_models.capacity import DeviceQuantity
from placer_models.device_share import DeviceShare
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.pod import Container, ContainerRole, DeviceRequest, PodSpec, Resources
from placer_models.policy import (
    BindPolicy,
    ExclusivePolicy,
    QosClass,
    RequiredOrPreferred,
    SameTypeDevicesScope,
)
from placer_models.topology import Hugepages
from second_tellings.drawing import all_pods, mixed_worlds

APP, INIT, SIDECAR = ContainerRole.APP, ContainerRole.INIT, ContainerRole.RESTARTABLE_INIT
HALF = DeviceShare(percent=50)


def amounts(asked: Resources) -> Counter[object]:
    """Return all that a container asks for, each amount by what it is of."""
    found: Counter[object] = Counter(cpu=asked.cpu_milli, memory=asked.memory_bytes)
    found.update({("pages", pages.page_bytes): pages.count for pages in asked.hugepages})
    found.update({("extended", name): amount for name, amount in asked.extended})
    for request in asked.devices:
        found["device", request.type, request.share] += request.count
    return found


def most_at_once(containers: tuple[Container, ...]) -> Counter[object]:
    """Return the most of each amount that runs at any time.

    Init containers start one by one; a sidecar stays, any other ends before the next starts.
    """
    running: list[Container] = []
    most: Counter[object] = Counter()
    for container in (one for one in containers if one.role is not APP):
        now = [*running, container]
        most |= total(now)
        running = now if container.role is SIDECAR else running
    return most | total([*running, *(one for one in containers if one.role is APP)])


def total(containers: list[Container]) -> Counter[object]:
    """Return what containers that run together ask for."""
    return sum((amounts(one.requests) for one in containers), Counter())


def drawn_containers(rng: Random) -> tuple[Container, ...]:
    """Draw containers of all roles, with requests and CPU limits."""
    return tuple(
        Container(
            f"c{i}",
            Resources(
                rng.choice((0, 300, 1000, 2000)),
                rng.choice((0, 5, 9)),
                tuple(Hugepages(size, rng.randint(1, 3)) for size in (2, 4) if rng.random() < 0.4),
                tuple(
                    DeviceRequest(kind, rng.randint(1, 2), share)
                    for kind in ("fpga", "gpu")
                    for share in (None, HALF)
                    if rng.random() < 0.3
                ),
                (("licences", rng.randint(1, 3)),) if rng.random() < 0.4 else (),
            ),
            rng.choice((APP, INIT, SIDECAR)),
            rng.choice((2000, 2300, 4700)),
        )
        for i in range(rng.randint(1, 5))
    )


@pytest.mark.parametrize("seed", range(100))
def test_a_pod_holds_the_most_that_runs_at_once(seed: int) -> None:
    """
    Of every amount by itself; the limit of a burst is counted as the request is.
    """
    containers = drawn_containers(Random(seed))
    spec = PodSpec(containers)
    expected = +most_at_once(containers)
    limits = tuple(replace(one, requests=Resources(one.cpu_limit_milli or 0)) for one in containers)
    held = spec.requests

    assert +amounts(held) == expected
    for kind in ("fpga", "gpu", "rdma"):
        assert (
            held.count_of(kind) == expected["device", kind, None] + expected["device", kind, HALF]
        )
    for size in (2, 4, 8):
        assert held.pages_of(size) == expected["pages", size]
    assert held.amount_of("licences") == expected["extended", "licences"]
    assert held.amount_of("tokens") == 0
    assert held == replace(
        held,
        hugepages=tuple(sorted(held.hugepages, key=lambda pages: pages.page_bytes)),
        devices=tuple(sorted(held.devices, key=lambda d: (d.type, d.share is not None))),
    )
    assert spec.burst_cpus == 0
    burst = replace(spec, constrained_burst=True).burst_cpus
    assert burst == ceil(Fraction(most_at_once(limits)["cpu"], 1000))


def test_a_burst_without_a_limit_to_speak_of_has_one_cpu() -> None:
    """
    The least pool is one CPU.
    """
    idle = Container("app", Resources(), cpu_limit_milli=0)

    assert PodSpec((idle,), constrained_burst=True).burst_cpus == 1


@pytest.mark.parametrize("strength", RequiredOrPreferred)
def test_policies_are_required_where_they_say_so(strength: RequiredOrPreferred) -> None:
    """
    Default asks for nothing, though required; nor does no exclusive policy.
    """
    required = strength is RequiredOrPreferred.REQUIRED
    for bind in BindPolicy:
        spec = PodSpec((), bind=bind, bind_strength=strength)
        assert spec.bind_required is (required and bind is not BindPolicy.DEFAULT)
    for policy in ExclusivePolicy:
        spec = PodSpec((), exclusive=policy, exclusive_strength=strength)
        assert spec.exclusive_required is (required and policy is not ExclusivePolicy.NONE)


def test_a_scope_is_of_the_types_that_it_names() -> None:
    """
    Devices of other types are anywhere on the node.
    """
    spec = PodSpec(
        (), scopes=(("gpu", SameTypeDevicesScope.PCIE), ("rdma", SameTypeDevicesScope.NUMA_NODE))
    )

    assert [spec.scope_of(kind) for kind in ("gpu", "rdma", "fpga")] == [
        SameTypeDevicesScope.PCIE,
        SameTypeDevicesScope.NUMA_NODE,
        SameTypeDevicesScope.NODE,
    ]


def test_locality_is_for_pods_with_several_things_of_which_some_are_their_own() -> None:
    """
    One CPU or one device alone is on one NUMA node anyway; memory alone has no tier.
    """
    verdicts = Counter[bool]()
    specs = [pod.spec for world in mixed_worlds() for pod in all_pods(world)]
    specs += [one(cpus, memory) for cpus in range(3) for memory in range(2)]
    every = (("rdma", DeviceCountStrategy.APPLY_FOR_ALL),)
    nics = Resources(devices=(DeviceRequest("rdma", 1),))
    specs.append(PodSpec((Container("app", nics),), strategies=every))
    for spec in specs:
        asked = spec.requests
        own = [*range(asked.cpu_milli // 1000)] if spec.qos in (QosClass.LSE, QosClass.LSR) else []
        own += [i for request in asked.devices for i in range(request.count)]
        limits = [container.cpu_limit_milli or 0 for container in spec.containers]
        # A limit is held by whole CPUs, of all containers that run at once.
        own += [*range(-(-sum(limits) // 1000))] if spec.constrained_burst else []
        beside = [asked.memory_bytes, *(pages.count for pages in asked.hugepages)]
        # How many devices a strategy gives is not known before.
        several = len(own) > 1 or any(beside) or bool(spec.strategies)
        verdicts[spec.wants_locality] += 1

        assert spec.wants_locality is (bool(own) and several)
    assert min(verdicts.values()) > 5


def one(cpus: int, memory_bytes: int) -> PodSpec:
    """Return a pod that owns so many CPUs and has so much memory."""
    return PodSpec((Container("app", Resources(1000 * cpus, memory_bytes)),), QosClass.LSR)


@pytest.mark.parametrize("percent", [None, 0, 40, 100])
@pytest.mark.parametrize("memory_bytes", [None, 0, 7])
@pytest.mark.parametrize("memory_percent", [None, 0, 99, 100])
@pytest.mark.parametrize("capacity", [(), (DeviceQuantity("space", 3),)])
def test_a_share_leaves_something_to_others_or_nothing(
    percent: int | None,
    memory_bytes: int | None,
    memory_percent: int | None,
    capacity: tuple[DeviceQuantity, ...],
) -> None:
    """
    All of the memory is all of the device, whatever compute is asked for beside it.
    """
    share = DeviceShare(percent, memory_bytes, memory_percent, capacity)
    if memory_percent is not None:
        leaves = memory_percent != 100
    else:
        leaves = memory_bytes is not None or percent != 100
    all_of_it = not leaves and percent in (None, 100)
    named = {"memory": memory_bytes} if memory_bytes is not None else {}

    assert (share.shared, share.whole) == (leaves, all_of_it)
    assert share.amounts == named | ({"space": 3} if capacity else {})
    assert share.has_memory is (memory_bytes is not None or memory_percent is not None)
