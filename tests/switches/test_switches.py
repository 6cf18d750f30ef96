"""Whole PCIe switches in tier ``usable``: kept for pods that want GPU and NIC below one (D9)."""

from dataclasses import replace

import pytest

from judge.hand import ALL_CPUS, MACHINE, pod, put, world
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import Device, VirtualFunction
from placer_models.device_share import DeviceShare
from placer_models.placement import Answer, DeviceGrant, Placed, PodPlacement
from placer_models.pod import Container, DeviceRequest, JointDevicesRequest, Pod, Resources
from placer_models.policy import QosClass, RequiredOrPreferred

SHARE = DeviceShare(percent=1)
FUNCTIONS = tuple(VirtualFunction(minor, f"0000:1f:00.{minor}") for minor in range(4))
BARE = replace(MACHINE, gpu_links=None)


def below(*switches: str, machine: Machine = BARE) -> Machine:
    """Return the machine with a NIC and two GPUs below each switch, named by letters."""
    gpus = (
        Device("gpu", minor, numa_node=0, pcie_switch=switches[minor // 2])
        for minor in range(2 * len(switches))
    )
    nics = (
        Device("rdma", minor, numa_node=0, pcie_switch=key, virtual_functions=FUNCTIONS)
        for minor, key in enumerate(switches)
    )
    return replace(machine, devices=(*gpus, *nics))


def wide(*switches: str) -> Machine:
    """Return a machine with four GPUs below each switch, and no NIC."""
    gpus = (
        Device("gpu", minor, numa_node=0, pcie_switch=switches[minor // 4])
        for minor in range(4 * len(switches))
    )
    return replace(BARE, devices=tuple(gpus))


TWO = below("a", "b")
"""GPUs 0, 1 and NIC 0 below a; GPUs 2, 3 and NIC 1 below b."""


def asking(
    name: str, *, gpus: int = 0, functions: int = 0, joint: RequiredOrPreferred | None = None
) -> Pod:
    """Return an LS pod that wants whole GPUs and virtual functions of NICs."""
    one = pod(name, qos=QosClass.LS)
    devices = []
    if gpus:
        devices.append(DeviceRequest("gpu", gpus))
    if functions:
        devices.append(DeviceRequest("rdma", functions, SHARE))
    spec = replace(
        one.spec,
        containers=(Container("app", Resources(devices=tuple(devices))),),
        functions=(("rdma", ()),) if functions else (),
        joint=JointDevicesRequest(("gpu", "rdma"), strength=joint) if joint else None,
    )
    return replace(one, spec=spec)


def holds(
    name: str, gpus: tuple[int, ...] = (), nics: tuple[int, ...] = ()
) -> tuple[Pod, PodPlacement]:
    """Return a running pod that has GPUs and a virtual function of each of the NICs."""
    place = put(name, ALL_CPUS, gpus=gpus)
    shares = tuple(DeviceGrant("rdma", nic, share=SHARE, vfs=(0,)) for nic in nics)
    runner = asking(name, gpus=len(gpus), functions=len(nics))
    return runner, replace(place, devices=(*place.devices, *shares))


def on(
    machine: Machine, *pods: Pod, running: tuple[tuple[Pod, PodPlacement], ...] = ()
) -> Instance:
    return world(*pods, nodes=[Node("n", machine)], running=running)


def solved(instance: Instance, engine: Engine) -> Answer:
    """Solve by an amount of work: a machine that stands still for a while would lose a time."""
    return solve(instance, SolveOptions(engine=engine, workers=1, seed=1, work_limit=10))


def switches_of(answer: object, machine: Machine) -> set[str | None]:
    """Return the switches of all devices that the answer gives out."""
    assert isinstance(answer, Placed)
    key = {(d.type, d.minor): d.pcie_switch for d in machine.devices}
    return {key[d.type, d.minor] for place in answer.placement.pods for d in place.devices}


EACH_ENGINE = pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT, Engine.AUTO])


@EACH_ENGINE
@pytest.mark.parametrize(
    "joint", [None, RequiredOrPreferred.PREFERRED, RequiredOrPreferred.REQUIRED]
)
@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([holds("r", gpus=(2,))], id="by a GPU"),
        pytest.param([holds("r", nics=(1,))], id="by a virtual function"),
        pytest.param([holds("r", gpus=(3,), nics=(1,))], id="by a pod like it"),
    ],
)
def test_a_gpu_and_a_virtual_function_take_the_switch_in_use(
    runs: list[tuple[Pod, PodPlacement]], joint: RequiredOrPreferred | None, engine: Engine
) -> None:
    """
    So that the other switch is whole for a pod that wants GPU and NIC below one.
    """
    instance = on(TWO, asking("a", gpus=1, functions=1, joint=joint), running=tuple(runs))
    answer = solved(instance, engine)

    assert switches_of(answer, TWO) == {"b"}


@EACH_ENGINE
def test_two_gpus_of_a_pod_stay_below_one_switch(engine: Engine) -> None:
    """
    Their own nearness says more than a whole switch for later pods (D7).
    """
    machine = below("a", "b", "c")
    running = (holds("r", gpus=(2,)), holds("s", gpus=(4,)))
    instance = on(machine, asking("a", gpus=2), running=running)
    answer = solved(instance, engine)

    assert switches_of(answer, machine) == {"a"}


@EACH_ENGINE
def test_two_gpus_of_a_pod_take_what_is_left_of_a_switch_in_use(engine: Engine) -> None:
    """
    Of places that are as near, the one that leaves whole switches whole.
    """
    machine = wide("a", "b", "c")
    running = (holds("r", gpus=(4, 5)), holds("s", gpus=(8,)))
    instance = on(machine, asking("a", gpus=2), running=running)
    answer = solved(instance, engine)

    assert switches_of(answer, machine) == {"b"}


@EACH_ENGINE
def test_a_pod_with_several_gpus_comes_nearer_beside_new_pods_with_one(engine: Engine) -> None:
    """
    Its exchange leaves as many whole switches as before, whichever the single GPU is below.
    """
    machine = wide("a", "b")
    instance = on(machine, asking("one", gpus=1), asking("two", gpus=2))
    answer = solved(instance, engine)

    assert len(switches_of(answer, machine)) == 1
