"""A node with 500 pods gets documents: how long applying takes, in all and for each pod.

First one document with 500 new pods of the shared pool, then as many documents as rounds, each
with one pod more: every second owns two CPUs where there are enough, so that the pool of all
others shrinks. On cgroup files in memory (128 CPUs, both versions) and, as root on a machine of
cgroup v1, on its own kernel below a cgroup that is removed again. The journal is on the disk.

Run: python benchmarks/apply_pods.py [ROUNDS]
"""

import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _arguments import numbers_asked
from _timing import p99

from node.fake_cgroupfs import FakeV1, FakeV2
from node.node_documents import a_document, a_node, a_pod
from placer.node.apply import apply
from placer.node.cgroup_files import CgroupFilesystem
from placer.node.cgroups import CPU, CPUSET, MEMORY, PIDS, CgroupReader
from placer.node.host import HostFactsForApply
from placer.node.mounts import CgroupMountError, kernel_cgroup_filesystem
from placer.node.state import AppliedStateFolder
from placer_models.cluster import Node
from placer_models.policy import QosClass

PODS = 500
ROOT = f"placer-bench-{os.getpid()}"
CPUS = 128


def measured(title: str, files: CgroupFilesystem, node: Node, rounds: int, *, owners: bool) -> None:
    cgroups, host = CgroupReader(files), HostFactsForApply(node.name)
    pods = [a_pod(f"p{i}", milli=2) for i in range(PODS)]
    with tempfile.TemporaryDirectory() as folder:
        state = AppliedStateFolder(Path(folder))

        def applied(generation: int) -> tuple[float, int]:
            document = a_document(*pods, node=node, generation=generation)
            began_s = perf_counter()
            plan = apply(document, cgroups, host, state, root=ROOT).plan
            return perf_counter() - began_s, len(plan.operations)

        all_s, writes = applied(1)
        each_ms = 1000 * all_s / PODS
        print(
            f"{title:14}  {PODS} new pods  {all_s:.2f} s, {each_ms:.2f} ms a pod, {writes} changes"
        )
        took, changes = [], []
        for i in range(rounds):
            if owners and i % 2:
                pods.append(a_pod(f"q{i}", QosClass.LSR, f"{4 + 2 * i}-{5 + 2 * i}"))
            else:
                pods.append(a_pod(f"q{i}", milli=2))
            one_s, writes = applied(2 + i)
            took.append(1000 * one_s)
            changes.append(writes)
        told = f"p50 {median(took):.0f} ms, p99 {p99(took):.0f} ms, {median(changes):.0f}"
        print(f"{title:14}  1 pod more    {told} changes")


def removed(files: CgroupFilesystem) -> None:
    for controller in (CPUSET, CPU, MEMORY, PIDS):
        found = [ROOT] if files.exists(f"{controller}/{ROOT}") else []
        for cgroup in found:
            found += [f"{cgroup}/{name}" for name in files.children(f"{controller}/{cgroup}")]
        for cgroup in reversed(found):
            files.remove_directory(f"{controller}/{cgroup}")


def main() -> None:
    rounds = numbers_asked(__doc__, rounds=30).rounds
    nodes = {i: f"{16 * i}-{16 * i + 15}" for i in range(8)}
    for title, fake in (("v2 in memory", FakeV2), ("v1 in memory", FakeV1)):
        measured(title, fake(f"0-{CPUS - 1}", nodes), a_node(CPUS, 8), rounds, owners=True)
    try:
        files = kernel_cgroup_filesystem()
    except CgroupMountError as error:
        print(f"this kernel: {error}")
        return
    if os.geteuid() != 0 or files.version != 1:
        print("this kernel: left out; it needs root, and cgroup v1")
        return
    online = CgroupReader(files).effective("", "cpuset.cpus")
    try:
        measured("this kernel v1", files, a_node(max(online) + 1, 1), rounds, owners=False)
    finally:
        removed(files)


if __name__ == "__main__":
    main()
