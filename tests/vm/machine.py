"""An emulated machine of 2 packages, 2 NUMA nodes and 8 threads that runs tests as its init."""

import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from vm.initramfs import write_initramfs
from vm.kernels import QEMU, CannotBootError, kernel, need_qemu

HARDWARE = """
-machine q35 -cpu max,vendor=GenuineIntel,cx16=off -m 2048
-smp 8,sockets=2,cores=2,threads=2
-object memory-backend-ram,id=m0,size=1G -numa node,nodeid=0,memdev=m0,cpus=0-3
-object memory-backend-ram,id=m1,size=1G -numa node,nodeid=1,memdev=m1,cpus=4-7
-numa dist,src=0,dst=1,val=21
-device pxb-pcie,id=near0,bus_nr=64,numa_node=0,bus=pcie.0
-device pcie-root-port,id=port0,bus=near0,chassis=1 -device edu,bus=port0
-device pxb-pcie,id=near1,bus_nr=128,numa_node=1,bus=pcie.0
-device pcie-root-port,id=port1,bus=near1,chassis=2 -device edu,bus=port1
-accel tcg,thread=single -display none -no-reboot -nodefaults
"""
"""Threads 0-3 are package 0 and NUMA node 0, two cores of two; each node has one PCI device.
Without `vendor=GenuineIntel` the kernel sees no SMT. TCG (qemu 7.2) makes mistakes in cmpxchg16b,
so the kernel is told to do without; and with a thread for each CPU it sometimes runs the int3
of a patched instruction, which the first cpuset of a kernel patches: so one thread for all."""

LIMIT_S = 400
"""A boot takes some 10 s on an idle host, and many times that on a busy one."""

PYTEST_INI = "[pytest]\naddopts = --import-mode=importlib\nstrict = true\n"


@dataclass(frozen=True, slots=True)
class Run:
    """What one boot brought back."""

    passed: bool
    output: str
    files: dict[str, str]
    kernel: str
    seconds: float


def boot(series: str, cgroup: str, tests: str, cache: Path, shared: Path | None = None) -> Run:
    """Boot a kernel with cgroups of a version, run tests inside, and return what they say.

    Args:
        shared: Folder whose files of peers' cases are readable inside.

    Raises:
        CannotBootError: qemu or the kernel cannot be had here.
    """
    cache = cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    need_qemu()
    image = kernel(series, cache)
    job = {"cgroup": cgroup, "tests": tests}
    files = {"/job.json": json.dumps(job).encode(), "/placer/vm.ini": PYTEST_INI.encode()}
    if shared is not None and (shared / "cases").is_dir():
        for path in (shared / "cases").glob("*cpuset*.json"):
            files[f"/shared/cases/{path.name}"] = path.read_bytes()
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        initramfs, console, answer = (
            Path(folder, name) for name in ("initramfs", "console", "answer")
        )
        write_initramfs(initramfs, files)
        command = [
            "nice", QEMU, *HARDWARE.split(), "-kernel", str(image), "-initrd", str(initramfs),
            "-append", "console=ttyS0 quiet panic=-1 rdinit=/init",
            "-serial", f"file:{console}", "-serial", f"file:{answer}",
        ]  # fmt: skip
        begin = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise CannotBootError(f"no answer in {LIMIT_S} s:\n{_tail(console)}") from None
        seconds = time.monotonic() - begin
        if done.returncode != 0:
            raise CannotBootError(f"qemu: {done.stderr.strip()[-800:]}")
        text = answer.read_text() if answer.exists() else ""
        if not text.endswith("\n"):
            raise CannotBootError(f"the machine stopped without an answer:\n{_tail(console)}")
    result = json.loads(text)
    return Run(
        passed=result["exit"] == 0,
        output=result["output"],
        files=result["files"],
        kernel=result["kernel"],
        seconds=seconds,
    )


def _tail(console: Path) -> str:
    return console.read_text(errors="replace")[-2000:] if console.exists() else "no console"
