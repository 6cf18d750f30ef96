"""The cells of a node: which of them a pod or a container uses, and what they could hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.judge.scene import Cell, Inside, Site, Tenant
from placer.judge.strategies import asked_here
from placer_models.alignment import Amounts, effective_policy, effective_scope
from placer_models.cpuset import CpuSet
from placer_models.placement import DeviceGrant
from placer_models.pod import Resources
from placer_models.policy import AlignmentPolicy, AlignmentScope


@dataclass(frozen=True, slots=True)
class Claim:
    """What is aligned together: all that a pod holds by place, or one container of it.

    Attributes:
        name: Of the container; empty for the pod as a whole.
        owns: Whether its CPUs are its own.
        cpus: Its own CPUs.

    """

    name: str
    requests: Resources
    owns: bool
    cpus: CpuSet
    memory_bytes: tuple[tuple[int, int], ...]
    hugepages: tuple[tuple[int, int, int], ...]
    devices: tuple[DeviceGrant, ...]


def policy_of(site: Site, tenant: Tenant) -> AlignmentPolicy | None:
    """Return the alignment policy that holds for the pod there; None: they conflict."""
    return effective_policy(tenant.pod.spec.alignment, site.node.alignment)


def scope_of(site: Site, tenant: Tenant) -> AlignmentScope | None:
    """Return what the policy aligns together there; None: pod and node conflict."""
    if policy_of(site, tenant) in (None, AlignmentPolicy.NONE):
        return AlignmentScope.POD
    return effective_scope(tenant.pod.spec.scope, site.node.scope)


def claims_of(site: Site, tenant: Tenant) -> list[Claim]:
    """Return what the policy looks at: the pod as a whole, or each of its containers."""
    place, owns = tenant.place, tenant.qos.owns_cpus
    if scope_of(site, tenant) is not AlignmentScope.CONTAINER:
        return [whole_claim(site, tenant)]
    given = {container.name: container for container in place.containers}
    claims = []
    for container in tenant.pod.spec.containers:
        asked, part = container.requests, given.get(container.name)
        if part is not None:
            cpus = part.cpuset if owns and asked.cpu_milli else frozenset[int]()
            held = (cpus, part.memory_bytes, part.hugepages, part.devices)
            claims.append(Claim(container.name, asked, owns, *held))
    return claims


def whole_claim(site: Site, tenant: Tenant) -> Claim:
    """Return all that the pod holds by place."""
    place = tenant.place
    held = (tenant.owned, place.memory_bytes, place.hugepages, place.devices)
    return Claim("", asked_here(site, tenant), tenant.qos.owns_cpus, *held)


def cells_used(site: Site, claim: Claim) -> frozenset[Cell]:
    """Return the cells of the claim's own CPUs, its memory, hugepages and devices.

    A device without a NUMA node is on no cell; what the node has not is on none either.
    """
    cpus = site.inside.topology.cpu
    cells: set[Cell] = {cpus[cpu].numa_node for cpu in claim.cpus if cpu in cpus}
    cells.update(numa_node for numa_node, held in claim.memory_bytes if held > 0)
    cells.update(numa_node for numa_node, _, pages in claim.hugepages if pages > 0)
    for grant in claim.devices:
        device = site.inside.devices.get((grant.type, grant.minor))
        if device is not None and device.numa_node is not None:
            cells.add(device.numa_node)
    return frozenset(cells)


def empty_cells(
    inside: Inside, claim: Claim, cells: Sequence[Cell]
) -> tuple[tuple[Amounts, ...], Amounts]:
    """Return what each cell could hold of what the claim asks for, and the need.

    A device type with a healthy device of unknown NUMA node is left out of both.
    """
    need: list[int] = []
    columns: list[list[int]] = []
    if claim.owns and claim.requests.cpu_milli:
        need.append(-(-claim.requests.cpu_milli // 1000))
        columns.append([inside.cpus_in.get(cell, 0) for cell in cells])
    if claim.requests.memory_bytes:
        need.append(claim.requests.memory_bytes)
        columns.append([inside.memory_bytes_in.get(cell, 0) for cell in cells])
    for pages in claim.requests.hugepages:
        need.append(pages.count)
        columns.append([inside.pages_in.get((cell, pages.page_bytes), 0) for cell in cells])
    for kind in sorted({asked.type for asked in claim.requests.devices}):
        homes = [device.numa_node for device in inside.healthy.get(kind, ())]
        if None not in homes:
            need.append(claim.requests.count_of(kind))
            columns.append([homes.count(cell) for cell in cells])
    return tuple(zip(*columns, strict=True)), tuple(need)
