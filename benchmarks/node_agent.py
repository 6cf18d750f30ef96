"""The agent of a node of 500 pods: memory, idle CPU time, and how long a repair takes.

    sudo .venv/bin/python benchmarks/node_agent.py [SECONDS]

Needs root, cgroups of version 1 or 2, and the extra `agent`; makes cgroups below /placer-bench,
and removes them.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _arguments import not_run, numbers_asked
from _checkouts import HERE, environment_of
from _worlds import spec

from placer.node.cgroups import CPUS, CgroupReader
from placer.node.discover import discover_hardware, machine_from_inventory
from placer.node.mounts import CgroupMountError, kernel_cgroup_filesystem
from placer_models.cluster import Node
from placer_models.instance.node_file import node_placement_document_to_dict
from placer_models.node_placement import NodePlacement, NodePlacementPod
from placer_models.placement import ContainerPlacement, PodPlacement
from placer_models.pod import Pod
from placer_models.policy import QosClass

PODS = 500
ROOT = "placer-bench"
COMMAND = "import sys; from placer_cli.app import main; sys.exit(main())"


def document() -> NodePlacement:
    """Return 500 LS pods on this machine."""
    name = socket.gethostname()
    node = Node(name, machine_from_inventory(discover_hardware(), name).machine)
    asked = spec(QosClass.LS, 1)
    pods = tuple(
        NodePlacementPod(
            Pod(f"pod-{i}", "default", asked),
            PodPlacement(
                f"pod-{i}", "default", None, name, frozenset(),
                (ContainerPlacement("main", frozenset()),),
            ),
        )
        for i in range(PODS)
    )  # fmt: skip
    return NodePlacement(node, pods)


class Agent:
    """The agent of a checkout on this machine, with a cgroup root and folders of its own."""

    def __init__(self, checkout: Path, folder: Path, root: str, log_level: str) -> None:
        """Let a document arrive, by rename, and start the agent."""
        self.root, self.applied = root, folder / root / "state" / "applied.json"
        documents = folder / root / "documents"
        documents.mkdir(parents=True, mode=0o700)
        file = documents / ".new"
        file.write_text(json.dumps(node_placement_document_to_dict(document())))
        file.chmod(0o600)
        file.rename(documents / "node.json")
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", COMMAND, "agent", "--documents", documents,
             "--state", self.applied.parent, "--root", root, "--listen", "",
             "--log-level", log_level],
            env=environment_of(checkout),
        )  # fmt: skip

    def wait(self) -> None:
        """Return when the document is applied."""
        while not self.applied.exists():
            time.sleep(0.05)

    def cpu_s(self) -> float:
        """Return the CPU time of all threads of the agent."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def repair_s(self, cgroups: CgroupReader, i: int) -> float:
        """Overwrite a cpuset; return how long it takes until it says again what it should."""
        path = cgroups.path("cpuset", f"{self.root}/pod-{i}@default/main@pod-{i}", CPUS)
        good = cgroups.files.read(path)
        begin = time.monotonic()
        cgroups.files.write(path, "0")
        while cgroups.files.read(path) != good:
            time.sleep(0.002)
        return time.monotonic() - begin

    def end(self) -> None:
        """Stop it, and remove what it made."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        for mount in kernel_cgroup_filesystem().mounts.values():
            for folder, _, _ in os.walk(mount / self.root, topdown=False):
                Path(folder).rmdir()


def root_cgroups() -> CgroupReader:
    """Return the cgroups of this machine; where none may be made, that is said and all ends."""
    try:
        cgroups = CgroupReader(kernel_cgroup_filesystem())
    except CgroupMountError as error:
        not_run(str(error))
    if os.geteuid() != 0:
        not_run("only root may make cgroups at the root")
    return cgroups


def rss_mib(pid: int) -> float:
    """Return the memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def end_on_sigterm() -> None:
    """Let SIGTERM end this process as Ctrl-C does, so that cgroups are removed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def main(seconds: float) -> None:
    """Start an agent, measure it, end it, and clear up."""
    end_on_sigterm()
    cgroups = root_cgroups()
    with tempfile.TemporaryDirectory() as name:
        begin = time.monotonic()
        agent = Agent(HERE, Path(name), ROOT, "info")
        try:
            agent.wait()
            print(f"start and apply {PODS} pods: {time.monotonic() - begin:.2f} s")
            time.sleep(10)
            before = agent.cpu_s()
            time.sleep(seconds)
            idle = (agent.cpu_s() - before) / seconds
            print(f"idle for {seconds:g} s: {100 * idle:.3f} % of a CPU")
            print(f"memory: {rss_mib(agent.process.pid):.1f} MiB")
            repairs_s = []
            for i in range(20):
                repairs_s.append(agent.repair_s(cgroups, i))
                time.sleep(1)
            print(
                f"repair of one cpuset: median {statistics.median(repairs_s):.2f} s, "
                f"worst of 20 {max(repairs_s):.2f} s"
            )
        finally:
            agent.end()


if __name__ == "__main__":
    main(numbers_asked(__doc__, seconds=60.0).seconds)
