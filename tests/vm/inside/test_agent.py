"""The agent on a real kernel: from what discover finds to a CPU that goes and comes back."""

import json
import os
import random
import signal
import sys
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from node.kernel_machine import SLEEP, KernelMachine
from node.node_documents import a_document, a_pod
from placer.node import apply as applying
from placer.node.agent.agent import DriftResponse
from placer.node.agent.logs import log_to_stderr
from placer.node.agent.run import AgentOptions, run_agent
from placer.node.cgroups import CPUS, MEMS, CgroupReader
from placer.node.discover import discover_hardware, machine_from_inventory
from placer.node.mounts import kernel_cgroup_filesystem
from placer.node.state import COMMITTED, JOURNAL, AppliedStateFolder
from placer_models.cluster import Node
from placer_models.cpuset import format_cpu_list, parse_cpu_list
from placer_models.instance.node_file import node_placement_document_to_dict
from placer_models.policy import QosClass

VERSION = 2 if os.environ["PLACER_VM"] == "v2" else 1
LSE, LSR, LS, BE = QosClass.LSE, QosClass.LSR, QosClass.LS, QosClass.BE
GIB = 1 << 30
SECONDS = 60 * float(os.environ["PLACER_VM_PATIENCE"])
"""So long a state may take to come; the emulated machine is slow, and shares its host."""

BUSY = """
import threading
def turn():
    while True: pass
for _ in range(2): threading.Thread(target=turn).start()
"""
"""A program whose threads always have something to do."""

RESULTS = Path(os.environ["PLACER_VM_RESULTS"])


@pytest.fixture(scope="module")
def node() -> Node:
    """This machine, as discover sees it."""
    return Node("vm", machine_from_inventory(discover_hardware(Path("/")), "vm").machine)


class World:
    """This machine, an agent of it in a process of its own, and what happens to it."""

    def __init__(self, node: Node, folder: Path) -> None:
        self.kernel = KernelMachine(VERSION, ("placer",))
        self.kernel.clean()
        if VERSION == 2:
            self.kernel.files.write("cgroup.subtree_control", "+cpuset +cpu +memory +hugetlb +pids")
        self.cgroups = CgroupReader(kernel_cgroup_filesystem())
        self.node = node
        self.documents = folder / "documents"
        self.documents.mkdir(mode=0o700)
        self.state = folder / "state"
        self.agent = 0
        self.seconds: dict[str, float] = {}

    def start_agent(self, dies_at: int | None = None, **options: bool) -> None:
        """Start an agent.

        Args:
            dies_at: So many operations from its start on it is killed, as by ``kill -9``; at -1
                when it has just committed.
            options: More options of the agent.

        """
        self.agent = os.fork()
        if self.agent == 0:
            try:
                if dies_at is not None:
                    _kill_at(dies_at)
                with (RESULTS / f"agent-v{VERSION}.log").open("a") as log:
                    os.dup2(log.fileno(), 2)
                sys.stderr = sys.__stderr__
                log_to_stderr("info", as_json=True)
                told = self.documents, self.state, "vm", "placer", DriftResponse.REPAIR, ""
                run_agent(AgentOptions(*told, **options))
            except BaseException as error:
                os.write(2, f"{error!r}\n".encode())
            os._exit(0)

    def stop_agent(self) -> None:
        os.kill(self.agent, signal.SIGTERM)
        os.waitpid(self.agent, 0)
        self.agent = 0

    def see_it_killed(self) -> None:
        _, status = os.waitpid(self.agent, 0)
        self.agent = 0
        assert os.WTERMSIG(status) == signal.SIGKILL

    def send(self, *pods, generation: int) -> None:
        document = replace(a_document(*pods, generation=generation), node=self.node)
        path = self.documents / ".vm.json"
        path.write_text(json.dumps(node_placement_document_to_dict(document)))
        path.chmod(0o600)
        path.replace(self.documents / "vm.json")

    def path(self, pod: str) -> str:
        return f"placer/{pod}@default/main@{pod}"

    def run_in(self, pod: str, program: str = SLEEP) -> int:
        """Start a process in a container, in all hierarchies as a runtime does."""
        if VERSION == 2:
            return self.kernel.start(self.path(pod), program)
        pid = self.kernel.start(f"cpuset/{self.path(pod)}", program)
        self.kernel.files.write(f"cpu/{self.path(pod)}/cgroup.procs", str(pid))
        return pid

    def applied(self) -> int:
        """Return the generation that is applied; 0: none, or something is being done."""
        if any((self.state / name).exists() for name in (JOURNAL, COMMITTED)):
            return 0
        found = AppliedStateFolder(self.state).applied()
        return found.generation if found else 0

    def cpus(self, pod: str) -> str:
        return format_cpu_list(self.cgroups.effective(self.path(pod), CPUS))

    def all_cpus(self) -> dict[str, str]:
        return {pod: self.cpus(pod) for pod in "abc"}

    def wait(self, what: str, says, expected) -> None:
        """Wait until something is as expected, and note how long that took."""
        begin = time.monotonic()
        while (found := says()) != expected:
            assert time.monotonic() - begin < SECONDS, f"{what}: {found}, expected {expected}"
            time.sleep(0.005)
        self.seconds[what] = round(time.monotonic() - begin, 3)


def _kill_at(dies_at: int) -> None:
    """Let this process kill itself at an operation, or once it has committed."""
    numbers = count()

    def killing(operation, cgroups):
        if next(numbers) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        perform_operation(operation, cgroups)

    def committing(state):
        commit(state)
        if dies_at < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    perform_operation, commit = applying.perform_cgroup_operation, AppliedStateFolder.commit
    applying.perform_cgroup_operation, AppliedStateFolder.commit = killing, committing


@pytest.fixture
def world(node, tmp_path):
    """This machine without a document; nothing is left of it."""
    found = World(node, tmp_path)
    yield found
    if found.agent:
        found.stop_agent()
    found.kernel.clean()
    with (RESULTS / f"seconds-v{VERSION}.json").open("a") as file:
        file.write(f"{json.dumps(found.seconds)}\n")


def pods(a: str, b: str):
    """An LSE pod with memory beside its CPUs, an LSR pod, and one of the shared pool."""
    numa = 0 if a < "4" else 1
    return (
        a_pod("a", LSE, a, node="vm", memory={numa: GIB // 8}),
        a_pod("b", LSR, b, node="vm"),
        a_pod("c", LS, node="vm"),
    )


def test_discover_sees_numa_nodes_and_threads(node):
    """
    2 packages, each one NUMA node of two cores of two threads, and the distance of 21.
    """
    topology = node.machine.topology
    cores = {}
    for cpu in topology.cpus:
        cores.setdefault((cpu.package, cpu.core), []).append(cpu.id)

    assert sorted(cores.values()) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert {(cpu.package, cpu.numa_node) for cpu in topology.cpus} == {(0, 0), (1, 1)}
    assert len(topology.numa_nodes) == 2


def test_a_document_is_obeyed_and_kept(world):
    world.start_agent()
    world.send(*pods("0-1", "4"), generation=1)
    world.wait("a document is applied", world.applied, 1)
    whole = {"a": "0-1", "b": "4", "c": "2-3,5-7"}
    assert world.all_cpus() == whole

    # What the kernel says of the processes themselves.
    a, b, c = (world.run_in(pod) for pod in "abc")
    assert [world.kernel.affinity(pid) for pid in (a, b, c)] == ["0-1", "4", "2-3,5-7"]
    status = Path(f"/proc/{a}/status").read_text()
    assert "Cpus_allowed_list:\t0-1\n" in status
    assert "Mems_allowed_list:\t0\n" in status
    assert format_cpu_list(world.cgroups.effective(world.path("c"), MEMS)) == "0-1"

    # Somebody writes a cpuset behind the agent's back.
    world.kernel.files.write(world.cgroups.path("cpuset", world.path("c"), CPUS), "0-7")
    world.wait("an overwritten cpuset is repaired", world.all_cpus, whole)

    # CPUs go: a pool follows, one owner makes do with what it has left, one has to share.
    # Version 1 empties the cpuset of the last, and moves its processes away: they come back.
    for cpu in (6, 1, 4):
        world.kernel.set_online(cpu, False)
    making_do = {"a": "0", "b": "2-3,5,7", "c": "2-3,5,7"}
    world.wait("three CPUs went", world.all_cpus, making_do)
    world.wait("their processes, too", lambda: world.kernel.affinity(b), "2-3,5,7")
    for cpu in (6, 1, 4):
        world.kernel.set_online(cpu, True)
    world.wait("three CPUs are back", world.all_cpus, whole)
    world.wait("all processes, too", lambda: world.kernel.affinity(b), "4")
    assert [world.kernel.affinity(pid) for pid in (a, c)] == ["0-1", "2-3,5-7"]


@pytest.mark.parametrize("dies_at", [0, 1, 4, -1])
def test_killed_at_any_moment_it_goes_on_with_the_newest_document(world, dies_at):
    """
    Before the first write, between two, and after the commit; what is left behind is safe.
    """
    sets = {1: ("0-1", "4"), 2: ("4-5", "0")}
    world.start_agent()
    world.send(*pods(*sets[1]), generation=1)
    world.wait("the first document is applied", world.applied, 1)
    world.stop_agent()
    world.start_agent(dies_at)
    world.send(*pods(*sets[2]), generation=2)
    world.see_it_killed()

    assert (world.state / (COMMITTED if dies_at < 0 else JOURNAL)).exists()
    at_once = {pod: parse_cpu_list(text) for pod, text in world.all_cpus().items()}
    assert all(at_once.values())
    shared = frozenset({2, 3, 6, 7})  # by both documents; one may be parked there
    for owner, others in (("a", "bc"), ("b", "ac")):
        for other in others:
            assert not (at_once[owner] - shared) & at_once[other]

    world.start_agent()
    world.wait(f"newest after a kill at {dies_at}", world.applied, 2)
    assert (world.cpus("a"), world.cpus("b")) == sets[2]


class Busy:
    """A process in a container that always has something to do."""

    def __init__(self, world: World, pod: str) -> None:
        self.pid = world.run_in(pod, BUSY)
        self._before = 0

    def ran(self) -> bool:
        """Return whether it ran since the last question."""
        before = self._before
        self._before = sum(map(int, Path(f"/proc/{self.pid}/stat").read_text().split()[13:15]))
        return self._before > before


def test_owners_run_on_while_cpus_go_and_come(world):
    """
    Whatever order CPUs go and come in, owners keep what they have left, one with nothing left
    shares, a pool's process is never on an owner's CPU, and everyone goes on running.
    """
    own = {"a": {0, 1}, "b": {4}}
    world.start_agent()
    world.send(*pods("0-1", "4"), generation=1)
    world.wait("a document is applied", world.applied, 1)
    busy = {pod: Busy(world, pod) for pod in "abc"}
    draw, online = random.Random(26), set(range(8))

    def on() -> dict[str, str]:
        found = {pod: world.kernel.affinity(one.pid) for pod, one in busy.items()}
        assert not parse_cpu_list(found["c"]) & {0, 1, 4}, found
        return found

    for turn in range(10):
        cpu = draw.choice([1, 2, 3, 4, 4, 5, 6, 7])
        online ^= {cpu}
        world.kernel.set_online(cpu, cpu in online)
        pool = format_cpu_list(frozenset(online - {0, 1, 4}))
        expected = {pod: format_cpu_list(frozenset(cpus & online)) for pod, cpus in own.items()}
        expected = {pod: text or pool for pod, text in expected.items()} | {"c": pool}
        world.wait(f"turn {turn}: CPU {cpu}", on, expected)
        assert world.all_cpus() == expected
        for pod, one in busy.items():
            world.wait(f"turn {turn}: {pod} runs", one.ran, True)


@pytest.mark.parametrize("days", [4000, -4000])
def test_a_clock_that_jumps_changes_nothing(world, days):
    """
    Years ahead, or back before its files were written: drift is repaired, an older document is
    refused, a newer one taken, and the next agent finds what is in force.
    """
    world.start_agent()
    world.send(*pods("0-1", "4"), generation=2)
    world.wait("a document is applied", world.applied, 2)
    whole = {"a": "0-1", "b": "4", "c": "2-3,5-7"}
    now = time.time()
    try:
        time.clock_settime(time.CLOCK_REALTIME, now + days * 86400)
        world.kernel.files.write(world.cgroups.path("cpuset", world.path("c"), CPUS), "0-7")
        assert world.cpus("c") == "0-7"
        world.wait("repaired after the jump", world.all_cpus, whole)

        world.send(*pods("4-5", "0"), generation=1)
        world.send(*pods("2-3", "5"), generation=3)
        world.wait("a newer document after the jump", world.applied, 3)
        newer = {"a": "2-3", "b": "5", "c": "0-1,4,6-7"}
        assert world.all_cpus() == newer

        time.clock_settime(time.CLOCK_REALTIME, now)  # and back again
        world.stop_agent()
        world.send(*pods("4-5", "0"), generation=2)
        world.kernel.files.write(world.cgroups.path("cpuset", world.path("c"), CPUS), "0-7")
        world.start_agent()
        world.wait("repaired by the next agent", world.all_cpus, newer)
        world.wait("and nothing else is done", world.applied, 3)
    finally:
        time.clock_settime(time.CLOCK_REALTIME, now)
