"""The edges of the rule about devices side by side.

The machine here has GPUs 0 and 1 below switch a, 2 below b, 3 below no switch that is known;
NICs 0 and 1 below a, 2 below b, 3 below c.
"""

from dataclasses import replace

from judge.hand import ALL_CPUS, MACHINE, Edge, node, pod, put, world
from placer_models.cluster import Machine
from placer_models.device import Device
from placer_models.pod import JointDevicesRequest, Pod
from placer_models.policy import JointDevicesScope, QosClass, RequiredOrPreferred


def switched(gpus: str, nics: str, *, roots: bool = False) -> Machine:
    """Return the machine with a letter a device: its PCIe switch (or root); - is not known."""
    field = "pcie_root" if roots else "pcie_switch"
    keys = [("gpu", i, key) for i, key in enumerate(gpus)]
    keys += [("rdma", i, key) for i, key in enumerate(nics)]
    return replace(
        MACHINE,
        devices=tuple(
            replace(
                Device(kind, minor, numa_node=minor // 2), **{field: None if key == "-" else key}
            )
            for kind, minor, key in keys
        ),
    )


def side_by_side(
    gpus: int,
    nics: int,
    scope: JointDevicesScope = JointDevicesScope.SAME_PCIE,
    strength: RequiredOrPreferred = RequiredOrPreferred.REQUIRED,
) -> Pod:
    """Return a pod that wants its GPUs and NICs together."""
    one = pod("a", gpus=gpus, nics=nics, qos=QosClass.LS)
    return replace(
        one, spec=replace(one.spec, joint=JointDevicesRequest(("gpu", "rdma"), scope, strength))
    )


HERE = [node(machine=switched("aab-", "aabc"))]
PREFERRED = RequiredOrPreferred.PREFERRED
NUMA = JointDevicesScope.SAME_NUMA_NODE

JOINT_EDGES = {
    "joint: a GPU and a NIC below one switch": Edge(
        world(side_by_side(1, 1), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[1], nics=[0]),
        bad=put("a", ALL_CPUS, gpus=[1], nics=[2]),
    ),
    "joint: each switch of the GPUs gives a NIC": Edge(
        world(side_by_side(3, 2), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[0, 1, 2], nics=[0, 2]),
        bad=put("a", ALL_CPUS, gpus=[0, 1, 2], nics=[0, 1]),
    ),
    "joint: each switch of the NICs gives a GPU": Edge(
        world(side_by_side(2, 2), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[0, 1], nics=[0, 1]),
        bad=put("a", ALL_CPUS, gpus=[0, 1], nics=[0, 2]),
    ),
    "joint: two devices of no known switch are not beside each other": Edge(
        world(side_by_side(1, 1), nodes=[node(machine=switched("aab-", "aab-"))]),
        good=put("a", ALL_CPUS, gpus=[2], nics=[2]),
        bad=put("a", ALL_CPUS, gpus=[3], nics=[3]),
    ),
    "joint: who asks for one of the types alone has it anywhere": Edge(
        world(side_by_side(1, 0), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[3]),
        bad=put("a", ALL_CPUS, gpus=[3], nics=[0]),
        bad_world=world(side_by_side(1, 1), nodes=HERE),
    ),
    "joint: a device of no known switch is beside nothing": Edge(
        world(side_by_side(1, 1), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[2], nics=[2]),
        bad=put("a", ALL_CPUS, gpus=[3], nics=[2]),
    ),
    "joint: a wish refuses nothing": Edge(
        world(side_by_side(1, 1, strength=PREFERRED), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[3], nics=[3]),
        bad_world=world(side_by_side(1, 1), nodes=HERE),
    ),
    "joint: fewer NICs than switches, even on the empty node: each NIC has a GPU beside it": Edge(
        world(side_by_side(3, 1), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[0, 1, 2], nics=[2]),
        bad=put("a", ALL_CPUS, gpus=[0, 1, 2], nics=[3]),
    ),
    "joint: fewer GPUs than switches, even on the empty node: each GPU has a NIC beside it": Edge(
        world(side_by_side(1, 3), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[2], nics=[0, 1, 2]),
        bad=put("a", ALL_CPUS, gpus=[2], nics=[0, 1, 3]),
    ),
    "joint: what is broken does not count for what the empty node could give": Edge(
        world(side_by_side(2, 1), nodes=[node(machine=HERE[0].machine, broken_gpus=[0])]),
        good=put("a", ALL_CPUS, gpus=[1, 2], nics=[0]),
        bad_world=world(side_by_side(2, 1), nodes=HERE),
    ),
    "joint: where a type names no switch, the PCIe roots count": Edge(
        world(side_by_side(1, 1), nodes=[node(machine=switched("aabb", "ab", roots=True))]),
        good=put("a", ALL_CPUS, gpus=[2], nics=[1]),
        bad=put("a", ALL_CPUS, gpus=[1], nics=[1]),
    ),
    "joint: SameNUMANode: below any switch of the NUMA node": Edge(
        world(side_by_side(1, 1, NUMA), nodes=HERE),
        good=put("a", ALL_CPUS, gpus=[3], nics=[2]),
        bad=put("a", ALL_CPUS, gpus=[3], nics=[1]),
    ),
}
