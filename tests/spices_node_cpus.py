"""Worlds whose nodes have words of their own about the CPUs that pods own."""

from dataclasses import replace
from random import Random

from placer_models.cluster import Instance, Machine
from placer_models.pod import Container, Gang, Pod, Resources
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    CoreKind,
    Locality,
    NodeBindPolicy,
    NumaStrategy,
    QosClass,
)
from placer_models.topology import ARM
from worlds import tiny_instance


def spice_node_binds(rng: Random, instance: Instance) -> Instance:
    """Give nodes a bind policy; some machines are Arm."""
    nodes = []
    for node in instance.nodes:
        machine = node.machine
        if rng.random() < 0.15:
            topology = replace(machine.topology, architecture=ARM)
            machine = replace(machine, topology=topology)
        cpu_bind = rng.choice((*NodeBindPolicy, NodeBindPolicy.FULL_PCPUS_ONLY))
        nodes.append(replace(node, machine=machine, cpu_bind=cpu_bind))
    return replace(instance, nodes=tuple(nodes))


def node_bind_instance(seed: int) -> Instance:
    """Draw a tiny instance whose nodes have bind policies."""
    return spice_node_binds(Random(f"node-bind-{seed}"), tiny_instance(seed))


WISHES = ((), (Locality.PACKAGE,), (Locality.LLC,), (Locality.LLC,), tuple(Locality))
"""What is drawn from."""


def spice_localities(rng: Random, instance: Instance) -> Instance:
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
    return spice_localities(Random(f"locality-{seed}"), tiny_instance(seed))


def spice_strategies(rng: Random, instance: Instance) -> Instance:
    """Give nodes a NUMA allocate strategy."""
    return replace(
        instance,
        nodes=tuple(
            replace(node, numa_strategy=rng.choice((None, *NumaStrategy, *NumaStrategy)))
            for node in instance.nodes
        ),
    )


def strategy_instance(seed: int) -> Instance:
    """Draw a tiny instance whose nodes have NUMA allocate strategies."""
    return spice_strategies(Random(f"strategy-{seed}"), tiny_instance(seed))


def even_instance(seed: int) -> Instance:
    """Draw a tiny instance with even shares, for pods most of which need several NUMA nodes."""
    rng = Random(f"even-{seed}")
    instance = tiny_instance(seed)
    asked = rng.choice(((3, 4, 5), (5, 6, 6, 7), (2, 3, 6, 6)))

    def owning(pod: Pod) -> Pod:
        spec = replace(
            pod.spec,
            containers=(Container("app", Resources(1000 * rng.choice(asked))),),
            qos=rng.choice((QosClass.LSR, QosClass.LSE)),
            bind=rng.choice((*(BindPolicy.DEFAULT,) * 4, *BindPolicy)),
            alignment=AlignmentPolicy.NONE,
            joint=None,
        )
        return replace(pod, spec=spec)

    def members(gang: Gang) -> tuple[Pod, ...]:
        pods = tuple(map(owning, gang.pods))
        if len({pod.spec for pod in gang.pods}) == 1:
            return tuple(replace(pod, spec=pods[0].spec) for pod in pods)
        return pods

    binds = (*(NodeBindPolicy.NONE,) * 4, *NodeBindPolicy)
    return replace(
        instance,
        nodes=tuple(
            replace(
                node,
                numa_strategy=rng.choice((*NumaStrategy, *(NumaStrategy.DISTRIBUTE_EVENLY,) * 4)),
                cpu_bind=rng.choice(binds),
                alignment=AlignmentPolicy.NONE,
            )
            for node in instance.nodes
        ),
        gangs=tuple(replace(gang, pods=members(gang)) for gang in instance.gangs),
        name=f"{instance.name}, even",
    )


def spice_kinds(rng: Random, instance: Instance) -> Instance:
    """Make some cores efficiency cores, however many threads they have."""
    return replace(
        instance,
        nodes=tuple(replace(node, machine=_of_kinds(rng, node.machine)) for node in instance.nodes),
    )


def _of_kinds(rng: Random, machine: Machine) -> Machine:
    efficient = {core for core in machine.topology.cores if rng.random() < 0.5}
    cpus = tuple(
        replace(cpu, kind=CoreKind.EFFICIENCY if cpu.core in efficient else CoreKind.PERFORMANCE)
        for cpu in machine.topology.cpus
    )
    return replace(machine, topology=replace(machine.topology, cpus=cpus))


def kinds_instance(seed: int) -> Instance:
    """Draw a tiny instance on machines that mix kinds of cores."""
    return spice_kinds(Random(f"kinds-{seed}"), tiny_instance(seed))
