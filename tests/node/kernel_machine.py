"""The kernel that runs here, as a machine for scripts of steps."""

import ctypes
import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from placer.node.cgroup_files import KernelCgroupFilesystem
from placer.node.mounts import CgroupMountError, kernel_cgroup_filesystem
from placer_models.cpuset import format_cpu_list

LIBC = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096
V1_CONTROLLERS = ("cpuset", "cpu", "memory", "pids")
V1_SELDOM = ("hugetlb",)
"""Which is mounted in the emulated machine, and not everywhere."""

ROOT = Path("/sys/fs/cgroup")

SLEEP = "import time\ntime.sleep(999)"
"""A program that wants no CPU."""


@contextmanager
def alone_on_the_kernel() -> Iterator[None]:
    """Wait until no other test of any checkout on this machine writes the kernel's cgroups.

    Exclusive cpusets refuse siblings that overlap, so two such tests disturb each other.
    """
    with (Path(tempfile.gettempdir()) / "placer-cgroup-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cgroup_files_or_skip() -> KernelCgroupFilesystem:
    """Return the cgroup files of this machine; where they may not be written, skip the test."""
    if os.geteuid() != 0:
        pytest.skip("only root may write the host's cgroups")
    try:
        return kernel_cgroup_filesystem()
    except CgroupMountError as error:
        pytest.skip(str(error))


class KernelMachine:
    """The real thing; `clean` undoes what a script did.

    Attributes:
        tops: Names of cgroups at the root that scripts make; no others are ever removed.

    """

    def __init__(self, version: Literal[1, 2], tops: tuple[str, ...]) -> None:
        self.tops = tops
        found = [c for c in V1_SELDOM if (ROOT / c / "cgroup.procs").exists()]
        self.mounts = {c: ROOT / c for c in (*V1_CONTROLLERS, *found)}
        if version == 2:
            self.mounts = {"": ROOT}
        self.files = KernelCgroupFilesystem(version, self.mounts)
        self._read_only = False
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, path: str, program: str = SLEEP) -> int:
        process = subprocess.Popen([sys.executable, "-S", "-c", program])
        self._processes[process.pid] = process
        try:
            self.files.write(f"{path}/cgroup.procs", str(process.pid))
        except OSError:
            self.stop(process.pid)
            raise
        return process.pid

    def stop(self, pid: int) -> None:
        process = self._processes.pop(pid)
        process.kill()
        process.wait()
        time.sleep(0.05)

    def affinity(self, pid: int) -> str:
        return format_cpu_list(os.sched_getaffinity(pid))

    def set_online(self, cpu: int, online: bool) -> None:
        Path(f"/sys/devices/system/cpu/cpu{cpu}/online").write_text("1" if online else "0")
        time.sleep(0.3)  # cpusets are told by a worker of the kernel

    def set_read_only(self, read_only: bool) -> None:
        self._read_only = read_only
        flags = MS_REMOUNT | MS_BIND | (MS_RDONLY if read_only else 0)
        for mount in self.mounts.values():
            if LIBC.mount(None, os.fsencode(mount), None, flags, None) != 0:
                raise OSError(ctypes.get_errno(), "mount")

    def set_user(self, user: int) -> None:
        os.seteuid(user)

    def clean(self) -> None:
        """Undo what a script did: end its processes, remove its cgroups, plug all CPUs."""
        self.set_user(0)
        if self._read_only:
            self.set_read_only(False)
        for pid in list(self._processes):
            self.stop(pid)
        for mount in self.mounts.values():
            for top in self.tops:
                for folder, _, _ in os.walk(mount / top, topdown=False):
                    Path(folder).rmdir()
        for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/online"):
            if path.read_text().strip() == "0":
                self.set_online(int(path.parent.name[3:]), True)
