"""Mounts of a machine's cgroup file systems; a mixture of both versions is refused."""

import errno
from pathlib import Path

from placer.node.cgroup_files import KernelCgroupFilesystem
from placer.node.cgroups import CPU, CPUSET, HUGETLB, MEMORY, PIDS
from placer.node.errors import HostCannotApplyError

_USED = (CPUSET, CPU, MEMORY, PIDS)
"""The controllers that are needed, all on one version."""


class CgroupMountError(HostCannotApplyError):
    """The cgroup file systems cannot be used; ``str()`` says why and what to do."""


def kernel_cgroup_filesystem(
    mountinfo: Path = Path("/proc/self/mountinfo"),
) -> KernelCgroupFilesystem:
    """Return the cgroup files of this machine.

    Raises:
        CgroupMountError: There are none, they may not be written, or some of the controllers that
            are used are on version 1 and some on version 2.

    """
    v1: dict[str, Path] = {}
    v2: Path | None = None
    frozen = set()
    for line in mountinfo.read_text().splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, _, options) = before.split(" "), after.split(" ", 2)
        root, where = fields[3], Path(_unescaped(fields[4]))
        if kind not in ("cgroup", "cgroup2"):
            continue
        if root != "/":
            continue  # a part of the tree, mounted elsewhere
        if "ro" in fields[5].split(","):
            frozen.add(where)
        if kind == "cgroup2":
            v2 = v2 or where
        else:
            for name in options.split(","):
                if name in (*_USED, HUGETLB):
                    v1.setdefault(name, where)
    on_v2 = _controllers(v2) if v2 is not None else ()
    if v1.keys() - {HUGETLB} and any(name in on_v2 for name in _USED):
        raise CgroupMountError(
            f"the controllers {', '.join(sorted(v1))} are on cgroup v1 and "
            f"{', '.join(name for name in _USED if name in on_v2)} on v2; Placer wants all of them "
            "on one: boot with systemd.unified_cgroup_hierarchy=1, or with 0"
        )
    if CPUSET in v1:
        used = KernelCgroupFilesystem(1, v1)
    elif v2 is not None and CPUSET in on_v2:
        used = KernelCgroupFilesystem(2, {"": v2})
    else:
        raise CgroupMountError(
            "no cgroup file system with the cpuset controller is mounted; mount one, such as "
            "'mount -t cgroup2 none /sys/fs/cgroup'"
        )
    for where in used.mounts.values():
        if where in frozen:
            raise CgroupMountError(f"{where} is mounted read-only; 'mount -o remount,rw {where}'")
    return used


def _controllers(mount: Path) -> tuple[str, ...]:
    try:
        return tuple((mount / "cgroup.controllers").read_text().split())
    except OSError as error:
        if error.errno == errno.ENOENT:
            return ()
        raise CgroupMountError(
            f"{mount}/cgroup.controllers cannot be read: {error.strerror}"
        ) from None


def _unescaped(path: str) -> str:
    """Return the path that mountinfo means: it writes blanks and backslashes as octal numbers."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(code, character)
    return path
