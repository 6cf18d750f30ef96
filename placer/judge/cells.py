"""The cells of a node: which of them a pod or a container uses, and what they could hold."""

from collections.abc import Sequence
from typing import NamedTuple

from placer.judge.device_strategy import asked_here
from placer.judge.scene import CellId, Inside, Site, Tenant
from placer_models.alignment import CellAmounts, effective_scope
from placer_models.bound import bound_to
from placer_models.cpuset import NO_CPUS, CpuSet
from placer_models.placement import DeviceGrant
from placer_models.pod import Resources
from placer_models.policy import BINDING, AlignmentPolicy, AlignmentScope

_NO_HOMES: frozenset[int] = frozenset()


class Claim(NamedTuple):
    """What is aligned together: all that a pod, or one of its containers, holds by place.

    Attributes:
        name: The container's name; empty for the pod as a whole.
        by_cpu: Whether its CPUs count: its own ones, or those of NUMA nodes it is bound to.
        cpus: Its own CPUs.
        homes: The NUMA nodes to whose pool it is bound.
        milli_per_cpu: How much of the CPU request one CPU of the node holds, in milli CPUs.

    """

    name: str
    requests: Resources
    by_cpu: bool
    cpus: CpuSet
    homes: frozenset[int]
    memory_bytes: tuple[tuple[int, int], ...]
    hugepages: tuple[tuple[int, int, int], ...]
    devices: tuple[DeviceGrant, ...]
    milli_per_cpu: int


def policy_of(site: Site, tenant: Tenant) -> AlignmentPolicy | None:
    """Return the alignment policy that holds there, or None if pod and node conflict.

    If neither of them has a word, not even that it wants none, the scheduler's default holds.
    """
    words = {tenant.pod.spec.alignment, site.node.alignment} - {None}
    if not words:
        return site.node.defaults.alignment
    aligning = words - {AlignmentPolicy.NONE}
    if len(aligning) > 1:
        return None
    return aligning.pop() if aligning else AlignmentPolicy.NONE


def scope_of(site: Site, tenant: Tenant) -> AlignmentScope | None:
    """Return the scope of the policy that holds there, or None if pod and node conflict."""
    if policy_of(site, tenant) in (None, AlignmentPolicy.NONE):
        return AlignmentScope.POD
    return effective_scope(tenant.pod.spec.scope, site.node.scope)


def claims_of(site: Site, tenant: Tenant) -> list[Claim]:
    """Return what the policy looks at: the pod as a whole, or each of its containers."""
    place, owns = tenant.place, tenant.qos.owns_cpus
    bound = not owns and policy_of(site, tenant) in BINDING
    if scope_of(site, tenant) is not AlignmentScope.CONTAINER:
        homes = bound_to(place, tenant.pod.spec, site.node) if bound else _NO_HOMES
        return [whole_claim(site, tenant)._replace(by_cpu=owns or bound, homes=homes)]
    given = {container.name: container for container in place.containers}
    claims = []
    for container in tenant.pod.spec.containers:
        asked, part = container.requests, given.get(container.name)
        if part is not None:
            cpus = part.cpuset if owns and asked.cpu_milli else NO_CPUS
            homes = frozenset(numa for numa, _ in part.cpu_milli or ()) if bound else frozenset()
            held = (cpus, homes, part.memory_bytes, part.hugepages, part.devices)
            each = _held_by_cpu(site, tenant)
            claims.append(Claim(container.name, asked, owns or bound, *held, each))
    return claims


def whole_claim(site: Site, tenant: Tenant) -> Claim:
    """Return all that the pod holds by place, as if it were bound to no NUMA node."""
    place = tenant.place
    held = (tenant.owned, _NO_HOMES, place.memory_bytes, place.hugepages, place.devices)
    each = _held_by_cpu(site, tenant)
    return Claim("", asked_here(site, tenant), tenant.qos.owns_cpus, *held, each)


def _held_by_cpu(site: Site, tenant: Tenant) -> int:
    return 1000 if tenant.qos.owns_cpus else site.node.milli_per_cpu


def without_homes(claim: Claim) -> Claim:
    """Return the claim as if it were bound to no NUMA node."""
    return claim._replace(homes=frozenset())


def is_bound(site: Site, tenant: Tenant, claim: Claim) -> bool:
    """Return whether the policy binds the claim of an LS or BE pod to the pool of NUMA nodes.

    Restricted does not bind it if nothing that is asked for has a width.
    """
    if tenant.qos.owns_cpus:
        return False
    if policy_of(site, tenant) is AlignmentPolicy.RESTRICTED:
        numa_nodes = [numa.id for numa in site.inside.topology.numa_nodes]
        return bool(empty_cells(site.inside, claim, numa_nodes)[1])
    return policy_of(site, tenant) is AlignmentPolicy.SINGLE_NUMA_NODE


def cells_used(site: Site, claim: Claim) -> frozenset[CellId]:
    """Return the cells of the claim's CPUs, its memory, hugepages and devices.

    A device without a NUMA node is on no cell. Nor is anything that the node does not have.
    """
    cpus = site.inside.topology.cpu
    cells: set[CellId] = {cpus[cpu].numa_node for cpu in claim.cpus if cpu in cpus}
    cells.update(claim.homes)
    cells.update(numa_node for numa_node, held in claim.memory_bytes if held > 0)
    cells.update(numa_node for numa_node, _, pages in claim.hugepages if pages > 0)
    for grant in claim.devices:
        device = site.inside.devices.get((grant.type, grant.minor))
        if device is not None and device.numa_node is not None:
            cells.add(device.numa_node)
    return frozenset(cells)


def empty_cells(
    inside: Inside, claim: Claim, cells: Sequence[CellId]
) -> tuple[tuple[CellAmounts, ...], CellAmounts]:
    """Return how much of what the claim asks for each cell could hold if empty, and the need.

    A device type with a healthy device of unknown NUMA node is left out of both.
    """
    need: list[int] = []
    columns: list[list[int]] = []
    if claim.by_cpu and claim.requests.cpu_milli:
        need.append(claim.requests.cpu_milli)
        columns.append([claim.milli_per_cpu * inside.cpus_in.get(cell, 0) for cell in cells])
    if claim.requests.memory_bytes:
        need.append(claim.requests.memory_bytes)
        columns.append([inside.memory_bytes_in.get(cell, 0) for cell in cells])
    for pages in claim.requests.hugepages:
        need.append(pages.count)
        columns.append([inside.pages_in.get((cell, pages.page_bytes), 0) for cell in cells])
    for kind in sorted({asked.type for asked in claim.requests.devices}):
        homes = inside.devices_in.get(kind, {})
        if None not in homes:
            need.append(claim.requests.count_of(kind))
            columns.append([homes.get(cell, 0) for cell in cells])
    return tuple(zip(*columns, strict=True)), tuple(need)
