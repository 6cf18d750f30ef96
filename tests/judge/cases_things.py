"""The edges of the rules about memory, devices and NUMA alignment."""

from dataclasses import replace

from judge.hand import ALL_CPUS, MACHINE, Edge, node, pod, put, with_id, world
from placer_models.policy import AlignmentPolicy, QosClass

LS = QosClass.LS
NONE, SINGLE = AlignmentPolicy.NONE, AlignmentPolicy.SINGLE_NUMA_NODE
RESTRICTED, BEST_EFFORT = AlignmentPolicy.RESTRICTED, AlignmentPolicy.BEST_EFFORT

ONE_BYTE = (pod("r", memory=1, qos=LS), put("r", ALL_CPUS, memory={0: 1}))

MEMORY_EDGES = {
    "memory: a pod holds all the memory it asks for": Edge(
        world(pod("a", memory=3, qos=LS)),
        good=put("a", ALL_CPUS, memory={0: 2, 1: 1}),
        bad=put("a", ALL_CPUS, memory={0: 1, 1: 1}),
    ),
    "memory: a pod holds no more memory than it asks for": Edge(
        world(pod("a", memory=3, qos=LS)),
        good=put("a", ALL_CPUS, memory={0: 3}),
        bad=put("a", ALL_CPUS, memory={0: 4}),
    ),
    "memory: a NUMA node gives no more than it has": Edge(
        world(pod("a", memory=3, qos=LS), pod("b", memory=3, qos=LS)),
        good=[put("a", ALL_CPUS, memory={0: 3}), put("b", ALL_CPUS, memory={0: 1, 1: 2})],
        bad=[put("a", ALL_CPUS, memory={0: 3}), put("b", ALL_CPUS, memory={0: 2, 1: 1})],
    ),
    "memory: running pods keep their memory": Edge(
        world(pod("a", memory=4, qos=LS), running=[ONE_BYTE]),
        good=put("a", ALL_CPUS, memory={0: 3, 1: 1}),
        bad=put("a", ALL_CPUS, memory={0: 4}),
    ),
    "memory: who takes nothing of a NUMA node that running pods overfill is not blamed": Edge(
        world(
            pod("a", memory=1, qos=LS),
            running=[(pod("r", memory=5, qos=LS), put("r", ALL_CPUS, memory={0: 5}))],
        ),
        good=put("a", ALL_CPUS, memory={0: 0, 1: 1}),
        bad=put("a", ALL_CPUS, memory={0: 1}),
    ),
    "memory: a NUMA node that the machine has not gives nothing": Edge(
        world(pod("a", memory=1, qos=LS)),
        good=put("a", ALL_CPUS, memory={1: 1}),
        bad=put("a", ALL_CPUS, memory={2: 1}),
    ),
    "memory: no amount is below 0": Edge(
        world(pod("a", memory=2, qos=LS)),
        good=put("a", ALL_CPUS, memory={0: 2, 1: 0}),
        bad=put("a", ALL_CPUS, memory={0: 3, 1: -1}),
    ),
}

ONE_GPU = pod("a", gpus=1, qos=LS)
BROKEN = replace(MACHINE, devices=tuple(replace(d, healthy=d.minor != 2) for d in MACHINE.devices))

DEVICE_EDGES = {
    "device-known: the device is on the node": Edge(
        world(ONE_GPU), good=put("a", ALL_CPUS, gpus=[3]), bad=put("a", ALL_CPUS, gpus=[4])
    ),
    "device-known: the id is the device's own": Edge(
        world(ONE_GPU),
        good=with_id(put("a", ALL_CPUS, gpus=[3]), "GPU-3"),
        bad=with_id(put("a", ALL_CPUS, gpus=[3]), "GPU-2"),
    ),
    "device-health: a device that broke on this node is not given out": Edge(
        world(ONE_GPU, nodes=[node(broken_gpus=[1])]),
        good=put("a", ALL_CPUS, gpus=[2]),
        bad=put("a", ALL_CPUS, gpus=[1]),
    ),
    (
        "device-health: a broken NIC beside a GPU in MIG mode of the same number is not given out"
    ): Edge(
        world(pod("a", nics=1, qos=LS), nodes=[replace(node(), mig=((0, "A100-40GB"),))]),
        good=put("a", ALL_CPUS, nics=[0]),
        bad_world=world(
            pod("a", nics=1, qos=LS),
            nodes=[replace(node(), mig=((0, "A100-40GB"),), unhealthy=frozenset({("rdma", 0)}))],
        ),
    ),
    "device-health: a device that is broken on such machines is not given out": Edge(
        world(ONE_GPU, nodes=[node(machine=BROKEN)]),
        good=put("a", ALL_CPUS, gpus=[1]),
        bad=put("a", ALL_CPUS, gpus=[2]),
    ),
    "device-exclusive: two pods hold different devices": Edge(
        world(ONE_GPU, pod("b", gpus=2, qos=LS)),
        good=[put("a", ALL_CPUS, gpus=[0]), put("b", ALL_CPUS, gpus=[1, 2])],
        bad=[put("a", ALL_CPUS, gpus=[1]), put("b", ALL_CPUS, gpus=[1, 2])],
    ),
    "device-exclusive: a pod holds a device once": Edge(
        world(pod("a", gpus=2, qos=LS)),
        good=put("a", ALL_CPUS, gpus=[0, 1]),
        bad=put("a", ALL_CPUS, gpus=[1, 1]),
    ),
    "device-exclusive: running pods keep their devices": Edge(
        world(ONE_GPU, running=[(pod("r", gpus=1, qos=LS), put("r", ALL_CPUS, gpus=[0]))]),
        good=put("a", ALL_CPUS, gpus=[1]),
        bad=put("a", ALL_CPUS, gpus=[0]),
    ),
    "device-exclusive: who is new is not blamed for a device that two running pods hold": Edge(
        world(
            ONE_GPU,
            running=[(pod(name, gpus=1, qos=LS), put(name, ALL_CPUS, gpus=[0])) for name in "rs"],
        ),
        good=put("a", ALL_CPUS, gpus=[1]),
        bad=put("a", ALL_CPUS, gpus=[0]),
    ),
    "device-count: a pod holds as many as it asks for": Edge(
        world(pod("a", gpus=2, qos=LS)),
        good=put("a", ALL_CPUS, gpus=[0, 1]),
        bad=put("a", ALL_CPUS, gpus=[0]),
    ),
    "device-count: a pod holds nothing it does not ask for": Edge(
        world(ONE_GPU),
        good=put("a", ALL_CPUS, gpus=[0]),
        bad=put("a", ALL_CPUS, gpus=[0], nics=[0]),
    ),
}


HOMELESS = replace(
    MACHINE,
    devices=tuple(replace(d, numa_node=None) if d.minor == 3 else d for d in MACHINE.devices),
)

ALIGNMENT_EDGES = {
    "alignment: the policies of pod and node agree, or one is not set": Edge(
        world(pod("a", 1, alignment=SINGLE), nodes=[node(alignment=NONE)]),
        good=put("a", "0"),
        bad_world=world(pod("a", 1, alignment=SINGLE), nodes=[node(alignment=BEST_EFFORT)]),
    ),
    "alignment: BestEffort refuses nothing": Edge(
        world(pod("a", 2, memory=2), nodes=[node(alignment=BEST_EFFORT)]),
        good=put("a", "0,8", memory={1: 2}),
        bad_world=world(pod("a", 2, memory=2), nodes=[node(alignment=RESTRICTED)]),
    ),
    "alignment: SingleNUMANode: CPUs on one NUMA node": Edge(
        world(pod("a", 2, alignment=SINGLE)), good=put("a", "1-2"), bad=put("a", "3-4")
    ),
    "alignment: SingleNUMANode of the node: memory where the CPUs are": Edge(
        world(pod("a", 1, memory=2), nodes=[node(alignment=SINGLE)]),
        good=put("a", "3", memory={0: 2}),
        bad=put("a", "3", memory={0: 1, 1: 1}),
    ),
    "alignment: SingleNUMANode: devices of all types where the rest is": Edge(
        world(pod("a", gpus=1, nics=1, qos=LS, alignment=SINGLE)),
        good=put("a", "0-3", gpus=[1], nics=[0]),
        bad=put("a", "0-7", gpus=[2], nics=[0]),
    ),
    "alignment: SingleNUMANode: CPUs of no NUMA node are not of one": Edge(
        world(pod("a", 1, alignment=SINGLE)), good=put("a", "7"), bad=put("a", "8")
    ),
    "alignment: SingleNUMANode: a device of no NUMA node is anywhere": Edge(
        world(pod("a", 1, gpus=1, alignment=SINGLE), nodes=[node(machine=HOMELESS)]),
        good=put("a", "0", gpus=[3]),
        bad=put("a", "0", gpus=[2]),
    ),
    "alignment: SingleNUMANode: an LS pod is in the pool of one NUMA node": Edge(
        world(pod("a", 2, memory=1, qos=LS, alignment=SINGLE)),
        good=put("a", "4-7", memory={1: 1}),
        bad=put("a", "0-7", memory={1: 1}),
    ),
    "alignment: Restricted: no more NUMA nodes than the request needs": Edge(
        world(pod("a", 4, alignment=RESTRICTED)), good=put("a", "0-3"), bad=put("a", "0-2,4")
    ),
    "alignment: Restricted: as many as the request needs, by what is allocatable": Edge(
        world(pod("a", 4, alignment=RESTRICTED), nodes=[node(reserved="0,4")]),
        good=put("a", "1-3,5"),
        bad_world=world(pod("a", 4, alignment=RESTRICTED), nodes=[node(reserved="0")]),
    ),
    "alignment: SingleNUMANode: what is none of a NUMA node's memory does not use it": Edge(
        world(pod("a", memory=1, qos=LS, alignment=SINGLE)),
        good=put("a", "0-3", memory={0: 1, 1: 0}),
        bad=put("a", "0-7", memory={0: 1, 1: 1}),
        bad_world=world(pod("a", memory=2, qos=LS, alignment=SINGLE)),
    ),
    "alignment: Restricted: the CPUs of a BE pod have a width, too": Edge(
        world(pod("a", 5, qos=QosClass.BE, alignment=RESTRICTED)),
        good=put("a", "0-7"),
        bad=put("a", "0-7", memory={1: 1}),
        bad_world=world(pod("a", 5, memory=1, qos=QosClass.BE, alignment=RESTRICTED)),
    ),
    "alignment: Restricted: what is not asked for has no width": Edge(
        world(pod("a", memory=5, alignment=RESTRICTED), pod("b", 5, alignment=RESTRICTED)),
        good=[put("a", memory={0: 4, 1: 1}), put("b", "1-5")],
        bad=put("a", memory={0: 3, 1: 1}),
        bad_world=world(pod("a", memory=4, alignment=RESTRICTED)),
    ),
    "alignment: Restricted: what is taken already does not widen it": Edge(
        world(
            pod("a", 2, alignment=RESTRICTED),
            running=[(pod("r", 3), put("r", "0-2")), (pod("s", 2), put("s", "4-5"))],
        ),
        good=put("a", "6-7"),
        bad=put("a", "3,6"),
    ),
    "alignment: Restricted: CPUs of no NUMA node are not used": Edge(
        world(pod("a", 5, alignment=RESTRICTED)), good=put("a", "0-4"), bad=put("a", "0-3,8")
    ),
    "alignment: Restricted: all resources need equally many": Edge(
        world(pod("a", 5, memory=5, alignment=RESTRICTED)),
        good=put("a", "0-4", memory={0: 4, 1: 1}),
        bad=put("a", "0-4", memory={0: 4}),
        bad_world=world(pod("a", 5, memory=4, alignment=RESTRICTED)),
    ),
    "alignment: Restricted: what no set of NUMA nodes could hold is refused": Edge(
        world(pod("a", 8, alignment=RESTRICTED)),
        good=put("a", "0-7"),
        bad=put("a", "0-8"),
        bad_world=world(pod("a", 9, alignment=RESTRICTED)),
    ),
    "alignment: Restricted: devices that broke need more NUMA nodes": Edge(
        world(pod("a", gpus=2, qos=LS, alignment=RESTRICTED), nodes=[node(broken_gpus=[0, 2])]),
        good=put("a", "0-7", gpus=[1, 3]),
        bad_world=world(
            pod("a", gpus=2, qos=LS, alignment=RESTRICTED), nodes=[node(broken_gpus=[2])]
        ),
    ),
    "alignment: Restricted: a device type with a device of no NUMA node has no width": Edge(
        world(
            pod("a", gpus=3, memory=4, qos=LS, alignment=RESTRICTED), nodes=[node(machine=HOMELESS)]
        ),
        good=put("a", "0-3", gpus=[0, 1, 3], memory={0: 4}),
        bad=put("a", "0-7", gpus=[0, 1, 2], memory={0: 4}),
    ),
    "alignment: Restricted: where no width is left, nothing is constrained": Edge(
        world(pod("a", gpus=2, qos=LS, alignment=RESTRICTED), nodes=[node(machine=HOMELESS)]),
        good=put("a", ALL_CPUS, gpus=[1, 2]),
        bad=put("a", "0-7", gpus=[1, 2], memory={0: 1}),
        bad_world=world(
            pod("a", gpus=2, memory=1, qos=LS, alignment=RESTRICTED), nodes=[node(machine=HOMELESS)]
        ),
    ),
}
