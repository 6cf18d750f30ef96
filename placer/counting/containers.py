"""The CPUs of each container among its pod's."""

from collections.abc import Sequence
from dataclasses import replace

from placer_models.cpuset import CpuSet
from placer_models.placement import ContainerPlacement
from placer_models.pod import Container, ContainerRole
from placer_models.topology import Topology


def in_pool(
    containers: Sequence[Container], pool: CpuSet, placed: Sequence[ContainerPlacement] = ()
) -> tuple[ContainerPlacement, ...]:
    """Return the containers of a pod that owns no CPU: all of the pool for each.

    What they hold besides, where they are placed already, is kept.
    """
    known = {place.name: place for place in placed}
    return tuple(
        replace(known.get(container.name, ContainerPlacement(container.name, pool)), cpuset=pool)
        for container in containers
    )


def in_parts(
    containers: Sequence[Container], cpus: Sequence[int], topology: Topology
) -> tuple[ContainerPlacement, ...]:
    """Part the CPUs that a pod owns among its containers.

    Containers that run together and ask for CPUs get parts of their own, whole cores as
    far as they go. One that asks for none runs on all of the pod's CPUs. An init
    container runs on all but the parts of the sidecars that are up before it.

    Args:
        containers: Their requests are whole CPUs.
        cpus: Neighbours stand together.
        topology: Of the node's machine.

    """
    together = [c for c in containers if c.role is not ContainerRole.INIT and c.requests.cpu_milli]
    sizes = [c.requests.cpu_milli // 1000 for c in together]
    part_of = dict(
        zip((c.name for c in together), parts_by_core(sizes, cpus, topology), strict=True)
    )
    everything = frozenset(cpus)
    held: CpuSet = frozenset()
    placed = []
    for container in containers:
        if container.role is ContainerRole.INIT:
            cpuset = (everything - held) or everything
        else:
            cpuset = part_of.get(container.name, everything)
            if container.role is ContainerRole.RESTARTABLE_INIT and container.name in part_of:
                held |= cpuset
        placed.append(ContainerPlacement(container.name, cpuset))
    return tuple(placed)


def parts_by_core(sizes: Sequence[int], cpus: Sequence[int], topology: Topology) -> list[CpuSet]:
    """Return disjoint parts of the CPUs of these sizes, whole cores as far as they go."""
    return _parts(sizes, _by_core(cpus, topology))


def _by_core(cpus: Sequence[int], topology: Topology) -> list[list[int]]:
    cores: dict[int, list[int]] = {}
    for cpu in cpus:
        cores.setdefault(topology.cpu[cpu].core, []).append(cpu)
    return list(cores.values())


def _parts(sizes: Sequence[int], cores: list[list[int]]) -> list[CpuSet]:
    """Give each part the cores that fit into it, in order; what is left of it comes after."""
    parts: list[list[int]] = [[] for _ in sizes]
    for part, size in zip(parts, sizes, strict=True):
        for core in cores:
            if core and len(part) + len(core) <= size:
                part.extend(core)
                core.clear()
    rest = [cpu for core in cores for cpu in core]
    for part, size in zip(parts, sizes, strict=True):
        missing = size - len(part)
        part.extend(rest[:missing])
        del rest[:missing]
    return [frozenset(part) for part in parts]
