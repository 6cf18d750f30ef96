"""Worlds and pods for exchanges between nodes: devices, shares, CPUs of pods' own."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from random import Random

from even_topologies import even_topology
from features.feature import Feature
from mixed_worlds import FEATURES as ALL_FEATURES
from placer.search.budget import SolveBudget
from placer.search.exchanges.placed import place_by_exchanges
from placer.search.options import SolveOptions
from placer_models.cluster import Instance, Machine
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.problem.problem import Choices, Problem
from worlds import tiny_instance

GIB = 2**30

WORK = SolveOptions(workers=1, seed=1, work_limit=1)


def named(names: str) -> tuple[Feature, ...]:
    """Return the features of these names, in this order."""
    by_name = {feature.name: feature for feature in ALL_FEATURES}
    return tuple(by_name[name] for name in names.split())


FEATURES = named(
    "mig numa partitions exclusivity burst device_choice device_strategy functions joint "
    "core_kinds localities node_binds shares numa_strategy amplification extended max_pods "
    "node_affinity taints"
)
"""Words of all families but those by which pods ask for other pods."""

RELATIONS = named("affinity topology_spread in_node_affinity host_ports network variants")
"""Words by which pods ask for other pods, or for other things on other nodes."""


def some_world(seed: int) -> Instance:
    """Return a tiny world with words of three families."""
    rng = Random(seed)
    return dressed(rng, tiny_instance(seed), rng.sample(FEATURES, 3))


def related_world(seed: int) -> Instance:
    """Return a tiny world with each gang twice: as it is, and so that pods may mind others."""
    rng = Random(f"related-{seed}")
    plain = tiny_instance(seed)
    related = dressed(rng, plain, rng.sample(RELATIONS, 2))
    gangs = tuple(
        replace(
            gang,
            name=f"plain-{gang.name}",
            pods=tuple(replace(pod, name=f"plain-{pod.name}") for pod in gang.pods),
        )
        for gang in plain.gangs
    )
    return replace(related, gangs=(*related.gangs, *gangs))


def dressed(rng: Random, world: Instance, features: Iterable[Feature]) -> Instance:
    for feature in features:
        with suppress(KeyError, ValueError):  # Some words exclude each other.
            world = feature.dress(rng, world)
    return world


def placed_points(problem: Problem, choices: Choices) -> list[int]:
    """Return what the pods count, level by level."""
    found = [0] * len(problem.priorities)
    for gang in problem.gangs:
        count = sum(pod in choices for pod in gang.pods)
        found[gang.level] += gang.weight * (gang.minimum + count if count else 0)
    return found


def proposed(problem: Problem, start: Choices) -> Choices | None:
    """Return what exchanges make of a start within a little work."""
    values = placed_points(problem, start)
    return place_by_exchanges(problem, start, values, [None] * len(values), SolveBudget(WORK), 1)


def gpu_machine(gpus: int, cpus: int = 16) -> Machine:
    return Machine(
        "gpus",
        "",
        even_topology(cpus, 64 * GIB),
        tuple(Device(GPU, i, memory_bytes=80 * GIB, numa_node=0) for i in range(gpus)),
    )


def asking(name: str, resources: Resources, *, priority: int = 0, **words: object) -> Gang:
    qos = QosClass.LSR if words else QosClass.LS
    spec = replace(PodSpec((Container("main", resources),), qos), **words)
    return Gang(name, "default", (Pod(name, "default", spec),), 1, priority=priority, lone=True)


def share_of_gpu(percent: int) -> tuple[DeviceRequest, ...]:
    if percent >= 100:
        return (DeviceRequest(GPU, percent // 100),)
    return (DeviceRequest(GPU, 1, DeviceShare(percent, memory_percent=percent)),)
