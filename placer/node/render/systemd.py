"""Properties of a systemd unit: what ``systemctl set-property`` and systemd's D-Bus take.

A value that is written to a unit's cgroup directly is lost at the next reload, so a unit gets
its sets from systemd. systemd wants whole sets: resetting one to nothing leaves the old file.
"""

from placer.node.render.cgroup import (
    NO_LIMIT,
    PERIOD_US,
    cfs_quota_us_of_limit,
    cpu_shares_of,
    cpu_weight_of_shares,
)
from placer.node.systemd_units import CPUSET_SINCE, SystemdUnitProperty
from placer.node.targets import ContainerCgroupTarget
from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list

PARTITION_SINCE = 261
"""The first version with CPUSetPartition."""

_QUOTA_STEP_US = 10_000
"""systemd rounds the CPU time per second up to a multiple of this."""

INFINITY = 2**64 - 1
"""The value that means no limit on D-Bus."""


def systemd_properties_of(
    target: ContainerCgroupTarget, systemd: int = CPUSET_SINCE, *, partition: str | None = None
) -> tuple[SystemdUnitProperty, ...]:
    """Return the properties of a container's unit.

    Args:
        target: What the container gets.
        systemd: Version of systemd.
        partition: ``root`` or ``isolated``, if the cpuset is to be a partition of its own;
            left out where systemd does not know it. The kernel may refuse it, which systemd
            only warns about: read ``cpuset.cpus.partition`` back.

    Raises:
        ValueError: systemd is too old for cpusets.

    """
    if systemd < CPUSET_SINCE:
        raise ValueError(
            f"systemd {systemd} has no AllowedCPUs; from version {CPUSET_SINCE} on it has"
        )
    found = [
        _set("AllowedCPUs", target.cpus),
        _set("AllowedMemoryNodes", target.mems),
    ]
    if partition is not None and systemd >= PARTITION_SINCE:
        found.append(
            SystemdUnitProperty("CPUSetPartition", partition, "CPUSetPartition", "s", partition)
        )
    limits = target.limits
    if target.pinned:
        found.append(_quota(None))
    elif limits.cpu_milli is not None:
        found.append(_quota(10 * cfs_quota_us_of_limit(limits.cpu_milli)))
    weight = cpu_weight_of_shares(cpu_shares_of(target.cpu_milli))
    found.append(_number("CPUWeight", weight))
    if limits.memory_bytes is not None:
        found.append(_number("MemoryMax", limits.memory_bytes))
    if limits.swap_bytes is not None:
        found.append(_number("MemorySwapMax", limits.swap_bytes))
    if limits.pids is not None:
        found.append(_number("TasksMax", limits.pids))
    return tuple(found)


def systemd_property_for(file: str, text: str) -> SystemdUnitProperty:
    """Return the property by which systemd writes a text to a file of version 2.

    Args:
        file: One of those that are written in cgroups of units.
        text: What it is to say; a set must not be empty.

    """
    match file:
        case "cpuset.cpus":
            return _set("AllowedCPUs", parse_cpu_list(text))
        case "cpuset.mems":
            return _set("AllowedMemoryNodes", parse_cpu_list(text))
        case "cpu.max":
            quota, _, period = text.partition(" ")
            if quota in NO_LIMIT:
                return _quota(None)
            return _quota(int(quota) * 1_000_000 // int(period or PERIOD_US))
        case _:
            raise AssertionError(f"{file} is not written in cgroups of units")


def dbus_bits_of(ids: CpuSet) -> bytes:
    """Return a set as D-Bus says it: one bit for each id, the lowest first."""
    bits = bytearray(max(ids, default=-1) // 8 + 1)
    for one in ids:
        bits[one // 8] |= 1 << one % 8
    return bytes(bits)


def _set(name: str, ids: CpuSet) -> SystemdUnitProperty:
    return SystemdUnitProperty(name, format_cpu_list(ids), name, "ay", dbus_bits_of(ids))


def _quota(second_us: int | None) -> SystemdUnitProperty:
    """Return the property for CPU time per second, in microseconds; None means no limit."""
    text, value = "", INFINITY
    if second_us is not None:
        steps = -(-second_us // _QUOTA_STEP_US)
        text, value = f"{steps}%", steps * _QUOTA_STEP_US
    return SystemdUnitProperty("CPUQuota", text, "CPUQuotaPerSecUSec", "t", value)


def _number(name: str, value: int) -> SystemdUnitProperty:
    return SystemdUnitProperty(name, str(value), name, "t", value)
