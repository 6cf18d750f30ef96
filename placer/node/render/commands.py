"""Command lines that start a process where a container of a document would run."""

from placer.node.render.cgroup import PERIOD_US, cfs_quota_us_of_limit, cpu_shares_of
from placer.node.render.environment import device_grants_of_container
from placer.node.targets import ContainerCgroupTarget
from placer_models.cluster import Node
from placer_models.cpuset import format_cpu_list
from placer_models.device import GPU
from placer_models.visible_devices import GpuVendor, gpu_has_runtime_readable_id, gpu_vendor_of

_CDI_KIND = {GpuVendor.NVIDIA: "nvidia.com/gpu", GpuVendor.AMD: "amd.com/gpu"}


def numactl_line(target: ContainerCgroupTarget) -> str:
    """Return the words before a command that keep it to the container's CPUs and memory."""
    cpus, mems = format_cpu_list(target.cpus), format_cpu_list(target.mems)
    return f"numactl --physcpubind={cpus} --membind={mems} --"


def taskset_line(target: ContainerCgroupTarget) -> str:
    """Return the words before a command that keep it to the CPUs; its memory may be anywhere."""
    return f"taskset --cpu-list {format_cpu_list(target.cpus)}"


def container_run_flags(target: ContainerCgroupTarget, node: Node) -> tuple[str, ...]:
    """Return the flags of ``docker run`` and ``podman run``; the environment is in its file."""
    limits = target.limits
    found = [
        f"--cpuset-cpus={format_cpu_list(target.cpus)}",
        f"--cpuset-mems={format_cpu_list(target.mems)}",
        f"--cpu-shares={cpu_shares_of(target.cpu_milli)}",
    ]
    if limits.cpu_milli is not None and not target.pinned:
        found += [
            f"--cpu-period={PERIOD_US}",
            f"--cpu-quota={cfs_quota_us_of_limit(limits.cpu_milli)}",
        ]
    if limits.memory_bytes is not None:
        found.append(f"--memory={limits.memory_bytes}b")
        if limits.swap_bytes is not None:  # the limit of both together
            found.append(f"--memory-swap={limits.memory_bytes + limits.swap_bytes}b")
    if limits.pids is not None:
        found.append(f"--pids-limit={limits.pids}")
    held = {grant.minor for grant in device_grants_of_container(target) if grant.type == GPU}
    for gpu in node.machine.devices:
        if gpu.type == GPU and gpu.minor in held:
            name = gpu.id if gpu_has_runtime_readable_id(gpu) else str(gpu.minor)
            found.append(f"--device={_CDI_KIND[gpu_vendor_of(gpu)]}={name}")
    return tuple(found)
