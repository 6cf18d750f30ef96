"""The unit of the agent under a systemd that is the first process: its sandbox is as it is meant.

The systemd has process ids and mounts of its own, so that it is the first process there; cgroups
and devices are the machine's. NVML is a stand-in that opens the devices which the real one opens:
no driver has their number here, so that who may open them is told "no such device", and who may
not "not permitted".
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import stat
import time
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from node.kernel_machine import KernelMachine
from node.node_documents import a_document, a_pod, holding
from placer.node.discover import discover_hardware, machine_from_inventory
from placer_models.cluster import Node
from placer_models.device import Device
from placer_models.instance.node_file import node_placement_document_to_dict
from placer_models.placement import DeviceGrant
from placer_models.policy import QosClass

if os.environ["PLACER_VM"] != "v2":
    pytest.skip("systemd closes devices by programs that version 2 runs", allow_module_level=True)

MANAGER = Path("/usr/lib/systemd/systemd")
UNIT = Path("/placer/docs/systemd/placer-agent.service")
PATIENCE = float(os.environ["PLACER_VM_PATIENCE"])
LIBC = ctypes.CDLL(None, use_errno=True)
NEW_MOUNTS, NEW_PIDS = 0x00020000, 0x20000000
PRIVATE = 1 << 18 | 1 << 14
"""MS_PRIVATE and MS_REC."""

DEVICES = {
    "nvidiactl": os.makedev(195, 255),
    "nvidia0": os.makedev(195, 0),
    "another": os.makedev(190, 0),
}
"""The last one is nobody's: that it is closed shows that devices are closed at all."""

UNITS = {
    "default.target": "[Unit]\nDefaultDependencies=no\nWants=placer-agent.service\n",
    "sysinit.target": "[Unit]\nDefaultDependencies=no\n",
    "basic.target": "[Unit]\nDefaultDependencies=no\n",
    "shutdown.target": "[Unit]\nDefaultDependencies=no\n",
}
COMMAND = """\
    #!/usr/bin/python3 -B
    import sys
    from placer_cli.app import main
    sys.exit(main())
"""
NVML = """\
    import errno, os, sys
    (NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_NO_PERMISSION, NVML_ERROR_DRIVER_NOT_LOADED,
     NVML_ERROR_TIMEOUT, NVML_ERROR_LIBRARY_NOT_FOUND, NVML_ERROR_GPU_IS_LOST,
     NVML_ERROR_RESET_REQUIRED, NVML_ERROR_UNKNOWN) = 3, 4, 9, 10, 12, 15, 16, 999
    nvmlEventTypeXidCriticalError = 8
    class NVMLError(Exception):
        def __init__(self, value):
            super().__init__(f"error {value}")
            self.value = value
    def look(name):
        try:
            os.close(os.open(name, os.O_RDWR))
        except OSError as error:
            print(name, os.strerror(error.errno), file=sys.stderr, flush=True)
            if error.errno != errno.ENXIO:
                raise NVMLError(NVML_ERROR_NO_PERMISSION) from None
    def nvmlInit():
        try:
            look("/dev/another")
        except NVMLError:
            pass
        look("/dev/nvidiactl")
    def nvmlDeviceGetHandleByIndex(index):
        look(f"/dev/nvidia{index}")
        return index
    def nvmlDeviceGetUUID(gpu):
        return f"GPU-{gpu}"
    def nvmlDeviceGetCount():
        return 1
    def nvmlDeviceGetRemappedRows(gpu):
        return 0, 0, 0, 0
    def nvmlDeviceGetSupportedEventTypes(gpu):
        return 0
    def nvmlEventSetCreate():
        return None
    def nvmlEventSetFree(events):
        pass
    def nvmlShutdown():
        pass
"""


class Booted:
    """A systemd that runs the unit."""

    def __init__(self, folder: Path, unit: str) -> None:
        self.kernel = KernelMachine(2, ("placer", "system.slice", "init.scope", "user.slice"))
        self.log = Path("/run/systemd-test.log")
        for name, text in {**UNITS, "placer-agent.service": unit}.items():
            (folder / name).write_text(text)
        drop_in = folder / "placer-agent.service.d"
        drop_in.mkdir()
        shelves = ["/opt/stand-in", *os.environ["PYTHONPATH"].split(":")]
        (drop_in / "here.conf").write_text(
            f"[Service]\nEnvironment=PYTHONPATH={':'.join(shelves)}\n"
            "StandardError=append:/run/agent-test.log\n"
            "ProtectHome=no\n"  # the interpreter may be one of root's own
        )
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._become_systemd(folder)
            except BaseException as error:
                os.write(2, f"{error!r}\n".encode())
            os._exit(99)

    def _become_systemd(self, folder: Path) -> None:
        """Make a space of process ids, whose first process is systemd, and wait for its end."""
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        assert LIBC.unshare(NEW_MOUNTS | NEW_PIDS) == 0, os.strerror(ctypes.get_errno())
        if first := os.fork():
            signal.signal(signal.SIGTERM, lambda *_: os.kill(first, signal.SIGKILL))
            os.waitpid(first, 0)
            os._exit(0)
        LIBC.mount(None, b"/", None, PRIVATE, None)
        assert LIBC.mount(b"proc", b"/proc", b"proc", 0, None) == 0
        words = {"container": "placer", "SYSTEMD_UNIT_PATH": str(folder), "PATH": "/usr/bin"}
        arguments = ["systemd", "--system", "--log-target=console", "--show-status=no"]
        os.execve(MANAGER, arguments, words)

    def ready(self) -> str:
        """Return what the agent says of itself, once it answers."""
        give_up = time.monotonic() + 180 * PATIENCE
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as client:
                    client.settimeout(60)
                    client.connect("/run/placer/agent.sock")
                    client.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
                    said = b"".join(iter(lambda: client.recv(4096), b"")).decode()
            except OSError:
                assert time.monotonic() < give_up, self.log.read_text()[-6000:]
                time.sleep(0.3)
            else:
                return said.partition("\r\n\r\n")[2].strip()

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        give_up = time.monotonic() + 30 * PATIENCE
        while (left := self._processes()) and time.monotonic() < give_up:
            time.sleep(0.2)
        assert not left
        self.kernel.clean()
        shutil.rmtree("/run/placer", ignore_errors=True)
        shutil.rmtree("/var/lib/placer", ignore_errors=True)

    def _processes(self) -> list[str]:
        tops = [Path("/sys/fs/cgroup", top) for top in self.kernel.tops]
        files = [file for top in tops for file in top.rglob("cgroup.procs")]
        return [file.read_text() for file in files if file.read_text()]


@pytest.fixture
def devices():
    """Devices with the numbers of NVIDIA's, the stand-in of NVML, the command, a document."""
    if not MANAGER.exists():
        pytest.skip("systemd was not on the machine that made this one")
    for name, number in DEVICES.items():
        os.mknod(f"/dev/{name}", stat.S_IFCHR | 0o666, number)
    for name, text in {"/opt/stand-in/pynvml.py": NVML, "/usr/bin/placer": COMMAND}.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(dedent(text))
    Path("/usr/bin/placer").chmod(0o755)
    Path("/etc/placer/node").mkdir(parents=True, mode=0o700, exist_ok=True)
    Path("/var/tmp").mkdir(parents=True, exist_ok=True)
    Path("/var/lib").mkdir(parents=True, exist_ok=True)
    Path("/etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    machine = machine_from_inventory(discover_hardware(Path("/")), "vm").machine
    node = Node("vm", replace(machine, devices=(Device("gpu", 0, "GPU-0"),)))
    pod = holding(a_pod("a", QosClass.LSR, "2", node="vm"), gpu=(0,))
    grants = (DeviceGrant("gpu", 0, "GPU-0"),)
    pod = replace(pod, placement=replace(pod.placement, devices=grants))
    document = Path("/etc/placer/node/vm.json")
    document.write_text(
        json.dumps(node_placement_document_to_dict(replace(a_document(pod), node=node)))
    )
    document.chmod(0o600)
    yield
    for name in DEVICES:
        Path(f"/dev/{name}").unlink()


def without_devices(unit: str) -> str:
    return "".join(line for line in unit.splitlines(True) if not line.startswith("DeviceAllow="))


@pytest.mark.parametrize("allowed", [True, False])
def test_the_agent_may_ask_for_the_health_of_gpus(
    devices: None, tmp_path: Path, allowed: bool
) -> None:
    """
    The unit closes all devices that it does not name: without the lines of NVIDIA's the agent
    says that it may not look.
    """
    unit = UNIT.read_text()
    booted = Booted(tmp_path, unit if allowed else without_devices(unit))
    try:
        said, told = booted.ready(), ""
        log = Path("/run/agent-test.log")
        give_up = time.monotonic() + 15 * PATIENCE
        fault = "the health of GPUs is not known: NVML does not start: error 4"
        expected = "ok" if allowed else fault
        # It says "ok" before it has asked NVML, too.
        while not (said == expected and "/dev/nvidiactl" in told) and time.monotonic() < give_up:
            time.sleep(0.5)
            said, told = booted.ready(), log.read_text()
        Path(os.environ["PLACER_VM_RESULTS"], f"unit-{allowed}.log").write_text(
            told + booted.log.read_text(errors="replace")
        )

        assert Path("/var/lib/placer/applied.json").exists()
        assert said == expected
        assert "/dev/another Operation not permitted" in told
        assert ("/dev/nvidiactl No such device" in told) == allowed
        assert ("/dev/nvidiactl Operation not permitted" in told) != allowed
    finally:
        booted.stop()
        Path("/run/agent-test.log").unlink(missing_ok=True)
