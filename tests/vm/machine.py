"""An emulated machine of 2 packages, 2 NUMA nodes and 8 threads that runs tests as its init."""

import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from vm.initramfs import write_initramfs
from vm.kernels import QEMU
from vm.limit import TooLongError, patience, wait_within
from vm.scheduler import Scheduler

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

KERNEL_WORDS = "console=ttyS0 quiet panic=-1 rdinit=/init no_timer_check hugepagesz=2M hugepages=16"
"""8 hugepages on each NUMA node. While it boots a kernel waits for four ticks of its timer, and
panics where there are none in time ("IO-APIC + timer doesn't work"), as on a host that is busy
elsewhere just then: `no_timer_check` takes the timer for granted."""

LIMIT_S = 480
"""Two machines at once take some two minutes on an idle host; waiting for a CPU does not count."""

READ_INSIDE = ("cases/kernel_cpuset_v2_partition.json",)
"""Other people's files that tests inside the machine look at."""

PYTEST_INI = "[pytest]\naddopts = --import-mode=importlib\nstrict = true\n"


class NoAnswerError(Exception):
    """The machine booted, and did not say how its tests ended; the text says what it did say."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one boot brought back."""

    passed: bool
    output: str
    files: dict[str, str]
    kernel: str
    seconds: float


def boot(image: Path, cgroup: str, tests: str, cache: Path, shared: Path | None = None) -> Run:
    """Boot a kernel with cgroups of a version, run tests inside, and return what they say.

    Args:
        image: The kernel.
        cgroup: The version, ``v1`` or ``v2``.
        tests: Paths below the checkout, and options of pytest.
        cache: Folder for large files.
        shared: Folder whose files ``READ_INSIDE`` are readable inside.

    Raises:
        NoAnswerError: It hangs, or stopped too soon.

    """
    job = {"cgroup": cgroup, "tests": tests, "patience": f"{patience():.1f}"}
    files = {"/job.json": json.dumps(job).encode(), "/placer/vm.ini": PYTEST_INI.encode()}
    if shared is not None:
        for name in READ_INSIDE:
            if (shared / name).is_file():
                files[f"/shared/{name}"] = (shared / name).read_bytes()
    with (
        tempfile.TemporaryDirectory(dir=cache) as folder,
        tempfile.TemporaryDirectory(prefix="placer-vm-") as short,  # paths of sockets are short
    ):
        initramfs, console, answer, complaints = (
            Path(folder, name) for name in ("initramfs", "console", "answer", "complaints")
        )
        write_initramfs(initramfs, files)
        port = Path(short, "scheduler")
        command = [
            "nice", QEMU, *HARDWARE.split(), "-kernel", str(image), "-initrd", str(initramfs),
            "-append", KERNEL_WORDS,
            "-serial", f"file:{console}", "-serial", f"file:{answer}",
            "-chardev", f"socket,id=scheduler,path={port},server=on,wait=off",
            "-serial", "chardev:scheduler",
        ]  # fmt: skip
        begin = time.monotonic()
        with Scheduler(port):
            with complaints.open("w") as said:
                process = subprocess.Popen(command, stdout=said, stderr=said, text=True)
            try:
                wait_within(process, LIMIT_S)
            except TooLongError as error:
                raise NoAnswerError(f"{error}:\n{_tail(console)}") from None
            finally:
                process.kill()  # on Ctrl-C
        seconds = time.monotonic() - begin
        if process.returncode != 0:
            raise NoAnswerError(f"qemu: {_tail(complaints)[-800:]}")
        text = answer.read_text() if answer.exists() else ""
        if not text.endswith("\n"):
            raise NoAnswerError(f"the machine stopped without an answer:\n{_tail(console)}")
    result = json.loads(text)
    return Run(
        passed=result["exit"] == 0,
        output=result["output"],
        files=result["files"],
        kernel=result["kernel"],
        seconds=seconds,
    )


def _tail(console: Path) -> str:
    return console.read_text(errors="replace")[-2000:] if console.exists() else "nothing said"
