#!/usr/bin/python3 -B
"""The first process of the emulated machine: mounts, runs the tests, hands back what they say."""

import ctypes
import json
import os
import platform
import socket
import subprocess
import traceback
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
POWER_OFF = 0x4321FEDC
V1_CONTROLLERS = ("cpuset", "cpu", "memory", "hugetlb", "pids")


def mount(kind: str, target: str, options: str = "") -> None:
    """Mount a file system that has no device."""
    Path(target).mkdir(parents=True, exist_ok=True)
    if LIBC.mount(kind.encode(), target.encode(), kind.encode(), 0, options.encode()) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def mount_all(cgroup: str) -> None:
    """Mount what a distribution's init mounts, with cgroups of the version asked for."""
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    mount("devtmpfs", "/dev")
    mount("tmpfs", "/tmp")
    mount("tmpfs", "/run")
    if cgroup == "v2":
        mount("cgroup2", "/sys/fs/cgroup")
        return
    mount("tmpfs", "/sys/fs/cgroup")
    for line in Path("/proc/cgroups").read_text().splitlines():
        controller, *_, enabled = line.split()
        if enabled == "1":
            mount("cgroup", f"/sys/fs/cgroup/{controller}", controller)


def run(job: dict[str, str]) -> dict[str, object]:
    """Run the tests of the job and return what the host wants to know."""
    mount_all(job["cgroup"])
    socket.sethostname("vm")
    Path("/tmp/results").mkdir()
    environment = {
        "PATH": "/usr/bin",
        "HOME": "/tmp",
        "PYTHONPATH": "/site:/placer:/placer/models:/placer/cli:/placer/tests",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PLACER_VM": job["cgroup"],
        "PLACER_VM_RESULTS": "/tmp/results",
        "PLACER_VM_PATIENCE": job["patience"],
        "PLACER_SHARED": "/shared",
    }
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-c", "/placer/vm.ini",
         "-q", "-rs", "--durations=12", "--durations-min=1", "--rootdir=/placer",
         "--confcutdir=/placer/tests/vm", *job["tests"].split()],
        cwd="/placer", env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    files = {path.name: path.read_text() for path in Path("/tmp/results").iterdir()}
    return {
        "exit": done.returncode,
        "output": done.stdout,
        "files": files,
        "kernel": platform.release(),
    }


def main() -> None:
    """Run, hand back through the second serial port, switch off."""
    os.environ["PATH"] = "/usr/bin"
    try:
        result = run(json.loads(Path("/job.json").read_text()))
    except BaseException:
        result = {"exit": 99, "output": traceback.format_exc(), "files": {}, "kernel": ""}
    port = os.open("/dev/ttyS1", os.O_WRONLY | os.O_NOCTTY)
    text = json.dumps(result).encode() + b"\n"
    while text:
        text = text[os.write(port, text) :]
    LIBC.tcdrain(port)
    LIBC.sync()
    LIBC.reboot(POWER_OFF)


main()
