"""An agent on this machine's kernel beside a hostile tenant (`tenant`), and what must stay true."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from node import tenant
from node.node_documents import a_document, a_node, a_pod
from placer.node.agent.agent import Agent
from placer.node.agent.inbox import AgentDocumentFolderReader
from placer.node.cgroup_files import KernelCgroupFilesystem
from placer.node.cgroups import CPU, CPUSET, CgroupReader
from placer.node.host import HostFactsForApply
from placer.node.state import AppliedStateFolder
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.instance.node_file import node_placement_document_to_dict
from placer_models.policy import QosClass

_EXITING = 0x4
"""The flag PF_EXITING of a process."""

_PYTHON = [sys.executable, "-S", "-c"]
TENANT_POD = "7e7e-1000"
DELEGATED = ("cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "tasks")
"""What is handed over with a directory: /sys/kernel/cgroup/delegate says so, and systemd does."""


@dataclass
class Report:
    """What happened.

    Attributes:
        actions: What became of each action of the tenant.
        documents: How many documents were applied.
        left_alone: What the agent said of containers that it left alone.

    """

    actions: list[str] = field(default_factory=list)
    documents: int = 0
    looks: int = 0
    left_alone: set[str] = field(default_factory=set)


class BesideATenant:
    """A top of our own in all hierarchies, with a kubelet's pods, a user's subtree and an agent."""

    def __init__(self, files: KernelCgroupFilesystem, folder: Path) -> None:
        self.files = files
        self.top = f"placer-test-{os.getpid()}"
        kubepods = f"{self.top}/kubepods"
        self.cgroups = CgroupReader(files, container_roots=(kubepods, f"{kubepods}.slice"))
        self.db = f"{kubepods}/pod{tenant.DB}/c-db"
        self.container = f"{kubepods}/burstable/pod{TENANT_POD}/c"
        self.users = f"{self.top}/user.slice/user-1000.slice/user@1000.service"
        self.all = self.cgroups.effective("", "cpuset.cpus")
        self.processes: list[subprocess.Popen[str]] = []
        for cgroup in (self.db, self.container, self.users):
            self._make(cgroup)
        for cgroup in (self.container, self.users):
            for place in self._folders(cgroup):
                for path in (place, *(place / name for name in DELEGATED)):
                    if path.exists():
                        os.chown(path, tenant.USER, tenant.USER)
        self.documents = folder / "documents"
        self.documents.mkdir(mode=0o700)
        (folder / "state").mkdir(mode=0o700)
        self.agent = Agent(
            self.cgroups,
            lambda: HostFactsForApply("n0", self.all),
            AppliedStateFolder(folder / "state"),
            AgentDocumentFolderReader(self.documents, "n0"),
            root=f"{self.top}/placer",
        )
        self.node: Node = a_node(max(self.all) + 1, 1)

    def run(self, seed: int, actions: int) -> Report:
        """Let the tenant act, and the agent look and take documents; check after each look."""
        report = Report()
        db = self._start(self.db, [*_PYTHON, "import time; time.sleep(999)"])
        self.agent.begin()
        self._document(report, db)
        bases = [str(self._folders(one)[0]) for one in (self.container, self.users)]
        command = [*_PYTHON, Path(tenant.__file__).read_text()]
        command += [str(self.cgroups.version), str(seed), str(actions)]
        command += [",".join(map(str, sorted(self.all))), *bases]
        log = self.documents.parent / "log"
        with log.open("w") as said:
            actor = self._start(self.container, command, said)
        while actor.poll() is None:
            self.agent.look()
            report.looks += 1
            self._check(db, report)
            if report.looks % 2 == 0:
                self._document(report, db)
        self._document(report, db)
        report.actions = log.read_text().splitlines()[1:]
        assert actor.returncode == 0, report.actions[-5:]
        return report

    def own(self, generation: int) -> CpuSet:
        """Return the CPUs that the database owns by a document: others by the next, or none."""
        cpus = sorted(self.all)
        sets = [cpus[:2], cpus[-2:], []] if len(cpus) > 4 else [cpus[:1], []]
        return frozenset(sets[generation % len(sets)])

    def _document(self, report: Report, db: "subprocess.Popen[str]") -> None:
        """Send a new document, and see it obeyed at once."""
        generation = report.documents + 1
        own = format_cpu_list(self.own(generation))
        pods = (
            a_pod("db", QosClass.LSE if own else QosClass.LS, own, uid=tenant.DB),
            a_pod("hostile", uid=TENANT_POD),
            a_pod("web"),
        )
        document = a_document(*pods, generation=generation, node=self.node)
        path = self.documents / ".new"
        path.write_text(json.dumps(node_placement_document_to_dict(document)))
        path.chmod(0o600)
        path.replace(self.documents / "n0.json")
        self.agent.take()
        assert not self.agent.status.refused_files, self.agent.status.refused_files
        assert self.agent.document.generation == generation
        report.documents = generation
        self._check(db, report)

    def _check(self, db: "subprocess.Popen[str]", report: Report) -> None:
        """No CPU of the owner's is lost, nothing is refused, nobody else's cgroup is touched."""
        status = self.agent.status
        report.left_alone.update(status.plan.left_alone)
        assert not status.observe_only, status.observe_only
        assert not status.refused, status.refused
        own = self.own(self.agent.document.generation)
        assert os.sched_getaffinity(db.pid) == (own or self.all)
        for one in (*status.plan.operations, *status.plan.finish):
            where = f"{one.cgroup}/"
            ours = (f"{self.db}/", f"{self.container}/", f"{self.top}/placer/")
            assert where.startswith(ours), where
        assert self._on(own) == []

    def _on(self, own: CpuSet) -> list[str]:
        """Return what of the tenant's container may be on CPUs that somebody owns."""
        effective = self.cgroups.effective(self.container, "cpuset.cpus")
        found = [f"all of it on {sorted(effective)}"] if effective & own else []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self._is_inside(entry):
                    allowed = os.sched_getaffinity(int(entry.name))
                    status = (entry / "stat").read_text()
                    flags = int(status.rpartition(")")[2].split()[6])
                    # Still, and not about to end: then nobody changes its CPUs any more.
                    if allowed & own and self._is_inside(entry) and not flags & _EXITING:
                        cgroup = (entry / "cgroup").read_text()
                        found.append(f"{status} on {sorted(allowed)} in {cgroup}")
            except OSError:
                continue  # it ended, or is too deep for its cgroup to be told
        return found

    def _is_inside(self, process: Path) -> bool:
        lines = [line.split(b":", 2) for line in (process / "cgroup").read_bytes().splitlines()]
        mine = b"cpuset" if self.cgroups.version == 1 else b""
        paths = [line[2] for line in lines if len(line) == 3 and mine in line[1].split(b",")]
        return any(path.startswith(f"/{self.container}".encode()) for path in paths)

    def _start(
        self, cgroup: str, command: list[str], log: IO[str] | None = None
    ) -> "subprocess.Popen[str]":
        files = [place / "cgroup.procs" for place in self._folders(cgroup)]

        def enter() -> None:
            for file in files:
                file.write_text(str(os.getpid()))

        process = subprocess.Popen(
            command, preexec_fn=enter, stdout=log, stderr=log, text=True, cwd="/"
        )
        self.processes.append(process)
        return process

    def _folders(self, cgroup: str) -> list[Path]:
        if self.cgroups.version == 2:
            return [self.files.mounts[""] / cgroup]
        return [self.files.mounts[one] / cgroup for one in (CPUSET, CPU)]

    def _make(self, cgroup: str) -> None:
        at = ""
        for name in cgroup.split("/"):
            at = f"{at}/{name}" if at else name
            for folder in self._folders(at):
                folder.mkdir(exist_ok=True)
            if self.cgroups.version == 2 and at != cgroup:
                (self._folders(at)[0] / "cgroup.subtree_control").write_text("+cpuset +cpu")
            if self.cgroups.version == 1:
                for name_of in ("cpuset.cpus", "cpuset.mems"):
                    file = self._folders(at)[0] / name_of
                    file.write_text((file.parent.parent / name_of).read_text())

    def clean(self) -> None:
        """End all processes below the top, and remove all cgroups there, however deep."""
        mounts = [*self.files.mounts.values()]
        for _ in range(20):
            for process in self.processes:
                process.kill()
                process.wait()
            for mount in mounts:
                if (mount / self.top).exists():
                    _remove(mount, self.top)
            if not any((mount / self.top).exists() for mount in mounts):
                return
            time.sleep(0.1)


def _remove(above: Path, name: str) -> None:
    """Remove a cgroup and all below it: step by step, as no path need reach that deep."""
    here = os.open(".", os.O_RDONLY)
    way = [name]
    try:
        os.chdir(above / name)
        while way:
            with os.scandir(".") as entries:
                below = next((one.name for one in entries if one.is_dir()), None)
            if below is not None:
                os.chdir(below)
                way.append(below)
                continue
            for pid in Path("cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            os.chdir("..")
            for _ in range(100):
                try:
                    Path(way[-1]).rmdir()
                    break
                except OSError:  # its processes end
                    time.sleep(0.02)
            way.pop()
    except OSError:
        return  # what is left is tried again
    finally:
        os.fchdir(here)
        os.close(here)
