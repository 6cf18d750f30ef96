"""The rule about NUMA alignment."""

from collections.abc import Iterator

from placer.judge.cells import cells_used, empty_cells, policy_of
from placer.judge.finding import Finding
from placer.judge.scene import Cell, Scene, Site, Tenant
from placer_models.alignment import restricted_width
from placer_models.cpuset import format_cpu_list
from placer_models.policy import AlignmentPolicy


def alignment(scene: Scene) -> Iterator[Finding]:
    """A pod keeps to the NUMA nodes that its policy, or its node's, allows."""
    for site, tenant in scene.newcomers():
        if fault := _fault(site, tenant):
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} on node {site.node.name!r} {fault}",
            )


def _fault(site: Site, tenant: Tenant) -> str | None:
    policy = policy_of(site, tenant)
    match policy:
        case None:
            return (
                f"asks for NUMA alignment {tenant.pod.spec.alignment}, "
                f"but the node's own policy is {site.node.alignment}; they have to agree"
            )
        case AlignmentPolicy.NONE | AlignmentPolicy.BEST_EFFORT:
            return None
        case AlignmentPolicy.SINGLE_NUMA_NODE:
            most: int | None = 1
        case AlignmentPolicy.RESTRICTED:
            numa_nodes = [numa.id for numa in site.inside.topology.numa_nodes]
            most = restricted_width(*empty_cells(site.inside, tenant, numa_nodes))
    if most is None:
        return (
            f"is refused by {policy}: the resources it asks for do not agree on one fewest "
            "number of NUMA nodes"
        )
    used = cells_used(site, tenant)
    if None in used or len(used) > most:
        return f"uses {_text(used)}; {policy} allows {most} NUMA nodes, the same for all it holds"
    return None


def _text(cells: frozenset[Cell]) -> str:
    numa_nodes = format_cpu_list(cell for cell in cells if cell is not None and cell >= 0)
    parts = [f"NUMA nodes {numa_nodes}"] if numa_nodes else []
    return " and ".join([*parts, *(["CPUs without a NUMA node"] if None in cells else [])])
