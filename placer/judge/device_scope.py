"""Scopes: within what the devices of a type, of one pod, have to be together."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement
from placer_models.cpuset import format_cpu_list
from placer_models.device import Device
from placer_models.policy import SameTypeDevicesScope


def device_scope_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """All devices of a type are within the scope that the pod asks for."""
    for judged, placed in scene.newcomers:
        for kind, scope in placed.pod.spec.scopes:
            minors = placed.place.minors(kind)
            devices = [judged.inside.devices.get((kind, minor)) for minor in minors]
            places = {None if device is None else _place(device, scope) for device in devices}
            if len(minors) > 1 and (len(places) > 1 or None in places):
                yield pod_breach_finding(
                    placed,
                    f"holds {kind} {format_cpu_list(minors)} of node {judged.node.name!r}, "
                    f"which are not known to be within one {scope}; "
                    f"it asks for all its {kind} devices within one",
                )


def _place(device: Device, scope: SameTypeDevicesScope) -> int | str | None:
    match scope:
        case SameTypeDevicesScope.PCIE:
            return device.pcie_switch
        case SameTypeDevicesScope.NUMA_NODE:
            return device.numa_node
        case SameTypeDevicesScope.PACKAGE:
            return device.package
        case SameTypeDevicesScope.NODE:
            return 0


JUDGED = JudgedFamily(rules={"device-scope": device_scope_breaches})
