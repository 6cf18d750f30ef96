"""The greedy path gives shares of the fullest device that fits."""

from placer.greedy.fleet import Fleet
from placer.judge.breaches import breaches
from placer.realise.realiser import Unrealisable, realise
from placer.state.batch import accounts_of, build_problem
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


def given(held: dict[int, int], *waiting: Pod) -> list[dict[int, DeviceShare | None]]:
    """Return minor -> share of each pod, placed in turn where so many percent are held."""
    machine = Machine(
        "box",
        "",
        Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, 0),)),
        tuple(Device(GPU, minor, memory_bytes=1000) for minor in range(4)),
    )
    running = []
    for minor, percent in held.items():
        one = pod(f"r{minor}", DeviceRequest(GPU, 1, of(percent)))
        grants = (DeviceGrant(GPU, minor, share=of(percent)),)
        place = PodPlacement(one.name, "default", None, "n", frozenset({0}), devices=grants)
        running.append(RunningPod(one, place))
    instance = Instance((Node("n", machine),), tuple(map(lone, waiting)), running=tuple(running))
    accounts = accounts_of(instance)
    problem = build_problem(instance, accounts)
    fleet = Fleet(problem)
    for index in range(len(waiting)):
        choice = fleet.find(index)
        if choice is not None:
            fleet.take(index, choice)
    placement = realise(instance, accounts, problem, fleet.choices)
    assert not isinstance(placement, Unrealisable)
    assert breaches(instance, placement) == ()
    return [{g.minor: g.share for g in place.devices} for place in placement.pods]


def test_a_share_goes_to_the_fullest_device_that_fits() -> None:
    """
    60 percent are left of GPU 1, 30 of GPU 2, 20 of GPU 3: 30 percent go to GPU 2.
    """
    asking = pod("a", DeviceRequest(GPU, 1, of(30)))

    assert given({1: 40, 2: 70, 3: 80}, asking) == [{2: of(30)}]


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

    assert given({0: 80, 1: 50, 2: 90, 3: 95}, asking) == [{0: of(20), 1: of(50)}]
