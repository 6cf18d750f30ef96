"""Worlds with packages and caches, of which pods and nodes would like few."""

from dataclasses import replace
from random import Random

from features.feature import Feature
from placer_models.cluster import Instance, Machine
from placer_models.pod import Gang
from placer_models.policy import CpuLocalityWish
from worlds import tiny_instance

WISHES = (
    (),
    (CpuLocalityWish.PACKAGE,),
    (CpuLocalityWish.LLC,),
    (CpuLocalityWish.LLC,),
    tuple(CpuLocalityWish),
)
"""What is drawn from."""


def with_localities(rng: Random, instance: Instance) -> Instance:
    """Part the cores of machines into packages and caches; pods and nodes wish for few."""
    machines = {id(n.machine): _parted(rng, n.machine) for n in instance.nodes}
    return replace(
        instance,
        nodes=tuple(
            replace(node, machine=machines[id(node.machine)], locality=rng.choice(WISHES))
            for node in instance.nodes
        ),
        gangs=tuple(_wishing(rng, gang) for gang in instance.gangs),
    )


def _parted(rng: Random, machine: Machine) -> Machine:
    """Give each core a package and a cache; some caches are not known."""
    packages, caches = rng.choice((1, 2, 2, 3)), rng.choice((1, 2, 3))
    homes = {
        core: (package, rng.choice((package * 10 + rng.randrange(caches), package * 10, None)))
        for core in machine.topology.cores
        for package in [rng.randrange(packages)]
    }
    cpus = tuple(
        replace(cpu, package=homes[cpu.core][0], llc=homes[cpu.core][1])
        if cpu.core in homes
        else cpu
        for cpu in machine.topology.cpus
    )
    return replace(machine, topology=replace(machine.topology, cpus=cpus))


def _wishing(rng: Random, gang: Gang) -> Gang:
    wishes = {pod.spec: rng.choice(WISHES) for pod in gang.pods}
    return replace(
        gang,
        pods=tuple(
            replace(pod, spec=replace(pod.spec, locality=wishes[pod.spec])) for pod in gang.pods
        ),
    )


def locality_instance(seed: int) -> Instance:
    """Draw a tiny instance with wishes for few packages and few caches."""
    return with_localities(Random(f"locality-{seed}"), tiny_instance(seed))


FEATURE = Feature("localities", with_localities)
