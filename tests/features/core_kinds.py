"""Worlds on machines that mix kinds of cores."""

from dataclasses import replace
from random import Random

from features.feature import Feature
from placer_models.cluster import Instance, Machine
from placer_models.policy import HybridCoreKind
from worlds import tiny_instance


def with_core_kinds(rng: Random, instance: Instance) -> Instance:
    """Make some cores efficiency cores, however many threads they have."""
    return replace(
        instance,
        nodes=tuple(replace(node, machine=_of_kinds(rng, node.machine)) for node in instance.nodes),
    )


def _of_kinds(rng: Random, machine: Machine) -> Machine:
    efficient = {core for core in machine.topology.cores if rng.random() < 0.5}
    cpus = tuple(
        replace(
            cpu,
            kind=HybridCoreKind.EFFICIENCY if cpu.core in efficient else HybridCoreKind.PERFORMANCE,
        )
        for cpu in machine.topology.cpus
    )
    return replace(machine, topology=replace(machine.topology, cpus=cpus))


def kinds_instance(seed: int) -> Instance:
    """Draw a tiny instance on machines that mix kinds of cores."""
    return with_core_kinds(Random(f"kinds-{seed}"), tiny_instance(seed))


FEATURE = Feature("core_kinds", with_core_kinds)
