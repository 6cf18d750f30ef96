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

from placer.node.cgroups import CPUS, Cgroups
from placer.node.discover import take_inventory, to_machine
from placer.node.mounts import MountError, kernel_files
from placer_models.cluster import Node
from placer_models.instance.node_file import node_placement_to_dict
from placer_models.node_placement import NodePlacement, NodePod
from placer_models.placement import ContainerPlacement, PodPlacement
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import QosClass

PODS = 500
ROOT = "placer-bench"


def document() -> NodePlacement:
    """Return 500 LS pods on this machine."""
    name = socket.gethostname()
    node = Node(name, to_machine(take_inventory(), name).machine)
    spec = PodSpec((Container("main", Resources(cpu_milli=1)),), QosClass.LS)
    pods = tuple(
        NodePod(
            Pod(f"pod-{i}", "default", spec),
            PodPlacement(
                f"pod-{i}", "default", None, name, frozenset(),
                (ContainerPlacement("main", frozenset()),),
            ),
        )
        for i in range(PODS)
    )  # fmt: skip
    return NodePlacement(node, pods)


def write_document(folder: Path) -> None:
    """Let the document of this node arrive in a folder, as the agent wants it: by rename."""
    file = folder / ".new"
    file.write_text(json.dumps(node_placement_to_dict(document())))
    file.chmod(0o600)
    file.rename(folder / "node.json")


def root_cgroups() -> Cgroups:
    """Return the cgroups of this machine; where none may be made, that is said and all ends."""
    try:
        cgroups = Cgroups(kernel_files())
    except MountError as error:
        print(f"not run: {error}")
        raise SystemExit from None
    if os.geteuid() != 0:
        print("not run: only root may make cgroups at the root")
        raise SystemExit
    return cgroups


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def rss_mib(pid: int) -> float:
    """Return the memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def main(seconds: float) -> None:
    """Start an agent, measure it, end it, and clear up."""
    cgroups = root_cgroups()
    with tempfile.TemporaryDirectory() as name:
        documents = Path(name, "documents")
        documents.mkdir(mode=0o700)
        write_document(documents)
        begin = time.monotonic()
        agent = subprocess.Popen(
            [Path(sys.executable).with_name("placer"), "agent", "--documents", documents,
             "--state", Path(name, "state"), "--root", ROOT, "--listen", "",
             "--log-level", "info"],
        )  # fmt: skip
        try:
            applied = Path(name, "state", "applied.json")
            while not applied.exists():
                time.sleep(0.05)
            print(f"start and apply {PODS} pods: {time.monotonic() - begin:.2f} s")
            time.sleep(10)
            before = cpu_seconds(agent.pid)
            time.sleep(seconds)
            idle = (cpu_seconds(agent.pid) - before) / seconds
            print(f"idle for {seconds:g} s: {100 * idle:.3f} % of a CPU")
            print(f"memory: {rss_mib(agent.pid):.1f} MiB")
            repairs_s = []
            for i in range(20):
                repairs_s.append(repair_s(cgroups, i, ROOT))
                time.sleep(1)
            print(
                f"repair of one cpuset: median {statistics.median(repairs_s):.2f} s, "
                f"worst of 20 {max(repairs_s):.2f} s"
            )
        finally:
            agent.send_signal(signal.SIGTERM)
            agent.wait()
            clear(cgroups, ROOT)


def repair_s(cgroups: Cgroups, i: int, root: str, look_every_s: float = 0.005) -> float:
    """Overwrite a cpuset; return how long it takes until it says again what it should."""
    path = cgroups.path("cpuset", f"{root}/pod-{i}@default/main@pod-{i}", CPUS)
    good = cgroups.files.read(path)
    begin = time.monotonic()
    cgroups.files.write(path, "0")
    while cgroups.files.read(path) != good:
        time.sleep(look_every_s)
    return time.monotonic() - begin


def clear(cgroups: Cgroups, root: str) -> None:
    """Remove what the agent made."""
    for mount in kernel_files().mounts.values():
        for folder, _, _ in os.walk(mount / root, topdown=False):
            Path(folder).rmdir()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60)
