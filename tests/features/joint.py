"""Tiny instances whose pods want devices side by side."""

from dataclasses import replace
from random import Random

from features.feature import Feature, gangs_with_specs
from placer_models.cluster import Instance, Machine
from placer_models.device import GPU, Device
from placer_models.pod import Container, DeviceRequest, JointDevicesRequest, PodSpec
from placer_models.policy import JointDevicesScope, RequiredOrPreferred
from tiny_machines import RDMA
from worlds import tiny_instance

SWITCHES = ("a", "b", "c", None)
"""Keys of PCIe switches and roots; some devices do not know theirs."""


def joint_instance(seed: int) -> Instance:
    """Draw a tiny instance in which pods want devices side by side."""
    return with_joint(Random(f"joint-{seed}"), tiny_instance(seed))


def with_joint(rng: Random, instance: Instance) -> Instance:
    """Give the machines switches and a few more NICs, and pods of several types the wish."""
    switched: dict[int, Machine] = {}
    for node in instance.nodes:
        if id(node.machine) not in switched:
            switched[id(node.machine)] = _switched(rng, node.machine)
    nodes = tuple(replace(node, machine=switched[id(node.machine)]) for node in instance.nodes)
    gangs = gangs_with_specs(instance.gangs, lambda spec: _joint(rng, spec))
    return replace(instance, nodes=nodes, gangs=gangs)


def _switched(rng: Random, machine: Machine) -> Machine:
    """Put the devices below few switches; some machines know roots only."""
    numa_ids = [numa.id for numa in machine.topology.numa_nodes]
    nics = [d for d in machine.devices if d.type == RDMA]
    wanted = rng.choice((1, 2, 3, 3, 4))
    more = [Device(RDMA, i, numa_node=rng.choice(numa_ids)) for i in range(len(nics), wanted)]
    keys = rng.sample(SWITCHES, rng.choice((2, 2, 3, 4)))
    blind = rng.choice((None, None, None, GPU, RDMA))
    return replace(
        machine,
        devices=tuple(
            replace(
                device,
                pcie_switch=None if device.type == blind else rng.choice(keys),
                pcie_root=rng.choice(keys),
            )
            for device in (*machine.devices, *more)
        ),
    )


def _joint(rng: Random, spec: PodSpec) -> PodSpec:
    """Let the pod ask for NICs beside its GPUs."""
    gpus = spec.requests.count_of(GPU)
    if not gpus or rng.random() < 0.15:
        return spec
    nics = rng.choice((1, 1, 2, 2, 3))
    main, *others = spec.containers
    if not any(d.type == GPU for d in main.requests.devices):
        return spec
    requests = replace(
        main.requests,
        devices=(
            *(d for d in main.requests.devices if d.type != RDMA),
            DeviceRequest(RDMA, nics),
        ),
    )
    return replace(
        spec,
        containers=(Container(main.name, requests, main.role), *others),
        joint=JointDevicesRequest(
            tuple(rng.sample((GPU, RDMA), 2)),
            rng.choice(
                (
                    JointDevicesScope.SAME_PCIE,
                    JointDevicesScope.SAME_PCIE,
                    JointDevicesScope.SAME_NUMA_NODE,
                )
            ),
            rng.choice(
                (
                    RequiredOrPreferred.REQUIRED,
                    RequiredOrPreferred.REQUIRED,
                    RequiredOrPreferred.PREFERRED,
                )
            ),
        ),
    )


FEATURE = Feature("joint", with_joint)
