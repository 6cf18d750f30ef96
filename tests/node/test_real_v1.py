"""The same on this machine's own cgroups of version 1, below a cgroup that is made for it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.kernel_machine import cgroup_files_or_skip
from node.node_documents import a_document, a_node, a_pod
from placer.node.apply import apply
from placer.node.cgroup_files import KernelCgroupFilesystem
from placer.node.cgroups import CPU, CPUSET, MEMORY, PIDS, CgroupReader
from placer.node.errors import HostCannotApplyError
from placer.node.host import HostFactsForApply
from placer.node.state import AppliedStateFolder
from placer_models.cpuset import format_cpu_list
from placer_models.limits import ContainerLimits
from placer_models.policy import QosClass

LSE, LS, BE = QosClass.LSE, QosClass.LS, QosClass.BE
HOST = HostFactsForApply("n0")


def v1_files() -> KernelCgroupFilesystem:
    """The host's cgroup files, or a reason to skip."""
    files = cgroup_files_or_skip()
    if files.version != 1:
        pytest.skip("the host has no cgroup v1 cpuset")
    if len(CgroupReader(files).effective("", "cpuset.cpus")) < 2:
        pytest.skip("the host has one CPU")
    return files


class Machine:
    """The host, its cgroups below a root of our own, and processes in them."""

    def __init__(self, files: KernelCgroupFilesystem, folder: Path) -> None:
        self.cgroups = CgroupReader(files)
        self.files = files
        self.root = f"placer-test-{os.getpid()}"
        self.state = AppliedStateFolder(folder)
        cpus = self.cgroups.effective("", "cpuset.cpus")
        self.node = a_node(max(cpus) + 1, 1)
        self.processes: list[subprocess.Popen[bytes]] = []

    def apply(self, *pods: object, generation: int = 1) -> object:
        document = a_document(*pods, generation=generation, node=self.node)
        return apply(document, self.cgroups, HOST, self.state, root=self.root)

    def cgroup(self, pod: str) -> str:
        return f"{self.root}/{pod}@default/main@{pod}"

    def start(self, pod: str) -> int:
        """Start a process in a pod's cgroup; return its id."""
        process = subprocess.Popen(["sleep", "600"])
        self.processes.append(process)
        self.files.write(f"cpuset/{self.cgroup(pod)}/cgroup.procs", str(process.pid))
        return process.pid

    def allowed(self, pid: int) -> str:
        """Return the CPUs on which the kernel lets a process run."""
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(line.split()[1] for line in lines if line.startswith("Cpus_allowed_list"))

    def clean(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        for controller in (CPUSET, CPU, MEMORY, PIDS):
            found = [self.root] if self.files.exists(f"{controller}/{self.root}") else []
            for cgroup in found:
                below = self.files.children(f"{controller}/{cgroup}")
                found += [f"{cgroup}/{name}" for name in below]
            for cgroup in reversed(found):
                self.files.remove_directory(f"{controller}/{cgroup}")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """The host; what was made there is removed again."""
    found = Machine(v1_files(), tmp_path)
    try:
        yield found
    finally:
        found.clean()


def test_the_kernel_runs_processes_where_the_document_says(machine: Machine) -> None:
    """
    The pool shrinks for an owner, and grows again when it is gone.
    """
    everything = machine.cgroups.effective("", "cpuset.cpus")
    others = format_cpu_list(everything - {0})

    machine.apply(a_pod("c", LS, limits=ContainerLimits(500, None, 20)))
    c = machine.start("c")
    assert machine.allowed(c) == format_cpu_list(everything)

    machine.apply(a_pod("a", LSE, "0"), a_pod("c"), generation=2)
    a = machine.start("a")
    assert (machine.allowed(a), machine.allowed(c)) == ("0", others)

    machine.apply(a_pod("c"), a_pod("d", BE), generation=3)
    assert machine.allowed(c) == machine.allowed(a) == format_cpu_list(everything)
    assert machine.apply(a_pod("c"), a_pod("d", BE), generation=3).plan.operations == ()


def test_whoever_runs_in_a_cgroup_may_read_it(machine: Machine) -> None:
    """
    Runtimes of languages look up their limits there, as any user: whatever umask Placer has.
    """
    before = os.umask(0o077)
    try:
        machine.apply(a_pod("c"))
    finally:
        os.umask(before)

    folder = machine.files.mounts[CPU] / machine.cgroup("c")
    assert [one.stat().st_mode & 0o777 for one in (folder, *folder.parents[:2])] == [0o755] * 3


def test_swap_is_limited_in_an_order_that_the_kernel_takes(machine: Machine) -> None:
    """
    More of both, less of both, one for the other, none.
    """
    if not machine.files.exists("memory/memory.memsw.limit_in_bytes"):
        pytest.skip("the kernel does not count swap")
    mib = 1 << 20
    found = []
    steps = [(64, 32), (256, 32), (32, 512), (512, 0), (128, None), (None, None), (16, 16)]
    for generation, limits in enumerate(steps, start=1):
        memory, swap = (None if one is None else one * mib for one in limits)
        machine.apply(
            a_pod("c", limits=ContainerLimits(None, memory, None, swap)), generation=generation
        )
        files = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        texts = [machine.files.read(f"memory/{machine.cgroup('c')}/{file}") for file in files]
        found.append([int(text) // mib for text in texts])

    no_limit = (2**63 - 1) // mib
    assert found == [
        [64, 96], [256, 288], [32, 544], [512, 512], [128, no_limit], [no_limit] * 2, [16, 32]
    ]  # fmt: skip
    assert machine.files.read(f"cpuset/{machine.cgroup('c')}/cpuset.memory_migrate") == "1"


def test_what_the_kernel_refuses_is_taken_back(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A write fails once the pool has shrunk: all that was written before says what it said.
    """
    machine.apply(a_pod("c"))
    c = machine.start("c")
    before = machine.allowed(c)
    write, seen = machine.files.write, []

    def failing(path: str, text: str) -> None:
        mine = path == f"cpuset/{machine.cgroup('a')}/cpuset.cpus"
        write(path, "9999999" if mine else text)
        seen.append((path, machine.allowed(c)))

    monkeypatch.setattr(machine.files, "write", failing)
    with pytest.raises(HostCannotApplyError, match="what was done before it is taken back"):
        machine.apply(a_pod("a", LSE, "0"), a_pod("c"), generation=2)

    assert len({allowed for _, allowed in seen}) == 2, "the pool had shrunk"
    assert machine.allowed(c) == before
    assert not machine.cgroups.exists(machine.cgroup("a"))
    assert machine.state.applied().generation == 1
