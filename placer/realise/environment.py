"""The environment of each container: the GPUs that its runtime shows it, and no others (D13)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.mig import is_instance
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.visible_devices import NO_GPU, Env, GpuVendor, has_readable_id, vendor_of


def with_environment(place: PodPlacement, node: Node) -> PodPlacement:
    """Return the place with the environment of each container, and of the pod where all agree."""
    gpus = [device for device in node.machine.devices if device.type == GPU]
    if not gpus:
        return place
    containers = tuple(
        replace(part, env=_environment(part.devices, gpus)) for part in place.containers
    )
    said = Counter(line for part in containers for line in part.env)
    agreed = tuple(line for line in sorted(said) if said[line] == len(containers))
    return replace(place, containers=containers, env=agreed)


def _environment(grants: Sequence[DeviceGrant], gpus: Sequence[Device]) -> Env:
    """Name the container's GPUs to each vendor of which the node has some.

    A MIG instance has no name before it is cut: its container's variable is left to whoever
    cuts it.
    """
    held = {grant.minor for grant in grants if grant.type == GPU}
    has_instances = any(is_instance(grant.type) for grant in grants)
    lines = []
    for vendor in GpuVendor:
        of_vendor = [gpu for gpu in gpus if vendor_of(gpu) is vendor]
        if of_vendor and not (has_instances and vendor is GpuVendor.NVIDIA):
            own = [gpu for gpu in of_vendor if gpu.minor in held]
            lines.append((vendor.value, _names(own, of_vendor)))
    return tuple(sorted(lines))


def _names(own: Sequence[Device], of_vendor: Sequence[Device]) -> str:
    """Name GPUs by id where each has one of its own, else by minor."""
    sharing = Counter(gpu.id for gpu in of_vendor)  # partitions of a GPU may have its id
    by_id = all(has_readable_id(gpu) and sharing[gpu.id] == 1 for gpu in own)
    return ",".join(gpu.id if by_id else str(gpu.minor) for gpu in own) or NO_GPU
