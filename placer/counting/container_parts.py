"""What one container holds from each cell, counted from its placement."""

from collections import Counter
from collections.abc import Sequence

from placer_models.cluster import Node
from placer_models.container_fit import ContainerFit
from placer_models.node_state import NodeState
from placer_models.placement import ContainerPlacement
from placer_models.pod import PodSpec
from placer_models.problem import Problem


def taken_by(
    spec: PodSpec,
    places: Sequence[ContainerPlacement],
    fit: ContainerFit,
    node: Node,
    state: NodeState,
    problem: Problem,
) -> tuple[tuple[int, ...], ...]:
    """Return for each good of the fit how much is from each cell, and last from no cell."""
    name = spec.containers[fit.index].name
    place = next(place for place in places if place.name == name)
    topology = node.machine.topology
    cpus = place.cpuset if fit.need[0] else ()
    owned = Counter(topology.cpu[cpu].numa_node for cpu in cpus)
    shared = Counter[int | None](dict(place.cpu_milli or ()))
    homes = {(d.type, d.minor): d.numa_node for d in node.devices}
    unit = problem.memory_unit_bytes
    rows: list[Counter[int | None]] = [
        owned if spec.qos.owns_cpus else shared,
        Counter({numa: size // unit for numa, size in place.memory_bytes}),
        *(
            Counter[int | None](
                {numa: count for numa, size, count in place.hugepages if size == wanted}
            )
            for wanted in problem.page_sizes
        ),
        *(
            Counter(homes[d.type, d.minor] for d in place.devices if d.type == kind)
            for kind in _types(spec)
        ),
    ]
    first_device = len(rows) - len(_types(spec))
    found = []
    for good, row in enumerate(rows):
        in_cells = [row[cell.numa_node] for cell in state.cells]
        if good >= first_device:  # a device without a NUMA node is in no cell
            in_cells = [
                0 if cell.numa_node is None else row[cell.numa_node] for cell in state.cells
            ]
            found.append((*in_cells, row[None]))
        else:
            found.append((*in_cells, 0))
    return tuple(found)


def _types(spec: PodSpec) -> list[str]:
    return [request.type for request in spec.requests.devices if request.count]
