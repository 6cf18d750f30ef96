"""The greedy path gives shares of the fullest device that fits."""

from dataclasses import replace

from placer.counting.account import accounts_of
from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.greedy.node_table import GreedyNodeTable
from placer.judge.breaches import breaches
from placer.state.batch import build_problem
from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.topology import Cpu, NumaNode, Topology
from tiny_pods import lone


def of(percent: int) -> DeviceShare:
    return DeviceShare(percent, memory_percent=percent)


def pod(name: str, *requests: DeviceRequest) -> Pod:
    return Pod(name, "default", PodSpec((Container("main", Resources(devices=requests)),)))


GPU_OF_1000_BYTES = Device(GPU, 0, memory_bytes=1000)
DISK = Device(
    "disk",
    0,
    capacity=(
        DeviceQuantity("bandwidth", 100),
        DeviceQuantity("space", 100, DeviceQuantityUnit.BYTES),
    ),
)


def given(
    held: dict[int, DeviceShare], *waiting: Pod, like: Device = GPU_OF_1000_BYTES
) -> list[dict[int, DeviceShare | None]]:
    """Return minor -> share of each pod, placed in turn where so much is held."""
    machine = Machine(
        "box",
        "",
        Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, 0),)),
        tuple(replace(like, minor=minor) for minor in range(4)),
    )
    running = []
    for minor, share in held.items():
        one = pod(f"r{minor}", DeviceRequest(like.type, 1, share))
        grants = (DeviceGrant(like.type, minor, share=share),)
        place = PodPlacement(one.name, "default", None, "n", frozenset({0}), devices=grants)
        running.append(RunningPod(one, place))
    instance = Instance((Node("n", machine),), tuple(map(lone, waiting)), running=tuple(running))
    accounts = accounts_of(instance)
    problem = build_problem(instance, accounts)
    table = GreedyNodeTable(problem)
    for index in range(len(waiting)):
        choice = table.find(index)
        if choice is not None:
            table.take(index, choice)
    placement = realise_choices(instance, accounts, problem, table.choices)
    assert not isinstance(placement, NodeIdAssignmentFailure)
    assert breaches(instance, placement) == ()
    return [{g.minor: g.share for g in place.devices} for place in placement.pods]


def test_a_share_goes_to_the_fullest_device_that_fits() -> None:
    """
    60 percent are left of GPU 1, 30 of GPU 2, 20 of GPU 3: 30 percent go to GPU 2.
    """
    asking = pod("a", DeviceRequest(GPU, 1, of(30)))

    assert given({1: of(40), 2: of(70), 3: of(80)}, asking) == [{2: of(30)}]


def test_the_fullest_is_the_one_with_least_of_what_is_asked_for() -> None:
    """
    Disk 1 has less bandwidth left, disk 2 less space: who asks for space goes to disk 2.
    """

    def disk(bandwidth: int, space: int) -> DeviceShare:
        asked = (
            DeviceQuantity("bandwidth", bandwidth),
            DeviceQuantity("space", space, DeviceQuantityUnit.BYTES),
        )
        return DeviceShare(capacity=tuple(quantity for quantity in asked if quantity.amount))

    held = {1: disk(80, 10), 2: disk(10, 80)}
    space, bandwidth = disk(0, 10), disk(10, 0)

    assert given(held, pod("a", DeviceRequest("disk", 1, space)), like=DISK) == [{2: space}]
    assert given(held, pod("a", DeviceRequest("disk", 1, bandwidth)), like=DISK) == [{1: bandwidth}]


def test_shares_come_together_on_one_device() -> None:
    """
    Three thirds and a bit leave three GPUs for the pod that wants whole ones.
    """
    thirds = [pod(f"a{i}", DeviceRequest(GPU, 1, of(33))) for i in range(3)]
    whole = pod("whole", DeviceRequest(GPU, 3))

    *shared, last = given({}, *thirds, whole)
    (minor,) = {minor for held in shared for minor in held}
    assert last == dict.fromkeys({0, 1, 2, 3} - {minor})


def test_different_shares_of_one_pod_find_the_devices_that_fit() -> None:
    """
    The larger one has one device to go to, so the smaller one leaves that to it.
    """
    asking = pod("a", DeviceRequest(GPU, 1, of(20)), DeviceRequest(GPU, 1, of(50)))

    assert given({0: of(80), 1: of(50), 2: of(90), 3: of(95)}, asking) == [{0: of(20), 1: of(50)}]
