"""Simple nodes and pods, drawn at random, and pods that are not simple."""

from dataclasses import replace
from random import Random

from even_topologies import even_topology
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Machine, Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.machines.catalogue import load_machine
from placer_models.node_affinity import NodeAffinity, NodeTerm
from placer_models.pod import Container, DeviceRequest, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, NumaStrategy, QosClass
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.taints import Taint, TaintEffect, Toleration

KEEPS_OFF = Taint("team", "a", TaintEffect.NO_SCHEDULE)


def machine(cpus: int, gpus: int, *, memory: int = 64, numa_nodes: int = 1) -> Machine:
    topology = even_topology(cpus, *(memory // numa_nodes,) * numa_nodes, threads=2)
    devices = tuple(Device(GPU, minor, f"id-{minor}", memory_bytes=1000) for minor in range(gpus))
    return Machine(f"c{cpus}-g{gpus}", "", topology, devices)


MACHINES = machine(8, 4), machine(32, 8, memory=128), machine(16, 0), machine(8, 2)


def a_node(rng: Random, name: str) -> Node:
    """Return a simple node with some of the words that such nodes may have."""
    node = Node(name, rng.choice(MACHINES), labels=(("model", rng.choice("xy")),))
    if rng.random() < 0.3:
        node = replace(node, unhealthy=frozenset({(GPU, rng.randrange(4))}))
    if rng.random() < 0.2:
        node = replace(node, max_pods=rng.randint(1, 6))
    if rng.random() < 0.2:
        node = replace(node, reserved_cpus=frozenset({0, 1}), milli_per_cpu=1500)
    if rng.random() < 0.2:
        node = replace(node, unpooled_cpus=node.reserved_cpus | {2, 3, 4, 5})
    if rng.random() < 0.2:
        node = replace(node, taints=(KEEPS_OFF,))
    return replace(node, cordoned=rng.random() < 0.1)


def odd_machines() -> tuple[Machine, ...]:
    """Return machines inside which it matters where a pod is, real ones among them."""
    plain = machine(16, 4)
    others = Device("rdma", 0), Device("rdma", 1)
    return (
        machine(16, 4, numa_nodes=2),
        machine(16, 0, numa_nodes=2),
        replace(plain, devices=(*plain.devices, *others)),
        replace(plain, devices=tuple(replace(d, model="AB"[d.minor // 2]) for d in plain.devices)),
        replace(
            plain,
            devices=tuple(replace(d, pcie_switch=str(d.minor // 2)) for d in plain.devices),
        ),
        load_machine("dgx-a100"),
        load_machine("minsky"),
    )


ODD_MACHINES = odd_machines()


def an_odd_node(rng: Random, name: str) -> Node:
    """Return a node of which numbers do not say all."""
    node = replace(a_node(rng, name), unhealthy=frozenset(), machine=rng.choice(ODD_MACHINES))
    if rng.random() < 0.2:
        return replace(a_node(rng, name), alignment=rng.choice(list(AlignmentPolicy)))
    if rng.random() < 0.2:
        node = replace(node, alignment=rng.choice(list(AlignmentPolicy)))
    if rng.random() < 0.2:
        node = replace(node, numa_strategy=rng.choice(list(NumaStrategy)))
    return node


def devices_of(rng: Random) -> tuple[DeviceRequest, ...]:
    gpus = rng.choice((0, 1, 1, 1, 2, 4))
    if not gpus:
        return ()
    if gpus == 1 and rng.random() < 0.7:
        percent = rng.choice((5, 10, 25, 50, 70))
        return (DeviceRequest(GPU, 1, DeviceShare(percent, memory_percent=percent)),)
    return (DeviceRequest(GPU, gpus),)


def a_spec(rng: Random) -> PodSpec:
    """Return what a simple pod asks for."""
    requests = Resources(
        rng.choice((0, 500, 1000, 4000)), rng.choice((0, 1, 8)), devices=devices_of(rng)
    )
    spec = PodSpec((Container("main", requests),), labels=(("app", "simple"),))
    if rng.random() < 0.2:
        term = NodeTerm((LabelExpression("model", SelectorOperator.IN, ("x",)),))
        spec = replace(spec, node_affinity=NodeAffinity(required=(term,)))
    if rng.random() < 0.3:
        spec = replace(spec, tolerations=(Toleration("team", value="a"),))
    return spec


def an_odd_spec(rng: Random) -> PodSpec:
    """Return what a pod asks for that leaves more behind than numbers, or looks at more."""
    container = Container("main", Resources(2000, 1))
    part = DeviceRequest(GPU, 1, DeviceShare(20, memory_percent=40))
    return rng.choice(
        (
            PodSpec((container,), QosClass.LSR),
            PodSpec((container,), QosClass.LSE),
            PodSpec((container,), QosClass.BE),
            PodSpec((container,), alignment=AlignmentPolicy.SINGLE_NUMA_NODE),
            PodSpec((Container("main", Resources(1000, 1, devices=(part,))),)),
            PodSpec((container,), affinity=(AffinityTerm((("app", "simple"),), apart=True),)),
            PodSpec((container, replace(container, name="beside"))),
        )
    )
