"""Parts of containers that are aligned each for itself, of what their pod holds (C12)."""

from collections.abc import Mapping, Sequence

from placer.counting.containers import parts_by_core
from placer_models.bound import within
from placer_models.cluster import Node
from placer_models.container_fit import ContainerFit
from placer_models.cpuset import CpuSet
from placer_models.placement import ContainerPlacement
from placer_models.pod import ContainerRole, PodSpec
from placer_models.policy import BINDING
from placer_models.problem import Choice, Problem


def in_own_parts(
    spec: PodSpec,
    fits: Sequence[ContainerFit],
    choice: Choice,
    cpus: Sequence[int],
    pool: CpuSet,
    node: Node,
    problem: Problem,
) -> tuple[ContainerPlacement, ...]:
    """Part what a pod holds among its containers, as the counts say; all but its devices.

    Args:
        spec: Of the pod.
        fits: Of its containers that hold something.
        choice: The counts.
        cpus: The pod's own CPUs, neighbours together.
        pool: What a pod runs in that owns none.
        node: Where it goes.
        problem: What the counts are counted in.

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
            cpuset = within(pool, [numa for numa, _ in counted], node.machine.topology)
        placed.append(
            ContainerPlacement(
                name=container.name,
                cpuset=cpuset,
                memory_bytes=tuple(
                    (numa, amount * problem.memory_unit_bytes)
                    for numa, amount in zip(numa_nodes, rows[1] if rows else (), strict=False)
                    if amount and numa is not None
                ),
                hugepages=tuple(
                    (numa, size, rows[2 + i][cell])
                    for cell, numa in enumerate(numa_nodes)
                    for i, size in enumerate(problem.page_sizes)
                    if rows and rows[2 + i][cell] and numa is not None
                ),
                cpu_milli=counted,
            )
        )
    return tuple(placed)


def _counted(
    rows: Sequence[Sequence[int]], numa_nodes: Sequence[int | None]
) -> tuple[tuple[int, int], ...]:
    """Return the NUMA nodes of a bound container, with what it counts of its request there."""
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
    """Return the CPUs of every container, whole cores as far as they go."""
    topology = node.machine.topology
    own: list[list[int]] = [[] for _ in fits]
    for cell, numa in enumerate(numa_nodes):
        here = [cpu for cpu in cpus if topology.cpu[cpu].numa_node == numa]
        wants = [rows[0][cell] for rows in choice.containers]
        lasting = [i for i, fit in enumerate(fits) if fit.lasts]
        parts = parts_by_core([wants[i] for i in lasting], here, topology)
        dealt: Mapping[int, CpuSet] = dict(zip(lasting, parts, strict=True))
        for i, fit in enumerate(fits):
            if fit.lasts:
                own[i].extend(sorted(dealt[i]))
            else:
                held = frozenset[int]().union(*(dealt[s] for s in fit.beside))
                own[i].extend([cpu for cpu in here if cpu not in held][: wants[i]])
    return own
