"""The unit file of the agent: systemd understands it, and the agent can live with what it says."""

import configparser
import ctypes
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from node.kernel_machine import alone_on_the_kernel, cgroup_files_or_skip
from node.node_documents import a_document, a_node, a_pod
from placer.node.cgroups import CPU, CPUS, CPUSET, MEMORY, PIDS, CgroupReader
from placer.node.systemd_units import ANSWER_S, SETTLE_S
from placer_cli.app import app
from placer_models.instance.node_file import node_placement_document_to_dict
from placer_models.limits import ContainerLimits
from placer_models.policy import QosClass

UNIT = Path(__file__).parents[2] / "docs" / "systemd" / "placer-agent.service"
PLACER = Path(sys.executable).with_name("placer")
PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
KERNEL = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])


@pytest.fixture
def service() -> dict[str, str]:
    """The section of the service."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)  # some stand twice
    parser.optionxform = str
    parser.read(UNIT)
    return dict(parser["Service"])


def test_systemd_has_nothing_to_say_about_it(tmp_path: Path) -> None:
    """
    Every name and value is known, with the command where it is on this machine.
    """
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed; 'make container-test' installs it")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/usr/bin/placer", str(PLACER)))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_says_what_the_agent_takes(service: dict[str, str]) -> None:
    """
    Its options are there, its folders are those that systemd makes, it tells systemd itself
    that it is ready, and a watchdog outlasts an undo that waits for systemd.
    """
    _, command, *words = shlex.split(service["ExecStart"])
    options = dict(zip(words[::2], words[1::2], strict=True))
    known = {name for one in get_command(app).commands[command].params for name in one.opts}
    assert set(options) <= known
    assert options["--state"] == f"/var/lib/{service['StateDirectory']}"
    assert options["--listen"].startswith(f"unix:/run/{service['RuntimeDirectory']}/")
    assert f"install -d -m 0700 {options['--documents']}\n" in UNIT.read_text()
    assert (service["Type"], service["NotifyAccess"]) == ("notify", "main")
    assert int(service["WatchdogSec"]) > ANSWER_S + SETTLE_S + ANSWER_S


def test_it_leaves_the_cgroups_to_the_agent(service: dict[str, str]) -> None:
    """
    They may be written, and the controllers that systemd knows are there at the top.
    """
    assert service["ProtectControlGroups"] == "no"
    assert "ProtectKernelTunables" not in service, "it would make /sys read-only"
    assert "ReadOnlyPaths" not in service
    assert set(service["Delegate"].split()) == {CPUSET, CPU, MEMORY, PIDS}


@pytest.mark.check
def test_its_rights_are_enough(service: dict[str, str], tmp_path: Path) -> None:
    """
    The agent runs with the capabilities, umask and protection of memory that the unit leaves it:
    it says that it is ready, applies its document, answers, and says that it stops; and whoever
    runs in its cgroups can read them.
    """
    cgroups = CgroupReader(cgroup_files_or_skip())
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv of util-linux is not installed")
    root = f"placer-test-{os.getpid()}"
    documents = tmp_path / "documents"
    documents.mkdir(mode=0o700)
    last = max(cgroups.effective("", CPUS))
    pod = a_pod("a", QosClass.LSR, str(last), limits=ContainerLimits(None, 1 << 30, 20))
    document = a_document(pod, node=a_node(last + 1, 1))
    (documents / "n0.yaml").write_text(yaml.safe_dump(node_placement_document_to_dict(document)))
    (documents / "n0.yaml").chmod(0o600)
    kept = ",".join("+" + one[4:].lower() for one in service["CapabilityBoundingSet"].split())
    umask = int(service.get("UMask", "0022"), 8)

    def protect_memory() -> None:
        os.umask(umask)
        if KERNEL >= (6, 3) and service["MemoryDenyWriteExecute"] == "yes":
            ctypes.CDLL(None).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0)

    with alone_on_the_kernel(), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        told.settimeout(60)
        agent = subprocess.Popen(
            ["setpriv", f"--bounding-set=-all,{kept}", "--no-new-privs", PLACER, "agent",
             "--documents", documents, "--state", tmp_path / "state", "--node", "n0",
             "--root", root, "--listen", f"unix:{tmp_path}/agent.sock"],
            env={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")},
            preexec_fn=protect_memory, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            while "READY=1" not in (said := told.recv(4096).decode()):
                assert said.startswith("STATUS="), said
            assert said == "READY=1\nSTATUS=generation 1, 1 pod"
            cgroup = f"{root}/a@default/main@a"
            assert cgroups.configured(cgroup, CPUS) == str(last)
            for mount in cgroups.files.mounts.values():
                if (folder := mount / cgroup).is_dir():
                    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
            assert _answer(tmp_path / "agent.sock", "/readyz").endswith("\r\n\r\nok\n")
            agent.send_signal(signal.SIGTERM)
            while "STOPPING=1" not in told.recv(4096).decode():
                pass
            assert agent.wait(60) == 0, agent.communicate()[1]
        finally:
            agent.kill()
            agent.communicate()
            for mount in cgroups.files.mounts.values():
                for folder, _, _ in os.walk(mount / root, topdown=False):
                    Path(folder).rmdir()


def _answer(server: Path, path: str) -> str:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(server))
        client.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        return b"".join(iter(lambda: client.recv(4096), b"")).decode()
