"""The edges of the rule about virtual functions.

The machine here has two NICs: NIC 0 has the virtual functions 0 and 1 of kind a and 2 of kind b,
NIC 1 has none.
"""

from dataclasses import replace

from judge.hand import ALL_CPUS, MACHINE, Edge, node, pod, put, world
from placer_models.device import Device, FunctionSelector, VirtualFunction
from placer_models.device_share import DeviceShare
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, Resources
from placer_models.policy import QosClass

FUNCTIONS = tuple(
    VirtualFunction(minor, f"0000:1f:00.{minor}", (("kind", kind),))
    for minor, kind in enumerate("aab")
)
WITH_FUNCTIONS = replace(
    MACHINE,
    devices=(
        *(d for d in MACHINE.devices if d.type == "gpu"),
        Device("rdma", 0, numa_node=0, virtual_functions=FUNCTIONS),
        Device("rdma", 1, numa_node=1),
    ),
)
SHARE = DeviceShare(percent=1)
OF_A: FunctionSelector = (("kind", ("a",)),)


def sharing(name: str, wish: FunctionSelector | None = OF_A) -> Pod:
    """Return a pod that takes one percent of a NIC, with a virtual function if it wants one."""
    one = pod(name, qos=QosClass.LS)
    requests = Resources(devices=(DeviceRequest("rdma", 1, SHARE),))
    functions = () if wish is None else (("rdma", wish),)
    containers = (Container(one.spec.containers[0].name, requests),)
    return replace(one, spec=replace(one.spec, containers=containers, functions=functions))


def wanting_all(name: str) -> Pod:
    """Return a pod that takes a NIC whole, though it names virtual functions."""
    one = pod(name, nics=1, qos=QosClass.LS)
    return replace(one, spec=replace(one.spec, functions=(("rdma", OF_A),)))


def held(name: str, *functions: int, nic: int = 0) -> PodPlacement:
    """Return the pod with a share of a NIC and virtual functions of it."""
    grant = DeviceGrant("rdma", nic, share=SHARE, vfs=functions)
    return replace(put(name, ALL_CPUS), devices=(grant,))


HERE = [node(machine=WITH_FUNCTIONS)]

FUNCTION_EDGES = {
    "device-functions: a share that comes with a virtual function has one": Edge(
        world(sharing("a"), nodes=HERE), good=held("a", 0), bad=held("a")
    ),
    "device-functions: one, not two": Edge(
        world(sharing("a"), nodes=HERE), good=held("a", 1), bad=held("a", 0, 1)
    ),
    "device-functions: with the labels that are wanted": Edge(
        world(sharing("a"), nodes=HERE), good=held("a", 1), bad=held("a", 2)
    ),
    "device-functions: any will do where no labels are wanted": Edge(
        world(sharing("a", ()), nodes=HERE), good=held("a", 2), bad=held("a", 3)
    ),
    "device-functions: the device has it": Edge(
        world(sharing("a", ()), nodes=HERE), good=held("a", 0), bad=held("a", 0, nic=1)
    ),
    "device-functions: a plain share comes with none": Edge(
        world(sharing("a", None), nodes=HERE), good=held("a", nic=1), bad=held("a", 0)
    ),
    "device-functions: a virtual function has one holder": Edge(
        world(sharing("a"), sharing("b"), nodes=HERE),
        good=[held("a", 0), held("b", 1)],
        bad=[held("a", 1), held("b", 1)],
    ),
    "device-functions: running pods keep theirs": Edge(
        world(sharing("a"), nodes=HERE, running=[(sharing("r"), held("r", 0))]),
        good=held("a", 1),
        bad=held("a", 0),
    ),
    (
        "device-functions: who is new is not blamed for a virtual function "
        "that two running pods hold"
    ): Edge(
        world(
            sharing("a"),
            nodes=HERE,
            running=[(sharing("r"), held("r", 0)), (sharing("s"), held("s", 0))],
        ),
        good=held("a", 1),
        bad=held("a", 0),
    ),
    "device-functions: a whole device comes with none, whatever its pod wants of shares": Edge(
        world(wanting_all("a"), nodes=HERE),
        good=replace(put("a", ALL_CPUS), devices=(DeviceGrant("rdma", 0),)),
        bad=replace(put("a", ALL_CPUS), devices=(DeviceGrant("rdma", 0, vfs=(0,)),)),
    ),
}
