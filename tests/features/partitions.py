"""Partition tables and scopes of devices, put on tiny instances (D10)."""

from dataclasses import replace
from itertools import combinations
from random import Random

from features.feature import Feature, gangs_with_specs
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU, Device, PartitionTable
from placer_models.pod import Container, DeviceRequest, PodSpec
from placer_models.policy import PartitionPolicy, SameTypeDevicesScope
from tiny_machines import RDMA as NIC
from worlds import tiny_instance


def with_partitions(rng: Random, instance: Instance) -> Instance:
    """Give some nodes partition tables, machines switches and packages, and pods scopes."""
    machines = {id(node.machine): node.machine for node in instance.nodes}
    dressed = {key: _machine(rng, machine) for key, machine in machines.items()}
    nodes = tuple(_node(rng, replace(n, machine=dressed[id(n.machine)])) for n in instance.nodes)
    specs = {pod.spec for gang in instance.gangs for pod in gang.pods}
    of_spec = {spec: _spec(rng, spec) for spec in sorted(specs, key=repr)}
    gangs = gangs_with_specs(instance.gangs, of_spec.__getitem__)
    return replace(instance, nodes=nodes, gangs=gangs)


def partitioned(seed: int) -> Instance:
    """Draw a tiny instance with tables and scopes."""
    rng = Random(f"partitions-{seed}")
    return with_partitions(rng, tiny_instance(seed))


def _machine(rng: Random, machine: Machine) -> Machine:
    switches = rng.choice(((None,), ("a", "b"), ("a", "a", "b", None)))
    packages = rng.choice(((None,), (0, 1), (0, 0, 1, None)))
    more = [Device(NIC, minor, numa_node=None) for minor in range(rng.choice((0, 0, 2, 4)))]
    have = {(d.type, d.minor) for d in machine.devices}
    devices = tuple(
        replace(d, pcie_switch=rng.choice(switches), package=rng.choice(packages))
        for d in (*machine.devices, *(d for d in more if (d.type, d.minor) not in have))
    )
    gpus = [d.minor for d in devices if d.type == GPU]
    return replace(machine, devices=devices, partitions=_table(rng, gpus))


def _node(rng: Random, node: Node) -> Node:
    gpus = [d.minor for d in node.machine.devices if d.type == GPU]
    policy = rng.choice((None, *PartitionPolicy, *PartitionPolicy))
    own = _table(rng, gpus) if rng.random() < 0.2 else None
    if not (node.machine.partitions if own is None else own):
        policy = None  # a file would not have it
    return replace(node, partitions=own, partition_policy=policy)


def _table(rng: Random, gpus: list[int]) -> PartitionTable:
    """Draw halves of halves, as fabric managers have them, or any sets."""
    if rng.random() < 0.5:
        order = rng.sample(gpus, len(gpus))
        found = {tuple(sorted(order[i : i + n])) for n in (1, 2, 4) for i in range(0, len(gpus), n)}
    else:
        every = [s for n in range(1, len(gpus) + 1) for s in combinations(gpus, n)]
        found = {part for part in every if rng.random() < 0.6}
    return tuple(sorted(found - {()}, key=lambda part: (len(part), part)))


def _spec(rng: Random, spec: PodSpec) -> PodSpec:
    nics = DeviceRequest(NIC, rng.choice((1, 2, 2, 3)))
    spec = replace(spec, containers=tuple(_with_nics(c, nics) for c in spec.containers))
    scopes = {
        request.type: rng.choice(tuple(SameTypeDevicesScope))
        for request in spec.requests.devices
        if rng.random() < (0.7 if request.count > 1 else 0.2)
    }
    return replace(spec, scopes=tuple(scopes.items()))


def _with_nics(container: Container, nics: DeviceRequest) -> Container:
    """Return the container with so many NICs, if it asks for any."""
    asked = container.requests.devices
    devices = tuple(nics if request.type == NIC else request for request in asked)
    return replace(container, requests=replace(container.requests, devices=devices))


FEATURE = Feature("partitions", with_partitions)
