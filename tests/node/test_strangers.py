"""Strangers on CPUs that pods own are found, moved, and given back when the owner is gone (C19)."""

import errno
import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from node.node_documents import a_document, a_pod
from placer.node.agent import owned
from placer.node.agent.clearing import StrangerMover
from placer.node.agent.owned import OwnedCpuWatch, owned_cpus
from placer.node.agent.strangers import cpu_mask_text, strangers_on_owned_cpus
from placer.node.discover.machine_files import parse_kernel_cpu_mask
from placer.node.errors import ObserveOnlyError
from placer.node.state import CLEARED, AppliedStateFolder
from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list
from placer_models.policy import QosClass

ALL = parse_cpu_list("0-7")
KTHREAD, BOUND = 0x00200000, 0x04000000
QUEUES = "sys/devices/virtual/workqueue"


class Machine:
    """Files of /proc and /sys in a folder, and tasks that may be moved."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.tasks: dict[int, CpuSet] = {}
        self.refuses: set[int] = set()
        (self.root / "proc/irq").mkdir(parents=True)
        (self.root / QUEUES).mkdir(parents=True)
        self.state = AppliedStateFolder(folder / "state")
        self.state.folder.mkdir(mode=0o700)

    def task(
        self, pid: int, name: str, cpus: str, *, flags: int = 0, cgroup: str = "", start: int = 7
    ) -> None:
        folder = self.root / f"proc/{pid}"
        (folder / f"task/{pid}").mkdir(parents=True, exist_ok=True)
        (folder / "cgroup").write_text(f"0::/{cgroup}\n")
        (folder / "stat").write_text(
            f"{pid} ({name}) S 1 1 1 0 -1 {flags} {'0 ' * 12}{start} 0 0\n"
        )
        self.tasks[pid] = parse_cpu_list(cpus)

    def irq(self, number: int, cpus: str, handler: str = "eth0-rx") -> Path:
        folder = self.root / f"proc/irq/{number}"
        folder.mkdir()
        if handler:
            (folder / handler).mkdir()
        (folder / "smp_affinity_list").write_text(f"{cpus}\n")
        return folder / "smp_affinity_list"

    def queue(self, name: str, mask: str) -> Path:
        file = self.root / QUEUES / name / "cpumask"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{mask}\n")
        return file

    def affinity(self, task: int) -> CpuSet:
        if task not in self.tasks:
            raise ProcessLookupError(errno.ESRCH, "gone")
        return self.tasks[task]

    def set_affinity(self, task: int, cpus: Iterable[int]) -> None:
        self.affinity(task)
        if task in self.refuses:
            raise OSError(errno.EINVAL, "Invalid argument")
        self.tasks[task] = frozenset(cpus)

    def found(self, owned: CpuSet, in_pods: Iterable[str] = ("placer",)):
        return list(strangers_on_owned_cpus(owned, in_pods, 2, self.root, self.affinity))

    def clearing(self) -> StrangerMover:
        return StrangerMover(self.state, self.root, self.affinity, self.set_affinity)

    def clear(self, clearing: StrangerMover, own: str, online: CpuSet = ALL) -> None:
        cpus = parse_cpu_list(own) if own else frozenset()
        clearing.clear(self.found(cpus & online), cpus & online, online, ALL)

    def says(self) -> dict[str, str]:
        found = {f"task {task}": format_cpu_list(cpus) for task, cpus in self.tasks.items()}
        for file in sorted(self.root.glob("proc/irq/*/smp_affinity_list")):
            found[f"irq {file.parent.name}"] = file.read_text().strip()
        for file in (self.root / QUEUES).rglob("cpumask"):
            found[file.parent.name] = format_cpu_list(parse_kernel_cpu_mask(file.read_text()))
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """8 CPUs, a service, a pod, kernel threads, interrupts and work queues."""
    found = Machine(tmp_path)
    found.task(10, "rsyslogd", "0-7", cgroup="system.slice/rsyslog.service")
    found.task(11, "db (main) x", "2-3", cgroup="placer/db@default/main@db/inner")
    found.task(12, "on the rest", "4-7", cgroup="user.slice")
    found.task(13, "another pod", "0-7", cgroup="kubepods/burstable/pod1/c1")
    found.task(20, "kthreadd", "0-7", flags=KTHREAD)
    found.task(21, "ksoftirqd/2", "2", flags=KTHREAD | BOUND)
    found.irq(30, "0-7")
    found.irq(31, "2-3")
    found.irq(32, "0-1")
    found.irq(33, "0-7", handler="")
    found.queue("", "ff")
    found.queue("writeback", "0f")
    return found


def test_what_may_run_on_owned_cpus_is_found(machine):
    """
    Neither pods' own processes, nor what is bound to its CPU, nor an interrupt without a handler.
    """
    found = machine.found(parse_cpu_list("2-3"))

    assert [(str(one.kind), one.name) for one in found] == [
        ("process", "10 (rsyslogd) in /system.slice/rsyslog.service"),
        ("process", "13 (another pod) in /kubepods/burstable/pod1/c1"),
        ("kernel-thread", "20 (kthreadd)"),
        ("irq", "30 (eth0-rx)"),
        ("irq", "31 (eth0-rx)"),
        ("workqueue", "all"),
        ("workqueue", "writeback"),
    ]
    assert machine.found(frozenset()) == []


def test_they_are_moved_and_given_back(machine):
    """
    Each keeps what is left of its CPUs; who had none but owned ones gets all shared ones; a pod
    of the kubelet stays. When the owner is gone each has what it had.
    """
    before = machine.says()
    clearing = machine.clearing()

    machine.clear(clearing, "2-3")
    assert machine.says() == before | {
        "task 10": "0-1,4-7",
        "task 20": "0-1,4-7",
        "irq 30": "0-1,4-7",
        "irq 31": "0-1,4-7",
        "workqueue": "0-1,4-7",
        "writeback": "0-1",
    }
    machine.clear(clearing, "0-1,3")
    assert machine.says()["writeback"] == "2"
    assert machine.says()["task 10"] == "2,4-7"

    machine.clear(clearing, "")
    assert machine.says() == before
    assert clearing.moved == ()
    assert not (machine.state.folder / CLEARED).exists()


def test_a_later_agent_gives_back_what_an_earlier_one_moved(machine):
    before = machine.says()
    machine.clear(machine.clearing(), "2-3")

    machine.clear(machine.clearing(), "")

    assert machine.says() == before


@pytest.mark.parametrize("seed", range(12))
def test_an_agent_that_dies_between_any_two_writes_loses_nothing(machine, seed):
    """
    At each step it is killed at a random write; whoever comes next goes on, and in the end all
    is as it was before.
    """
    before, draw = machine.says(), random.Random(seed)

    class KilledError(Exception):
        pass

    for _ in range(6):
        clearing, left = machine.clearing(), draw.randint(0, 7)
        write = clearing._write

        def dying(one, cpus, write=write):
            nonlocal left
            if not left:
                raise KilledError
            left -= 1
            return write(one, cpus)

        clearing._write = dying
        try:
            machine.clear(clearing, draw.choice(["", "2-3", "0-1,5", "3-6"]))
        except KilledError:
            continue
    machine.clear(machine.clearing(), "")

    assert machine.says() == before
    assert machine.state.cleared() == []


def test_what_somebody_else_changed_since_is_left_alone(machine):
    clearing = machine.clearing()
    machine.clear(clearing, "2-3")
    machine.tasks[10] = parse_cpu_list("6")
    machine.task(20, "another task by now", "0-1,4-7", start=8)

    machine.clear(clearing, "")

    assert machine.says()["task 10"] == "6"
    assert machine.says()["task 20"] == "0-1,4-7"


def test_what_the_kernel_refuses_is_asked_once_and_stays_told(machine, caplog):
    clearing = machine.clearing()
    machine.refuses.add(20)

    for _ in range(3):
        machine.clear(clearing, "2-3")

    assert [one.what for one in caplog.records if one.message == "cannot be moved"] == [
        "kernel-thread 20 (kthreadd)"
    ]
    assert "20 7" not in {one.key for one in clearing.moved}
    assert "20 7" in {one.key for one in machine.found(parse_cpu_list("2-3"))}


def test_a_task_that_may_run_anywhere_may_do_so_again_on_cpus_that_were_away(machine):
    """
    While it was moved a CPU was offline, which it did not count among its own.
    """
    online = ALL - {7}
    machine.tasks[10] = online
    clearing = machine.clearing()
    machine.clear(clearing, "2-3", online)

    machine.clear(clearing, "")

    assert machine.tasks[10] == ALL


def test_a_note_that_was_changed_stops_it(machine):
    machine.clear(machine.clearing(), "2-3")
    file = machine.state.folder / CLEARED
    file.write_bytes(file.read_bytes().replace(b"0-1", b"0-2"))

    with pytest.raises(ObserveOnlyError, match="its checksum differs"):
        machine.clearing()


@pytest.mark.parametrize("cpus", ["0", "31", "32", "0-63", "3,64,127"])
def test_masks_are_those_of_sysfs(cpus):
    """
    Groups of 32 bits: a longer one is refused by the kernel.
    """
    text = cpu_mask_text(parse_cpu_list(cpus))

    assert all(len(group) == 8 for group in text.split(","))
    assert parse_kernel_cpu_mask(text) == parse_cpu_list(cpus)
    assert parse_kernel_cpu_mask("ff\n") == ALL


def test_owners_are_those_of_the_document():
    document = a_document(a_pod("a", QosClass.LSE, "0-1"), a_pod("b", QosClass.LS))

    assert owned_cpus(document) == {0, 1}
    assert owned_cpus(None) == frozenset()


@pytest.mark.parametrize("clears", [False, True])
def test_an_agent_tells_or_moves_as_it_is_told(machine, monkeypatch, caplog, clears):
    """
    Those that stay are told once, counted by their kind, and in no case make a node disobey.
    """
    monkeypatch.setattr(
        owned, "strangers_on_owned_cpus", lambda cpus, pods, _: machine.found(cpus, pods)
    )
    monkeypatch.setattr(owned, "StrangerMover", lambda _: machine.clearing())
    before = machine.says()
    cpus = OwnedCpuWatch(machine.state, 2, clears=clears, looks=True)
    document = a_document(a_pod("a", QosClass.LSE, "2-3"))

    for _ in range(2):
        cpus.look(document, ["placer"], ALL, writes=True)

    told = [one.strangers for one in caplog.records if hasattr(one, "strangers")]
    assert len(told) == 1
    assert told[0][0] == (
        "process 13 (another pod) in /kubepods/burstable/pod1/c1 may run on CPUs 2-3, which pods "
        "own alone"
        if clears
        else "process 10 (rsyslogd) in /system.slice/rsyslog.service may run on CPUs 2-3, which "
        "pods own alone"
    )
    assert (len(told[0]), cpus.cleared) == ((1, 6) if clears else (7, 0))
    assert (machine.says() == before) is not clears


def test_without_the_option_what_was_moved_is_given_back(machine, monkeypatch):
    monkeypatch.setattr(owned, "StrangerMover", lambda _: machine.clearing())
    before = machine.says()
    machine.clear(machine.clearing(), "2-3")
    document = a_document(a_pod("a", QosClass.LSE, "2-3"))

    OwnedCpuWatch(machine.state, 2, clears=False, looks=False).look(
        document, ["placer"], ALL, writes=True
    )

    assert machine.says() == before


def test_threads_of_this_process_are_read_from_the_kernel():
    """
    The real files of this machine: this very process, outside all pods, is found.
    """
    found = list(strangers_on_owned_cpus(frozenset(os.sched_getaffinity(0)), ["placer"], 2))

    assert any(one.key.startswith(f"{os.getpid()} ") for one in found)
