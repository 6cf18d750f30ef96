"""Edits of an OCI bundle's config.json, for runc, crun and whatever else reads it."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from placer.node.render.cgroup import (
    PERIOD_US,
    cfs_quota_us_of_limit,
    cpu_shares_of,
    page_size_name,
)
from placer.node.targets import ContainerCgroupTarget
from placer_models.cpuset import format_cpu_list
from placer_models.environment import Env

Config = dict[str, Any]

BIND = "MPOL_BIND"


def container_config_with_placement(
    config: Mapping[str, Any],
    target: ContainerCgroupTarget,
    env: Env,
    cgroup: str | None,
    features: Mapping[str, Any] | None = None,
) -> Config:
    """Return a container's config.json with what its placement says; all else stays.

    Args:
        config: The config before the edit.
        target: What the container gets.
        env: Its environment; variables of the same name are replaced.
        cgroup: Its cgroup, below the root; None to leave it where the config says.
        features: What ``runc features`` or ``crun features`` prints; without it nothing is
            written that older runtimes do not know.

    """
    edited = deepcopy(dict(config))
    process = edited.setdefault("process", {})
    told = dict(env)
    kept = [line for line in process.get("env", []) if line.partition("=")[0] not in told]
    process["env"] = [*kept, *(f"{name}={value}" for name, value in env)]
    linux = edited.setdefault("linux", {})
    if cgroup is not None:
        linux["cgroupsPath"] = f"/{cgroup}"
    resources = linux.setdefault("resources", {})
    cpu = resources.setdefault("cpu", {})
    cpu["cpus"] = format_cpu_list(target.cpus)
    cpu["mems"] = format_cpu_list(target.mems)
    cpu["shares"] = cpu_shares_of(target.cpu_milli)
    limits = target.limits
    cpu.pop("quota", None)  # no quota at all, rather than -1: crun 1.8 cannot write that on v1
    if not target.pinned and limits.cpu_milli is not None:
        cpu["period"] = PERIOD_US
        cpu["quota"] = cfs_quota_us_of_limit(limits.cpu_milli)
    if limits.memory_bytes is not None:
        memory = resources.setdefault("memory", {})
        memory["limit"] = limits.memory_bytes
        if limits.swap_bytes is not None:  # the limit of both together, as on version 1
            memory["swap"] = limits.memory_bytes + limits.swap_bytes
    if limits.pids is not None:
        resources.setdefault("pids", {})["limit"] = limits.pids
    if target.hugepages:
        pages = {page_size_name(size): limit for size, limit in target.hugepages}
        others = [
            one for one in resources.get("hugepageLimits", []) if one.get("pageSize") not in pages
        ]
        asked = [{"pageSize": name, "limit": limit} for name, limit in pages.items()]
        resources["hugepageLimits"] = [*others, *asked]
    if target.pinned and BIND in _memory_modes(features):
        linux["memoryPolicy"] = {"mode": BIND, "nodes": format_cpu_list(target.mems)}
    return edited


def _memory_modes(features: Mapping[str, Any] | None) -> list[str]:
    """Return the memory policies that a runtime says it knows."""
    linux = (features or {}).get("linux") or {}
    modes = (linux.get("memoryPolicy") or {}).get("modes") or []
    return [mode for mode in modes if isinstance(mode, str)]
