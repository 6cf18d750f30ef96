"""The cells of a node: which of them a pod uses, and what they could hold."""

from collections.abc import Sequence

from placer.judge.scene import Cell, Inside, Site, Tenant
from placer_models.alignment import Amounts, effective_policy
from placer_models.policy import AlignmentPolicy


def policy_of(site: Site, tenant: Tenant) -> AlignmentPolicy | None:
    """Return the alignment policy that holds for the pod there; None: they conflict."""
    return effective_policy(tenant.pod.spec.alignment, site.node.alignment)


def cells_used(site: Site, tenant: Tenant) -> frozenset[Cell]:
    """Return the cells of the pod's own CPUs, its memory, hugepages and devices.

    A device without a NUMA node is on no cell; what the node has not is on none either.
    """
    cpus = site.inside.topology.cpu
    cells: set[Cell] = {cpus[cpu].numa_node for cpu in tenant.owned if cpu in cpus}
    cells.update(numa_node for numa_node, held in tenant.place.memory_bytes if held > 0)
    cells.update(numa_node for numa_node, _, pages in tenant.place.hugepages if pages > 0)
    for grant in tenant.place.devices:
        device = site.inside.devices.get((grant.type, grant.minor))
        if device is not None and device.numa_node is not None:
            cells.add(device.numa_node)
    return frozenset(cells)


def empty_cells(
    inside: Inside, tenant: Tenant, cells: Sequence[Cell]
) -> tuple[tuple[Amounts, ...], Amounts]:
    """Return what each cell could hold of what the pod asks for, and the need.

    A device type with a healthy device of unknown NUMA node is left out of both.
    """
    need: list[int] = []
    columns: list[list[int]] = []
    if tenant.qos.owns_cpus and tenant.requests.cpu_milli:
        need.append(-(-tenant.requests.cpu_milli // 1000))
        columns.append([inside.cpus_in.get(cell, 0) for cell in cells])
    if tenant.requests.memory_bytes:
        need.append(tenant.requests.memory_bytes)
        columns.append([inside.memory_bytes_in.get(cell, 0) for cell in cells])
    for pages in tenant.requests.hugepages:
        need.append(pages.count)
        columns.append([inside.pages_in.get((cell, pages.page_bytes), 0) for cell in cells])
    for kind in sorted({asked.type for asked in tenant.requests.devices}):
        homes = [device.numa_node for device in inside.healthy.get(kind, ())]
        if None not in homes:
            need.append(tenant.requests.count_of(kind))
            columns.append([homes.count(cell) for cell in cells])
    return tuple(zip(*columns, strict=True)), tuple(need)
