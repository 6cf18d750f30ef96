"""The edges of the rule about devices of which a strategy says how many a pod has.

The machine here has GPUs 0 and 1 below switch a, 2 below b, 3 below no switch that is known;
NICs 0 and 1 below a, 2 below b.
"""

from dataclasses import replace

from judge.cases_joint import switched
from judge.hand import ALL_CPUS, Edge, node, pod, put, world
from placer_models.cluster import Node
from placer_models.device_share import DeviceShare
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.placement import PodPlacement
from placer_models.pod import Container, DeviceRequest, JointDevicesRequest, Pod, Resources
from placer_models.policy import JointDevicesScope, QosClass, RequiredOrPreferred

ALL = DeviceCountStrategy.APPLY_FOR_ALL
EACH = DeviceCountStrategy.APPLY_FOR_EACH_GROUP
MACHINE = switched("aab-", "aab")
HERE = [node(machine=MACHINE)]


def applying(
    name: str,
    gpus: int = 0,
    strategy: DeviceCountStrategy | None = ALL,
    *,
    nics: int = 1,
    percent: int = 0,
    strength: RequiredOrPreferred = RequiredOrPreferred.REQUIRED,
) -> Pod:
    """Return a pod whose NICs are as many as a strategy says, or so many."""
    one = pod(name, qos=QosClass.LS)
    share = DeviceShare(percent=percent) if percent else None
    devices = [DeviceRequest("gpu", gpus)] if gpus else []
    devices += [DeviceRequest("rdma", nics, share)] if nics else []
    joint = JointDevicesRequest(("gpu", "rdma"), JointDevicesScope.SAME_PCIE, strength)
    return replace(
        one,
        spec=replace(
            one.spec,
            containers=(Container(one.spec.containers[0].name, Resources(devices=tuple(devices))),),
            joint=joint if strategy is EACH else None,
            strategies=(("rdma", strategy),) if strategy else (),
        ),
    )


def healthy_but(nic: int) -> Node:
    """Return the node with a broken NIC."""
    return replace(HERE[0], unhealthy=frozenset({("rdma", nic)}))


def parts(place: PodPlacement, percent: int) -> PodPlacement:
    """Return the place with shares of its NICs in place of whole ones."""
    share = DeviceShare(percent=percent)
    grants = (replace(g, share=share) if g.type == "rdma" else g for g in place.devices)
    return replace(place, devices=tuple(grants))


LIKES = RequiredOrPreferred.PREFERRED

STRATEGY_EDGES = {
    "device-strategy: all NICs of the node": Edge(
        world(applying("a"), nodes=HERE),
        good=put("a", ALL_CPUS, nics=[0, 1, 2]),
        bad=put("a", ALL_CPUS, nics=[0, 1]),
    ),
    "device-strategy: all that are healthy": Edge(
        world(applying("a"), nodes=[healthy_but(1)]),
        good=put("a", ALL_CPUS, nics=[0, 2]),
        bad=put("a", ALL_CPUS, nics=[2]),
    ),
    "device-strategy: a share of each of them": Edge(
        world(applying("a", percent=30), nodes=HERE),
        good=parts(put("a", ALL_CPUS, nics=[0, 1, 2]), 30),
        bad=parts(put("a", ALL_CPUS, nics=[1, 2]), 30),
    ),
    "device-count: no whole ones where shares are asked for": Edge(
        world(applying("a", percent=30), nodes=HERE),
        good=parts(put("a", ALL_CPUS, nics=[0, 1, 2]), 30),
        bad=put("a", ALL_CPUS, nics=[0, 1, 2]),
    ),
    "device-strategy: one of them for each switch of the GPUs": Edge(
        world(applying("a", 2, EACH), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[0, 1], nics=[1]),
        bad=put("a", ALL_CPUS, gpus=[0, 1], nics=[0, 1]),
    ),
    "joint: each switch of the GPUs gives one": Edge(
        world(applying("a", 3, EACH), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[0, 1, 2], nics=[0, 2]),
        bad=put("a", ALL_CPUS, gpus=[0, 1, 2], nics=[0]),
    ),
    "device-strategy: a wish is for one of a switch, too": Edge(
        world(applying("a", 3, EACH, strength=LIKES), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[0, 1, 2], nics=[0]),
        bad=put("a", ALL_CPUS, gpus=[0, 1, 2], nics=[0, 1]),
    ),
    "device-strategy: and for no more than there are switches with GPUs": Edge(
        world(applying("a", 1, EACH, strength=LIKES), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[0], nics=[2]),
        bad=put("a", ALL_CPUS, gpus=[0], nics=[0, 2]),
    ),
    "device-strategy: a GPU of no known switch counts as one": Edge(
        world(applying("a", 2, EACH, strength=LIKES), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[0, 3], nics=[0, 2]),
        bad=put("a", ALL_CPUS, gpus=[0, 1], nics=[0, 2]),
    ),
    "device-strategy: one at least": Edge(
        world(applying("a", 1, EACH, strength=LIKES), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[0], nics=[0]),
        bad=put("a", ALL_CPUS, gpus=[0]),
    ),
}
