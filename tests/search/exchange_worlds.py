"""Worlds and pods for exchanges between nodes: devices, shares, CPUs of pods' own."""

from contextlib import suppress
from dataclasses import replace
from random import Random

from placer_models.cluster import Instance, Machine
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.problem import Choices, Problem
from placer_models.topology import Cpu, NumaNode, Topology
from spices_amplification import with_amplification
from spices_burst import spice_burst
from spices_device_choice import spice_device_choice
from spices_exclusivity import spice_apart
from spices_extended import with_extended
from spices_functions import spice_functions
from spices_joint import spice_joint
from spices_max_pods import with_max_pods
from spices_mig import mig_spice
from spices_node_affinity import with_node_affinity
from spices_node_cpus import spice_kinds, spice_localities, spice_node_binds, spice_strategies
from spices_numa import numa_spice
from spices_partitions import partitions
from spices_shares import spice as spice_shares
from spices_strategies import spice_device_strategies
from spices_taints import with_taints
from worlds import tiny_instance

GIB = 2**30

SPICES = (
    mig_spice,
    numa_spice,
    partitions,
    spice_apart,
    spice_burst,
    spice_device_choice,
    spice_device_strategies,
    spice_functions,
    spice_joint,
    spice_kinds,
    spice_localities,
    spice_node_binds,
    spice_shares,
    spice_strategies,
    with_amplification,
    with_extended,
    with_max_pods,
    with_node_affinity,
    with_taints,
)
"""Words of all families but those by which pods ask for other pods."""


def some_world(seed: int) -> Instance:
    """Return a tiny world with words of three families."""
    rng = Random(seed)
    world = tiny_instance(seed)
    for spice in rng.sample(SPICES, 3):
        with suppress(KeyError, ValueError):  # Some words exclude each other.
            world = spice(rng, world)
    return world


def placed_points(problem: Problem, choices: Choices) -> list[int]:
    """Return what the pods count, level by level."""
    found = [0] * len(problem.priorities)
    for gang in problem.gangs:
        count = sum(pod in choices for pod in gang.pods)
        found[gang.level] += gang.weight * (gang.minimum + count if count else 0)
    return found


def gpu_machine(gpus: int, cpus: int = 16) -> Machine:
    return Machine(
        "gpus",
        "",
        Topology("x86_64", tuple(Cpu(i, i, 0, 0) for i in range(cpus)), (NumaNode(0, 64 * GIB),)),
        tuple(Device(GPU, i, memory_bytes=80 * GIB, numa_node=0) for i in range(gpus)),
    )


def asking(name: str, resources: Resources, *, priority: int = 0, **words: object) -> Gang:
    qos = QosClass.LSR if words else QosClass.LS
    spec = replace(PodSpec((Container("main", resources),), qos), **words)  # type: ignore[arg-type]
    return Gang(name, "default", (Pod(name, "default", spec),), 1, priority=priority, lone=True)


def share_of_gpu(percent: int) -> tuple[DeviceRequest, ...]:
    if percent >= 100:
        return (DeviceRequest(GPU, percent // 100),)
    return (DeviceRequest(GPU, 1, DeviceShare(percent, memory_percent=percent)),)
