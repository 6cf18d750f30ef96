"""Scopes: within what the devices of a type, of one pod, have to be together."""

from collections.abc import Iterator

from placer.judge.family import JudgedFamily
from placer.judge.finding import Finding
from placer.judge.scene import Scene
from placer_models.cpuset import format_cpu_list
from placer_models.device import Device
from placer_models.policy import DeviceScope


def device_scope(scene: Scene) -> Iterator[Finding]:
    """All devices of a type are within the scope that the pod asks for."""
    for site, tenant in scene.newcomers:
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


JUDGED = JudgedFamily(rules={"device-scope": device_scope})
