"""A real systemd changes the cgroups of its units when Placer asks: what the stand-in is held to.

It runs as a manager for users, which needs no machine booted by it and does with its units what
the first process does with the system's.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from node.environment_readers import awkward_values
from node.kernel_machine import KernelMachine
from node.node_documents import a_document, a_node, a_pod
from placer.node.apply import apply
from placer.node.cgroups import CgroupReader
from placer.node.errors import CgroupVanishedError
from placer.node.host import HostFactsForApply
from placer.node.render.environment import systemd_environment_file_text
from placer.node.render.systemd import systemd_property_for
from placer.node.state import AppliedStateFolder
from placer.node.systemd_units import SystemdBusClient
from placer_models.cpuset import format_cpu_list
from placer_models.environment import environment_value_fault
from placer_models.policy import QosClass

if os.environ["PLACER_VM"] != "v2":
    pytest.skip("systemd sets CPUs on version 2 only", allow_module_level=True)
dbus_fast = pytest.importorskip("dbus_fast")

from node.systemd_stand_in import CONFIG

MANAGER, DAEMON = Path("/usr/lib/systemd/systemd"), Path("/usr/bin/dbus-daemon")
PATIENCE = float(os.environ["PLACER_VM_PATIENCE"])
TOP = "users.slice"
SCOPES = {
    uid: f"{TOP}/kubepods.slice/kubepods-pod{uid}.slice/cri-containerd-c{uid}.scope" for uid in "ab"
}
UNITS = {
    "default.target": "[Unit]\nDefaultDependencies=no\nWants=dbus.socket dbus.service\n",
    "dbus.socket": "[Unit]\nDefaultDependencies=no\n[Socket]\nListenStream=%t/bus\n",
    "dbus.service": """
        [Unit]
        DefaultDependencies=no
        Requires=dbus.socket
        [Service]
        ExecStart={daemon} --config-file={config} --address=systemd: --nofork --nopidfile
    """,
    "basic.target": "",
    "shutdown.target": "",
    "exit.target": "",
}
"""What it starts: a D-Bus daemon, on which it is then; and names that it looks for."""

RUNTIME = Path("/run/placer-test")


class Manager:
    """A systemd, with a unit for a container of pod a and one of pod b."""

    def __init__(self, folder: Path) -> None:
        self.kernel = KernelMachine(2, (TOP,))
        self.kernel.clean()
        self.kernel.files.write("cgroup.subtree_control", "+cpuset +cpu +memory +pids")
        self.kernel.files.make_directory(TOP)
        config = folder / "bus.conf"
        config.write_text(CONFIG.format(socket=folder / "unused"))
        for name, text in UNITS.items():
            told = dedent(text).replace("{config}", str(config)).replace("{daemon}", str(DAEMON))
            (folder / name).write_text(told)
        Path("/run/systemd/system").mkdir(parents=True, exist_ok=True)
        RUNTIME.mkdir(exist_ok=True)
        self.asks = SystemdBusClient(f"unix:path={RUNTIME}/bus", answer_s=120 * PATIENCE)
        self.log = folder / "log"
        environment = {
            "HOME": str(folder),
            "PATH": "/usr/bin",
            "SYSTEMD_UNIT_PATH": f"{folder}:",  # and where properties are kept
            "XDG_RUNTIME_DIR": str(RUNTIME),
        }
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [MANAGER, "--user"],
                env=environment,
                preexec_fn=lambda: Path(f"/sys/fs/cgroup/{TOP}/cgroup.procs").write_text("0"),
                stdout=log,
                stderr=log,
            )
        give_up = time.monotonic() + 120 * PATIENCE
        while why := self.asks.trouble():
            assert time.monotonic() < give_up, f"{why}\n{self.log.read_text()}"
            time.sleep(0.2)
        self.sleepers = [self._start(uid) for uid in SCOPES]

    def call(self, member: str, signature: str = "", *body: Any) -> None:
        """Call a method of the manager."""
        self.asks._ask("org.freedesktop.systemd1.Manager", member, signature, body)

    def file(self, uid: str, name: str) -> str:
        """Return what a file of a container's cgroup says."""
        return self.kernel.files.read(f"{SCOPES[uid]}/{name}")

    def _start(self, uid: str) -> "subprocess.Popen[bytes]":
        sleeper = subprocess.Popen([sys.executable, "-S", "-c", "import time\ntime.sleep(999)"])
        slice_, scope = SCOPES[uid].split("/")[-2:]
        variant = dbus_fast.Variant
        told = [["PIDs", variant("au", [sleeper.pid])], ["Slice", variant("s", slice_)]]
        self.call("StartTransientUnit", "ssa(sv)a(sa(sv))", scope, "fail", told, [])
        give_up = time.monotonic() + 60 * PATIENCE
        while not self.kernel.files.exists(SCOPES[uid]):
            assert time.monotonic() < give_up, self.log.read_text()
            time.sleep(0.1)
        return sleeper

    def stop(self) -> None:
        self.asks.close()
        self.process.kill()
        self.process.wait()
        for folder, _, _ in os.walk(f"/sys/fs/cgroup/{TOP}"):
            Path(folder, "cgroup.kill").write_text("1")
        for sleeper in self.sleepers:
            sleeper.wait()
        time.sleep(0.5)
        self.kernel.clean()
        shutil.rmtree("/run/systemd/system")


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    """A systemd on a bus of its own."""
    if not (MANAGER.exists() and DAEMON.exists()):
        pytest.skip("systemd and dbus-daemon were not on the machine that made this one")
    found = Manager(tmp_path_factory.mktemp("systemd"))
    yield found
    found.stop()


def test_it_does_what_it_is_asked_before_it_takes_the_next_message(manager: Manager) -> None:
    """
    Its answer may come before the kernel is told; after the answer to one more message it is.
    That is what an undo waits for.
    """
    early = 0
    for i in range(20):
        wanted = "2-3" if i % 2 else "1,6"
        manager.asks.set("cri-containerd-ca.scope", [systemd_property_for("cpuset.cpus", wanted)])
        early += manager.file("a", "cpuset.cpus") != wanted
        manager.asks.settle()
        assert manager.file("a", "cpuset.cpus") == wanted
    results = Path(os.environ["PLACER_VM_RESULTS"])
    (results / "systemd-early.txt").write_text(f"{early} of 20 answers came before the file\n")


def test_containers_in_its_units_follow_documents(manager: Manager, tmp_path: Path) -> None:
    """
    CPUs, memory and quota come by properties, which a reload keeps; what was written behind its
    back is gone after one, and repaired by asking again.
    """
    cgroups = CgroupReader(manager.kernel.files, manager.asks, [f"{TOP}/kubepods.slice"])
    host = HostFactsForApply("n0", frozenset(range(8)), systemd=True)
    state = AppliedStateFolder(tmp_path / "state")
    manager.asks.set("cri-containerd-cb.scope", [systemd_property_for("cpu.max", "150000 100000")])
    manager.asks.settle()

    def place(a: str, b: str, generation: int) -> Any:
        pods = (
            a_pod("a", QosClass.LSE, a, memory={1: 1 << 30}, uid="a"),
            a_pod("b", QosClass.LSR, b, uid="b"),
        )
        document = a_document(*pods, generation=generation, node=a_node())
        # A file is gone for a moment while systemd turns its controller on, which looks as if the
        # cgroup were. All is taken back then, and the agent tries again.
        for _ in range(3):
            with suppress(CgroupVanishedError), state.locked():
                return apply(document, cgroups, host, state)
            time.sleep(0.5)
        with state.locked():
            return apply(document, cgroups, host, state)

    def has() -> list[str]:
        return [
            format_cpu_list(cgroups.effective(cgroup, "cpuset.cpus")) for cgroup in SCOPES.values()
        ]

    applied = place("2-3", "5", 1)
    assert not applied.plan.observed
    assert {one.unit for one in applied.plan.operations} == {
        "cri-containerd-ca.scope",
        "cri-containerd-cb.scope",
    }
    assert has() == ["2-3", "5"]
    assert manager.file("a", "cpuset.mems.effective") == "1"
    quota = f"{SCOPES['b']}/cpu.max"
    assert not manager.kernel.files.exists(quota), "nothing there needs the controller"

    place("5", "2-3", 2)
    assert has() == ["5", "2-3"]
    manager.call("Reload")
    manager.asks.settle()
    assert has() == ["5", "2-3"]

    manager.kernel.files.write(f"{SCOPES['a']}/cpuset.cpus", "7")
    assert has() == ["7", "2-3"]
    place("5", "2-3", 2)
    assert has() == ["5", "2-3"]


def test_it_reads_environment_files_as_they_are_meant(manager: Manager, tmp_path: Path) -> None:
    """
    Awkward values and a thousand random ones, through its own parser, into a process.
    """
    draw = random.Random(26)
    letters = "\\\"'`$#;= \tab%{}*~nr\ufeffé"
    values = [*awkward_values()]
    values += ["".join(draw.choices(letters, k=draw.randint(0, 12))) for _ in range(1000)]
    values = [value for value in values if environment_value_fault(value) is None]
    env = tuple((f"PLACER_{i}", value) for i, value in enumerate(values))
    file, seen = tmp_path / "environment.systemd", tmp_path / "seen"
    file.write_text(systemd_environment_file_text(env))
    say = "import os; open(os.environb[b'SEEN'] + b'.new', 'wb').write("
    say += "b'\\0'.join(n + b'=' + v for n, v in os.environb.items()));"
    say += "os.rename(os.environb[b'SEEN'] + b'.new', os.environb[b'SEEN'])"
    variant = dbus_fast.Variant
    command = [sys.executable, ["python3", "-S", "-c", say.replace("$", "$$")], False]
    told = [
        ["Type", variant("s", "oneshot")],
        ["DefaultDependencies", variant("b", False)],
        ["Environment", variant("as", [f"SEEN={seen}"])],
        ["EnvironmentFiles", variant("a(sb)", [[str(file), False]])],
        ["ExecStart", variant("a(sasb)", [command])],
    ]
    manager.call("StartTransientUnit", "ssa(sv)a(sa(sv))", "reads.service", "fail", told, [])
    give_up = time.monotonic() + 60 * PATIENCE
    while not seen.exists():
        assert time.monotonic() < give_up, manager.log.read_text()
        time.sleep(0.2)

    lines = seen.read_bytes().decode().split("\0")
    found = dict(line.split("=", 1) for line in lines)
    assert {name: found.get(name) for name, _ in env} == dict(env)
