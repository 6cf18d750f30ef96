"""The CPUs, memory and pools of each container among its pod's, both ways.

What a pod holds is divided among its containers. Where each is aligned by itself (C12), the
counts of its choice say how, and what each holds is counted again from its placement.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from placer.counting.memory import cell_memory_to_placement
from placer_models.bound import pool_on_numa_nodes
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet, is_same_cpu_set
from placer_models.placement import ContainerPlacement
from placer_models.pod import Container, ContainerRole, PodSpec
from placer_models.policy import BINDING
from placer_models.problem.fits import ContainerFit
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Problem
from placer_models.topology import Topology


def container_placements_on_pool(
    containers: Sequence[Container], pool: CpuSet, placed: Sequence[ContainerPlacement] = ()
) -> tuple[ContainerPlacement, ...]:
    """Return the containers of a pod that owns no CPU, each on all of the pool.

    Containers that are placed already keep what else they hold.
    """
    known = {place.name: place for place in placed}
    return tuple(
        container_with_cpuset(
            known.get(container.name) or ContainerPlacement(container.name, pool), pool
        )
        for container in containers
    )


def container_with_cpuset(part: ContainerPlacement, cpus: CpuSet) -> ContainerPlacement:
    """Return a container on these CPUs, as the same object if it is there already."""
    return part if is_same_cpu_set(part.cpuset, cpus) else replace(part, cpuset=cpus)


def divide_cpus_among_containers(
    containers: Sequence[Container], cpus: Sequence[int], topology: Topology
) -> tuple[ContainerPlacement, ...]:
    """Divide the CPUs that a pod owns among its containers.

    Containers that run together and ask for CPUs get parts of their own, in whole
    cores where possible. One that asks for none runs on all of the pod's CPUs. An init
    container runs on all but the parts of the sidecars that are up before it.

    Args:
        containers: The pod's containers, whose requests are whole CPUs.
        cpus: The pod's CPUs, neighbours together.
        topology: The topology of the node's machine.

    """
    together = [c for c in containers if c.role is not ContainerRole.INIT and c.requests.cpu_milli]
    sizes = [c.requests.cpu_milli // 1000 for c in together]
    part_of = dict(
        zip((c.name for c in together), _parts_by_core(sizes, cpus, topology), strict=True)
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


def _parts_by_core(sizes: Sequence[int], cpus: Sequence[int], topology: Topology) -> list[CpuSet]:
    """Return disjoint parts of the CPUs, of these sizes, in whole cores where possible."""
    by_core: dict[int, list[int]] = {}
    for cpu in cpus:
        by_core.setdefault(topology.cpu[cpu].core, []).append(cpu)
    cores = list(by_core.values())
    parts: list[list[int]] = [[] for _ in sizes]
    # Each part gets the cores that fit into it, in order. The rest of it is filled afterwards.
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


def divide_choice_among_containers(
    spec: PodSpec,
    fits: Sequence[ContainerFit],
    choice: Choice,
    cpus: Sequence[int],
    pool: CpuSet,
    node: Node,
    problem: Problem,
) -> tuple[ContainerPlacement, ...]:
    """Divide what a pod holds, but for its devices, among its containers as the counts say.

    Args:
        spec: The spec of the pod.
        fits: The fits of its containers that hold something.
        choice: The counts.
        cpus: The pod's own CPUs, neighbours together.
        pool: The pool that the pod runs in if it owns no CPU.
        node: The node that it goes to.
        problem: The Problem of the counts.

    """
    numa_nodes = [cell.numa_node for cell in problem.nodes[choice.node].cells]
    own = _cpus(fits, choice, cpus, numa_nodes, node)
    position_of = {fit.index: position for position, fit in enumerate(fits)}
    everything = frozenset(cpus) if spec.qos.owns_cpus else pool
    sidecars: CpuSet = frozenset()
    placed = []
    for index, container in enumerate(spec.containers):
        at = position_of.get(index)
        cpuset = frozenset(own[at]) if at is not None else frozenset[int]()
        if container.role is ContainerRole.RESTARTABLE_INIT:
            sidecars |= cpuset
        if not cpuset:
            init = container.role is ContainerRole.INIT
            cpuset = ((everything - sidecars) if init else everything) or everything
        rows = choice.containers[at] if at is not None else ()
        counted = None
        if choice.pool:
            bound = at is not None and fits[at].alignment in BINDING
            counted = _counted(rows, numa_nodes) if bound else ()
        if counted:
            cpuset = pool_on_numa_nodes(pool, [numa for numa, _ in counted], node.machine.topology)
        of_cells = rows[1 : 1 + len(problem.in_cells)]
        memory, pages = (
            cell_memory_to_placement(problem, numa_nodes, of_cells) if rows else ((), ())
        )
        placed.append(
            ContainerPlacement(
                name=container.name,
                cpuset=cpuset,
                memory_bytes=memory,
                hugepages=pages,
                cpu_milli=counted,
            )
        )
    return tuple(placed)


def _counted(
    rows: Sequence[Sequence[int]], numa_nodes: Sequence[int | None]
) -> tuple[tuple[int, int], ...]:
    """Return (NUMA node, milli of the CPU request counted there) for a bound container."""
    return tuple(
        (numa, rows[0][cell])
        for cell, numa in enumerate(numa_nodes)
        if numa is not None and any(row[cell] for row in rows)
    )


def _cpus(
    fits: Sequence[ContainerFit],
    choice: Choice,
    cpus: Sequence[int],
    numa_nodes: Sequence[int | None],
    node: Node,
) -> list[list[int]]:
    """Return the CPUs of every container, in whole cores where possible."""
    topology = node.machine.topology
    own: list[list[int]] = [[] for _ in fits]
    for cell, numa in enumerate(numa_nodes):
        here = [cpu for cpu in cpus if topology.cpu[cpu].numa_node == numa]
        wants = [rows[0][cell] for rows in choice.containers]
        lasting = [i for i, fit in enumerate(fits) if fit.lasts]
        parts = _parts_by_core([wants[i] for i in lasting], here, topology)
        dealt: Mapping[int, CpuSet] = dict(zip(lasting, parts, strict=True))
        for i, fit in enumerate(fits):
            if fit.lasts:
                own[i].extend(sorted(dealt[i]))
            else:
                held = frozenset[int]().union(*(dealt[s] for s in fit.beside))
                own[i].extend([cpu for cpu in here if cpu not in held][: wants[i]])
    return own


def container_amounts_by_cell(
    spec: PodSpec,
    places: Sequence[ContainerPlacement],
    fit: ContainerFit,
    node: Node,
    state: NodeState,
    problem: Problem,
) -> tuple[tuple[int, ...], ...]:
    """Return, for each good of the fit, the amount from each cell and last from no cell."""
    name = spec.containers[fit.index].name
    place = next(place for place in places if place.name == name)
    topology = node.machine.topology
    cpus = place.cpuset if fit.need[0] else ()
    owned = Counter(topology.cpu[cpu].numa_node for cpu in cpus)
    shared = Counter[int | None](dict(place.cpu_milli or ()))
    goods: list[Counter[int | None]] = [
        owned if spec.qos.owns_cpus else shared,
        *(
            Counter(dimension.held_on(place.memory_bytes, place.hugepages))
            for dimension in problem.in_cells
        ),
    ]
    cells = [cell.numa_node for cell in state.cells]
    found = [(*(row[numa] for numa in cells), 0) for row in goods]
    homes = {(d.type, d.minor): d.numa_node for d in node.devices}
    for kind in [request.type for request in spec.requests.devices if request.count]:
        row = Counter(homes[d.type, d.minor] for d in place.devices if d.type == kind)
        # A device without a NUMA node is in no cell.
        found.append((*(0 if numa is None else row[numa] for numa in cells), row[None]))
    return tuple(found)
