"""The edges of the rules about shares of devices."""

from dataclasses import replace

from judge.hand import ALL_CPUS, MACHINE, Edge, node, pod, put, world
from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.device import Device
from placer_models.device_share import DeviceShare
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, Resources
from placer_models.policy import QosClass

LS = QosClass.LS
TEN_BYTES = replace(
    MACHINE,
    devices=tuple(replace(d, memory_bytes=10 if d.type == "gpu" else 0) for d in MACHINE.devices),
)
NODES = [node(machine=TEN_BYTES)]


def share(
    percent: int | None = None, memory: int | None = None, ratio: int | None = None
) -> DeviceShare:
    return DeviceShare(percent, memory, ratio)


def sharing(name: str, *shares: DeviceShare) -> Pod:
    """Return a pod that asks for these shares of GPUs."""
    requests = Resources(devices=tuple(DeviceRequest("gpu", 1, one) for one in shares))
    plain = pod(name, qos=LS)
    return replace(plain, spec=replace(plain.spec, containers=(Container("app", requests),)))


def beside_whole(name: str, one: DeviceShare) -> Pod:
    """Return a pod that asks for a GPU, and for a share of another."""
    shared = sharing(name, one)
    whole, (app,) = DeviceRequest("gpu", 1), shared.spec.containers
    both = replace(app, requests=Resources(devices=(whole, *app.requests.devices)))
    return replace(shared, spec=replace(shared.spec, containers=(both,)))


def holds(name: str, shares: dict[int, DeviceShare | None]) -> PodPlacement:
    """Return the pod with shares of GPUs, by minor."""
    grants = tuple(DeviceGrant("gpu", minor, share=one) for minor, one in shares.items())
    return replace(put(name, ALL_CPUS), devices=grants)


HALF = share(50, None, 50)
A_BIT_MORE = share(51, None, 50)


def amounts(space: int, queues: int = 0) -> DeviceShare:
    """Return a share of a disk: so much space, and maybe queues."""
    asked = [DeviceQuantity("queues", queues)] if queues else []
    return DeviceShare(capacity=(*asked, DeviceQuantity("space", space, DeviceQuantityUnit.BYTES)))


def storing(name: str, *shares: DeviceShare) -> Pod:
    """Return a pod that asks for these shares of disks."""
    requests = Resources(devices=tuple(DeviceRequest("disk", 1, one) for one in shares))
    plain = pod(name, qos=LS)
    return replace(plain, spec=replace(plain.spec, containers=(Container("app", requests),)))


def stores(name: str, shares: dict[int, DeviceShare | None]) -> PodPlacement:
    """Return the pod with shares of disks, by minor."""
    grants = tuple(DeviceGrant("disk", minor, share=one) for minor, one in shares.items())
    return replace(put(name, ALL_CPUS), devices=grants)


DISK = Device(
    "disk",
    0,
    memory_bytes=0,
    capacity=(DeviceQuantity("queues", 8), DeviceQuantity("space", 10, DeviceQuantityUnit.BYTES)),
)
"""Ten bytes of space, and eight queues."""

NODE_OF_DISKS = [
    node(machine=replace(MACHINE, devices=(DISK, replace(DISK, minor=1), *MACHINE.devices)))
]

QUANTITY_EDGES = {
    "device-share: a quantity of a device is given out once (B1)": Edge(
        world(storing("a", amounts(6)), storing("b", amounts(4)), nodes=NODE_OF_DISKS),
        good=[stores("a", {0: amounts(6)}), stores("b", {0: amounts(4)})],
        bad=[stores("a", {0: amounts(6)}), stores("b", {0: amounts(5)})],
        bad_world=world(storing("a", amounts(6)), storing("b", amounts(5)), nodes=NODE_OF_DISKS),
    ),
    "device-share: each of several quantities of one device has to do": Edge(
        world(storing("a", amounts(1, 4)), storing("b", amounts(1, 4)), nodes=NODE_OF_DISKS),
        good=[stores("a", {0: amounts(1, 4)}), stores("b", {0: amounts(1, 4)})],
        bad=[stores("a", {0: amounts(1, 4)}), stores("b", {0: amounts(1, 5)})],
        bad_world=world(
            storing("a", amounts(1, 4)), storing("b", amounts(1, 5)), nodes=NODE_OF_DISKS
        ),
    ),
    "device-share: two devices with enough together are not one with enough (B11)": Edge(
        world(
            storing("a", amounts(6)),
            nodes=NODE_OF_DISKS,
            running=[(storing("r", amounts(5)), stores("r", {0: amounts(5)}))],
        ),
        good=stores("a", {1: amounts(6)}),
        bad=stores("a", {0: amounts(6)}),
    ),
    "device-share: a percent of a disk is of all that it has": Edge(
        world(storing("a", DeviceShare(50)), storing("b", amounts(5, 4)), nodes=NODE_OF_DISKS),
        good=[stores("a", {0: DeviceShare(50)}), stores("b", {0: amounts(5, 4)})],
        bad=[stores("a", {0: DeviceShare(50)}), stores("b", {0: amounts(5, 5)})],
        bad_world=world(
            storing("a", DeviceShare(50)), storing("b", amounts(5, 5)), nodes=NODE_OF_DISKS
        ),
    ),
    "device-share: the amount held is the one asked for": Edge(
        world(storing("a", amounts(3)), nodes=NODE_OF_DISKS),
        good=stores("a", {0: amounts(3)}),
        bad=stores("a", {0: amounts(2)}),
    ),
    "device-share: no device gives what it does not have": Edge(
        world(storing("a", amounts(10, 8)), nodes=NODE_OF_DISKS),
        good=stores("a", {1: amounts(10, 8)}),
        bad=stores("a", {1: amounts(10, 9)}),
        bad_world=world(storing("a", amounts(10, 9)), nodes=NODE_OF_DISKS),
    ),
    "device-exclusive: a whole disk is not shared": Edge(
        world(storing("a", amounts(1)), pod("b", qos=LS), nodes=NODE_OF_DISKS),
        good=[stores("a", {0: amounts(1)}), put("b", ALL_CPUS)],
        bad=[stores("a", {0: amounts(1)}), stores("b", {0: None})],
        bad_world=world(
            storing("a", amounts(1)),
            replace(
                plain := pod("b", qos=LS),
                spec=replace(
                    plain.spec,
                    containers=(Container("app", Resources(devices=(DeviceRequest("disk", 1),))),),
                ),
            ),
            nodes=NODE_OF_DISKS,
        ),
    ),
}

SHARE_EDGES = {
    **QUANTITY_EDGES,
    "device-share: the compute of a device is given out once": Edge(
        world(sharing("a", HALF), sharing("b", HALF), nodes=NODES),
        good=[holds("a", {0: HALF}), holds("b", {0: HALF})],
        bad=[holds("a", {0: A_BIT_MORE}), holds("b", {0: HALF})],
        bad_world=world(sharing("a", A_BIT_MORE), sharing("b", HALF), nodes=NODES),
    ),
    "device-share: the memory of a device is given out once": Edge(
        world(sharing("a", share(1, 6)), sharing("b", share(1, 4)), nodes=NODES),
        good=[holds("a", {0: share(1, 6)}), holds("b", {0: share(1, 4)})],
        bad=[holds("a", {0: share(1, 6)}), holds("b", {0: share(1, 5)})],
        bad_world=world(sharing("a", share(1, 6)), sharing("b", share(1, 5)), nodes=NODES),
    ),
    "device-share: percent of memory are exact, to less than a byte": Edge(
        world(sharing("a", share(1, 6)), sharing("b", share(1, None, 40)), nodes=NODES),
        good=[holds("a", {0: share(1, 6)}), holds("b", {0: share(1, None, 40)})],
        bad=[holds("a", {0: share(1, 6)}), holds("b", {0: share(1, 4, 41)})],
        bad_world=world(sharing("a", share(1, 6)), sharing("b", share(1, None, 41)), nodes=NODES),
    ),
    "device-share: running pods keep their shares": Edge(
        world(
            sharing("a", HALF), running=[(sharing("r", HALF), holds("r", {0: HALF}))], nodes=NODES
        ),
        good=holds("a", {0: HALF}),
        bad=holds("a", {0: A_BIT_MORE}),
        bad_world=world(
            sharing("a", A_BIT_MORE),
            running=[(sharing("r", HALF), holds("r", {0: HALF}))],
            nodes=NODES,
        ),
    ),
    "device-share: a share is the one that is asked for": Edge(
        world(sharing("a", HALF), nodes=NODES),
        good=holds("a", {0: share(50, 5, 50)}),
        bad=holds("a", {0: share(50, 4, 40)}),
    ),
    "device-share: one share held twice is not two that are asked for": Edge(
        world(sharing("a", share(10, 1), share(20, 1)), nodes=NODES),
        good=holds("a", {0: share(20, 1), 1: share(10, 1)}),
        bad=holds("a", {0: share(10, 1), 1: share(10, 1)}),
    ),
    "device-share: a whole device beside a share is not one": Edge(
        world(beside_whole("a", HALF), nodes=NODES),
        good=holds("a", {0: None, 1: HALF}),
        bad=holds("a", {0: None, 1: A_BIT_MORE}),
    ),
    "device-share: running shares that no device can hold are not blamed on who is new": Edge(
        world(
            sharing("a", HALF), running=[(sharing("r", share(1, 1)), holds("r", {0: share(1, 1)}))]
        ),
        good=holds("a", {1: HALF}),
        bad=holds("a", {1: share(1, 1)}),
        bad_world=world(sharing("a", share(1, 1))),
    ),
    "device-share: memory in bytes comes from a device that has so much": Edge(
        world(sharing("a", share(1, 10)), nodes=NODES),
        good=holds("a", {0: share(1, 10)}),
        bad=holds("a", {0: share(1, 11)}),
        bad_world=world(sharing("a", share(1, 11)), nodes=NODES),
    ),
    "device-share: memory in bytes does not come from a device of unknown memory": Edge(
        world(sharing("a", HALF)),
        good=holds("a", {0: HALF}),
        bad=holds("a", {0: share(1, 1)}),
        bad_world=world(sharing("a", share(1, 1))),
    ),
    "device-exclusive: a whole device is not shared": Edge(
        world(sharing("a", HALF), pod("b", gpus=1, qos=LS), nodes=NODES),
        good=[holds("a", {0: HALF}), put("b", ALL_CPUS, gpus=[1])],
        bad=[holds("a", {0: HALF}), put("b", ALL_CPUS, gpus=[0])],
    ),
    "device-exclusive: the shares of a pod are on different devices": Edge(
        world(sharing("a", share(10, 1), share(20, 1)), nodes=NODES),
        good=holds("a", {0: share(10, 1), 1: share(20, 1)}),
        bad=replace(
            holds("a", {}),
            devices=(
                DeviceGrant("gpu", 0, share=share(10, 1)),
                DeviceGrant("gpu", 0, share=share(20, 1)),
            ),
        ),
    ),
    "device-count: who asks for a share does not get the whole device": Edge(
        world(sharing("a", HALF), nodes=NODES),
        good=holds("a", {0: HALF}),
        bad=holds("a", {0: None}),
    ),
    "device-share: running pods may hold more than there is; who adds to it is blamed": Edge(
        world(
            sharing("a", HALF),
            nodes=NODES,
            running=[
                (sharing("r", HALF), holds("r", {0: HALF})),
                (sharing("s", A_BIT_MORE), holds("s", {0: A_BIT_MORE})),
            ],
        ),
        good=holds("a", {1: HALF}),
        bad=holds("a", {0: HALF}),
    ),
    "device-exclusive: nor is one that a running pod has whole": Edge(
        world(
            sharing("a", HALF),
            nodes=NODES,
            running=[(pod("r", gpus=1, qos=LS), put("r", ALL_CPUS, gpus=[0]))],
        ),
        good=holds("a", {1: HALF}),
        bad=holds("a", {0: HALF}),
    ),
}
