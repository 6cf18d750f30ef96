"""The agent as a whole: started, told, disturbed, stopped, killed, started again."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from node.folder_cgroups import FolderCgroups, stand_in
from node.node_documents import a_document, a_node, a_pod
from node.test_agent_edges import UnixConnection, asked
from node.test_real_v1 import v1_files
from placer.node.agent import run as run_module
from placer.node.agent.agent import DriftResponse
from placer.node.agent.run import AgentOptions, run_agent
from placer.node.cgroup_files import CgroupFilesystem
from placer.node.cgroups import CPU, CPUS, CPUSET, MEMORY, PIDS, CgroupReader
from placer.node.errors import HostCannotApplyError
from placer.node.state import OBSERVE_ONLY, AppliedStateFolder
from placer_cli.exits import ExitCode
from placer_models.cpuset import format_cpu_list
from placer_models.instance.node_file import node_placement_document_to_dict
from placer_models.node_placement import NodePlacement, NodePlacementPod
from placer_models.policy import QosClass

CHANGES = run_module.CgroupWatch.changes
TESTS = Path(__file__).parents[1]
SECONDS = 30
"""So long something may take to come on a busy machine; nothing is measured."""


def until(says: Callable[[], object], expected: object) -> None:
    """Wait until something is as expected."""
    end_s = time.monotonic() + SECONDS
    while (found := says()) != expected:
        assert time.monotonic() < end_s, f"{found}, expected {expected}"
        time.sleep(0.005)


class Kernel(Protocol):
    """Cgroups that another process can use, too."""

    files: CgroupFilesystem
    document: NodePlacement
    root: str

    def command(self, *arguments: str) -> list[str]:
        """Return what runs ``placer`` on them."""


class Folder:
    """A folder in the place of the kernel's files; 8 CPUs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cgroup"
        self.folder.mkdir()
        self.files: CgroupFilesystem = FolderCgroups(self.folder)
        self.document = a_document(*pods("1"))
        self.root = "placer"

    def command(self, *arguments: str) -> list[str]:
        module = [sys.executable, "-m", "node.folder_cgroups", str(self.folder), "0-7", "--"]
        return [*module, *arguments]


class Host:
    """This machine's own cgroups of version 1."""

    def __init__(self) -> None:
        self.files: CgroupFilesystem = v1_files()
        cpus = CgroupReader(self.files).effective("", CPUS)
        self.document = a_document(*pods("1"), node=a_node(max(cpus) + 1, 1))
        self.root = f"placer-agent-{os.getpid()}"

    def command(self, *arguments: str) -> list[str]:
        return [str(Path(sys.executable).with_name("placer")), *arguments]

    def clean(self) -> None:
        for controller in (CPUSET, CPU, MEMORY, PIDS):
            top = f"{controller}/{self.root}"
            found = [top] if self.files.exists(top) else []
            for path in found:
                found += [f"{path}/{name}" for name in self.files.children(path)]
            for path in reversed(found):
                self.files.remove_directory(path)


def pods(own: str) -> tuple[NodePlacementPod, ...]:
    """One that owns CPUs; as long as it owns CPU 1, there is one that shares the others."""
    return (a_pod("a", QosClass.LSE, own), *([a_pod("c")] if own == "1" else []))


class World:
    """A node, what it is told, and a process that may be its agent."""

    def __init__(self, kernel: Kernel, folder: Path) -> None:
        self.kernel = kernel
        self.cgroups = CgroupReader(kernel.files)
        self.folder = folder
        (folder / "documents").mkdir(mode=0o700)
        self.socket = folder / "agent.sock"
        self.heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.heard.bind(str(folder / "notify"))
        self.heard.settimeout(SECONDS)
        self.agent: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start an agent; return what it tells systemd once it is ready."""
        options = ("--documents", str(self.folder / "documents"), "--node", "n0")
        options += ("--state", str(self.folder / "state"), "--root", self.kernel.root)
        environment = {"PYTHONPATH": str(TESTS), "NOTIFY_SOCKET": str(self.folder / "notify")}
        with (self.folder / "log").open("ab") as log:
            self.agent = subprocess.Popen(
                self.kernel.command("agent", *options, "--listen", f"unix:{self.socket}"),
                env=os.environ | environment,
                stderr=log,
            )
        return self.hear("READY=1")

    def hear(self, word: str) -> str:
        """Return the datagram that begins with a word."""
        while True:
            try:
                told = self.heard.recv(4096).decode()
            except TimeoutError:
                raise AssertionError((self.folder / "log").read_text()) from None
            if told.startswith(word):
                return told

    def end(self, number: int) -> int:
        """End the agent by a signal; return its exit code."""
        assert self.agent is not None
        self.agent.send_signal(number)
        code = self.agent.wait(SECONDS)
        self.agent = None
        return code

    def send(self, own: str, generation: int) -> None:
        document = replace(self.kernel.document, pods=pods(own), generation=generation)
        new = self.folder / "documents" / ".new"
        new.write_text(json.dumps(node_placement_document_to_dict(document)))
        new.chmod(0o600)
        new.replace(self.folder / "documents" / "n0.json")

    def overwrite(self, cpus: str) -> None:
        """Write the cpuset of the pod that owns CPUs, behind everybody's back."""
        self.kernel.files.write(self.cgroups.path(CPUSET, self._cgroup("a"), CPUS), cpus)

    def cpus(self) -> str:
        """Return the CPUs of the pod that owns some; empty: it has none yet."""
        if not self.cgroups.exists(self._cgroup("a")):
            return ""
        return format_cpu_list(self.cgroups.effective(self._cgroup("a"), CPUS))

    def asked(self, path: str) -> tuple[int, str]:
        return asked(UnixConnection(self.socket), path)

    def _cgroup(self, pod: str) -> str:
        return f"{self.kernel.root}/{pod}@default/main@{pod}"

    def close(self) -> None:
        if self.agent is not None:
            self.agent.kill()
            self.agent.wait()
        self.heard.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[World]:
    """A node in a folder."""
    found = World(Folder(tmp_path), tmp_path)
    yield found
    found.close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[World]:
    """This machine."""
    kernel = Host()
    found = World(kernel, tmp_path)
    yield found
    found.close()
    kernel.clean()


def a_life(world: World) -> None:
    """Start without a document, be stopped, and start again."""
    assert world.start() == "READY=1\nSTATUS=no document yet"
    assert world.asked("/readyz") == (503, "there is no document yet\n")
    world.send("1", 1)
    until(world.cpus, "1")
    until(lambda: world.asked("/readyz"), (200, "ok\n"))
    until(lambda: "placer_agent_generation 1.0" in world.asked("/metrics")[1], True)
    world.overwrite("0")
    until(world.cpus, "1")
    assert world.end(signal.SIGTERM) == ExitCode.DONE
    world.hear("STOPPING=1")
    assert not world.socket.exists()

    world.overwrite("0")
    assert world.start() == "READY=1\nSTATUS=generation 1, 2 pods"
    assert world.cpus() == "1"
    world.send("0", 2)
    until(world.cpus, "0")
    until(lambda: "placer_agent_generation 2.0" in world.asked("/metrics")[1], True)


def test_a_life_of_an_agent(folder: World) -> None:
    """
    It takes a document, repairs, ends when told to, and goes on where it was.
    """
    a_life(folder)


@pytest.mark.check
def test_a_life_of_an_agent_on_this_kernel(host: World) -> None:
    """
    The same on cgroups of version 1, where this machine has them and lets us; then it is killed.
    """
    a_life(host)

    assert host.end(signal.SIGKILL) == -signal.SIGKILL
    assert host.start() == "READY=1\nSTATUS=generation 2, 1 pod"
    host.send("1", 1)
    until(lambda: "documents_refused_total 1.0" in host.asked("/metrics")[1], True)
    assert host.cpus() == "0"
    assert host.end(signal.SIGINT) == ExitCode.DONE


@contextlib.contextmanager
def meanwhile(what: Callable[[], object]) -> Iterator[None]:
    """Do something in another thread, and then end this process's agent by SIGTERM."""
    failed: list[BaseException] = []

    def do() -> None:
        try:
            what()
        except BaseException as error:
            failed.append(error)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    signal.signal(signal.SIGTERM, lambda *_: None)  # should the agent end before
    thread = threading.Thread(target=do)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        for number, handler in before.items():
            signal.signal(number, handler)
    if failed:
        raise failed[0]


@pytest.fixture
def here(folder: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A node in a folder, whose agent runs in this process."""
    for name in ("kernel_cgroup_filesystem", "read_host_facts"):
        monkeypatch.setattr(run_module, name, getattr(run_module, name))
    stand_in(folder.kernel.files.folder, "0-7")
    monkeypatch.setenv("NOTIFY_SOCKET", str(folder.folder / "notify"))
    (folder.folder / "state").mkdir(mode=0o700)
    return folder


def ends(world: World, on_drift: DriftResponse = DriftResponse.REPAIR) -> tuple[str, ...]:
    """Run an agent until it is told to stop; return what it refuses then."""
    folder = world.folder
    return run_agent(
        AgentOptions(
            folder / "documents", folder / "state", "n0", "placer", on_drift, f"unix:{world.socket}"
        )
    )


def test_drift_is_repaired_at_once_not_at_the_next_poll(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The kernel tells of a write: with a poll every hour it is repaired all the same.
    """
    monkeypatch.setattr(run_module.CgroupWatch, "changes", lambda self: CHANGES(self, 3600))
    here.send("1", 1)

    def happens() -> None:
        here.hear("READY=1")
        for _ in range(3):
            here.overwrite("0")
            until(here.cpus, "1")

    with meanwhile(happens):
        assert ends(here) == ()


def test_a_report_is_heard_and_repairs_nothing(here: World) -> None:
    """
    Systemd's status and /readyz say which file says what, and what it should.
    """
    here.send("1", 1)
    with meanwhile(lambda: here.hear("READY=1")):
        ends(here)
    here.overwrite("0")

    def happens() -> None:
        assert "/placer/a@default/main@a/cpuset.cpus: '0', to be '1'" in here.hear("READY=1")
        assert here.asked("/readyz")[0] == 503

    with meanwhile(happens):
        assert ends(here, DriftResponse.REPORT) == ()
    assert here.cpus() == "0"


def test_an_agent_that_may_not_write_says_so_at_its_end(here: World) -> None:
    """
    An undo failed once: it observes, answers why, and does not end as if all were well.
    """
    (here.folder / "state" / OBSERVE_ONLY).write_text("taking it back failed")
    here.send("1", 1)

    def happens() -> None:
        here.hear("READY=1")
        assert "taking it back failed" in here.asked("/readyz")[1]

    with meanwhile(happens):
        (refused,) = ends(here)

    assert refused.startswith("Placer only observes this node: taking it back failed")
    assert here.cpus() == ""


@pytest.mark.check
def test_an_agent_ends_when_told_to_whatever_its_clients_do(folder: World) -> None:
    """
    One has asked half of something and goes on, a byte at a time, for as long as it is let.
    """
    folder.start()
    with socket.socket(socket.AF_UNIX) as slow:
        slow.connect(str(folder.socket))
        slow.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        gone = threading.Event()

        def drips() -> None:
            with contextlib.suppress(OSError):
                while not gone.wait(0.5):
                    slow.sendall(b"x")

        client = threading.Thread(target=drips)
        client.start()
        try:
            assert folder.asked("/healthz") == (200, "ok\n")
            assert folder.end(signal.SIGTERM) == ExitCode.DONE
        finally:
            gone.set()
            client.join()


@pytest.mark.check
def test_two_agents_with_one_root_and_two_folders_of_state_are_refused(folder: World) -> None:
    """
    They would undo each other's work, time and again; the first goes on.
    """
    folder.start()
    options = ("--documents", str(folder.folder / "documents"), "--node", "n0", "--listen", "")
    second = subprocess.run(
        folder.kernel.command("agent", *options, "--state", str(folder.folder / "other")),
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        stderr=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
    )

    assert second.returncode == ExitCode.REFUSED
    assert b"another Placer works with the cgroups below /placer" in second.stderr
    assert folder.asked("/healthz") == (200, "ok\n")


def test_two_agents_of_one_node_are_refused(here: World) -> None:
    """
    The second is told of the first, which goes on.
    """

    def happens() -> None:
        here.hear("READY=1")
        second = AppliedStateFolder(here.folder / "state").locked()
        with pytest.raises(HostCannotApplyError, match="another Placer works with"), second:
            pass
        assert here.asked("/healthz")[0] == 200

    with meanwhile(happens):
        assert ends(here) == ()
