"""The environment of a container: its GPUs, its threads, its network cards.

GPUs are named by UUID wherever they have one, for that is right everywhere. Where they have
none, a variable that the container's runtime reads holds the node's numbers, and one that a
process in the container reads counts the container's GPUs from 0. No variable mixes the two.
"""

import re
from collections.abc import Sequence

from placer.judge.container_parts import devices_of_container
from placer.judge.scene import placed_pod_of
from placer.node.targets import ContainerCgroupTarget
from placer_models.cluster import Node
from placer_models.cpuset import format_cpu_list
from placer_models.device import GPU, Device, is_mig_instance
from placer_models.environment import Env, environment_value_fault, variable_name_fault
from placer_models.placement import DeviceGrant
from placer_models.visible_devices import (
    UNNAMED_GPUS,
    GpuVendor,
    gpu_environment,
    gpu_has_runtime_readable_id,
    gpu_vendor_of,
)

RDMA = "rdma"

_PLAIN = re.compile(r"[A-Za-z0-9_.,:/=+@%{}-]*")
"""Values that systemd reads as they are, without quotes."""

_SPECIAL = re.compile(r'["\\`$]')
"""What a backslash keeps as it is inside systemd's double quotes."""

_OF_PROCESSES = {
    GpuVendor.NVIDIA: "CUDA_VISIBLE_DEVICES",
    GpuVendor.AMD: "ROCR_VISIBLE_DEVICES",
}
"""Vendor -> the variable that its programs read themselves."""


def container_environment_of(target: ContainerCgroupTarget, node: Node) -> Env:
    """Return the environment of one container, ascending by variable.

    What its placement says takes precedence over what follows from its devices and CPUs.

    Raises:
        ValueError: A name or a value is one that some reader would take for something else.

    """
    grants = device_grants_of_container(target)
    gpus = [device for device in node.machine.devices if device.type == GPU]
    held = {grant.minor for grant in grants if grant.type == GPU}
    has_instances = any(is_mig_instance(grant.type) for grant in grants)
    unnamed = UNNAMED_GPUS in node.labels
    found = dict(gpu_environment(held, gpus, has_instances=has_instances, unnamed=unnamed))
    if not (unnamed and held):
        found |= _for_processes(held, gpus, has_instances=has_instances)
    found |= _threads(target)
    found |= _network_cards(grants, node)
    seat = target.one.placement
    found |= dict(seat.env)
    found |= next((dict(c.env) for c in seat.containers if c.name == target.container), {})
    for name, value in found.items():
        if told := variable_name_fault(name) or environment_value_fault(value):
            raise ValueError(f"container {target.title}: env: {name!r}: {told}")
    return tuple(sorted(found.items()))


def environment_file_text(env: Env) -> str:
    """Return the text of an environment file as docker and podman read it: lines as they are."""
    return "".join(f"{name}={value}\n" for name, value in env)


def systemd_environment_file_text(env: Env) -> str:
    """Return the text of an environment file as systemd reads it (``EnvironmentFile=``).

    systemd takes quotes, backslashes and blanks at the ends of a value for its own; in double
    quotes it takes nothing but what is escaped here.
    """
    return "".join(f"{name}={_quoted(value)}\n" for name, value in env)


def device_grants_of_container(target: ContainerCgroupTarget) -> tuple[DeviceGrant, ...]:
    """Return the devices of one container."""
    one = target.one
    seat = one.placement
    tenant = placed_pod_of(one.pod, seat, new=True)
    part = next((part for part in seat.containers if part.name == target.container), None)
    return devices_of_container(tenant, part) if part else ()


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    return '"' + _SPECIAL.sub(r"\\\g<0>", value) + '"'


def _for_processes(
    held: set[int], gpus: Sequence[Device], *, has_instances: bool
) -> dict[str, str]:
    """Name the GPUs for processes in the container: by UUID, or else counted from 0."""
    found = {}
    for vendor, variable in _OF_PROCESSES.items():
        of_vendor = [gpu for gpu in gpus if gpu_vendor_of(gpu) is vendor]
        if not of_vendor or (has_instances and vendor is GpuVendor.NVIDIA):
            continue
        own = [gpu for gpu in of_vendor if gpu.minor in held]
        # AMD's programs want ids in another form than its container runtime.
        by_id = vendor is GpuVendor.NVIDIA and all(gpu_has_runtime_readable_id(gpu) for gpu in own)
        found[variable] = ",".join(gpu.id if by_id else str(i) for i, gpu in enumerate(own))
    return found


def _threads(target: ContainerCgroupTarget) -> dict[str, str]:
    """Say how many threads OpenMP may start and, if the CPUs are its own, where each belongs."""
    if not target.pinned:
        return {"OMP_NUM_THREADS": str(max(1, -(-target.cpu_milli // 1000)))}
    cpus = sorted(target.cpus)
    return {
        "OMP_NUM_THREADS": str(len(cpus)),
        "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in cpus),
        "OMP_PROC_BIND": "close",
        "GOMP_CPU_AFFINITY": format_cpu_list(cpus),
    }


def _network_cards(grants: Sequence[DeviceGrant], node: Node) -> dict[str, str]:
    """Name the RDMA cards that NCCL may use; ``=`` asks for exact names."""
    ids = {(d.type, d.minor): d.id for d in node.devices}
    cards = [ids.get((grant.type, grant.minor), "") for grant in grants if grant.type == RDMA]
    return {"NCCL_IB_HCA": f"={','.join(cards)}"} if cards and all(cards) else {}
