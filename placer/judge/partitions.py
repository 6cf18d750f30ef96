"""Rules and a tier about which devices belong together: partitions and scopes (D10)."""

from collections.abc import Iterator

from placer.judge.finding import Finding
from placer.judge.scene import Scene, Site, Tenant
from placer_models.cpuset import format_cpu_list
from placer_models.device import GPU, Device
from placer_models.policy import DeviceScope, PartitionPolicy


def partition(scene: Scene) -> Iterator[Finding]:
    """Where the node's table is honored, a pod's GPUs are one partition of it."""
    for site, tenant in scene.newcomers():
        if site.node.honors_table and _is_outside(site, tenant):
            gpus = tenant.place.minors(GPU)
            known = [format_cpu_list(p) for p in site.node.table or () if len(p) == len(gpus)]
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} holds gpu {format_cpu_list(gpus)} of node "
                f"{site.node.name!r}, which is no partition; its partitions of "
                f"{len(gpus)} are {' and '.join(known) or 'none'}",
            )


def pods_outside_partitions(scene: Scene) -> int:
    """Return tier ``partitions``: pods with GPUs that are none, where partitions go first."""
    prefer = PartitionPolicy.PREFER
    return sum(
        site.node.partition_policy is prefer and _is_outside(site, tenant)
        for site, tenant in scene.newcomers()
    )


def _is_outside(site: Site, tenant: Tenant) -> bool:
    gpus = tenant.place.minors(GPU)
    return bool(gpus) and tuple(sorted(gpus)) not in (site.node.table or ())


def device_scope(scene: Scene) -> Iterator[Finding]:
    """All devices of a type are within the scope that the pod asks for."""
    for site, tenant in scene.newcomers():
        for kind, scope in tenant.pod.spec.scopes:
            minors = tenant.place.minors(kind)
            devices = [site.inside.devices.get((kind, minor)) for minor in minors]
            places = {None if device is None else _place(device, scope) for device in devices}
            if len(minors) > 1 and (len(places) > 1 or None in places):
                yield Finding(
                    tenant.title,
                    f"pod {tenant.title!r} holds {kind} {format_cpu_list(minors)} of node "
                    f"{site.node.name!r}, which are not known to be within one {scope}; "
                    f"it asks for all its {kind} devices within one",
                )


def _place(device: Device, scope: DeviceScope) -> int | str | None:
    match scope:
        case DeviceScope.PCIE:
            return device.pcie_switch
        case DeviceScope.NUMA_NODE:
            return device.numa_node
        case DeviceScope.PACKAGE:
            return device.package
        case DeviceScope.NODE:
            return 0
