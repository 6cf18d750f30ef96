"""What discover finds here is placed by the real solver, and its answer is obeyed."""

import json
import mmap
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from node.kernel_machine import KernelMachine
from placer.node.cgroups import CPUS, MEMS, CgroupReader
from placer.node.discover.pci import PCI, pci_place_of, pci_vendor_and_class
from placer.node.discover.roots import open_machine_files
from placer.node.mounts import kernel_cgroup_filesystem
from placer_cli.app import main
from placer_models.cpuset import format_cpu_list, parse_cpu_list
from vm.inside.scheduler_port import ask

VERSION = 2 if os.environ["PLACER_VM"] == "v2" else 1
CONTROLLERS = ("cpuset", "cpu", "memory", "hugetlb", "pids")
MIB = 1 << 20
EDU = 0x1234
"""The vendor of qemu's device for teaching: it does nothing, and sits where it is told."""

PODS = """\
apiVersion: placer/v1
kind: Instance
pods:
  - name: alone
    qos: LSE
    requests: {cpu: 2, memory: 256Mi}
    limits: {cpu: 2, memory: 256Mi, swap: 64Mi}
    cpuBindPolicy: {required: FullPCPUs}
    numaPolicy: single-numa-node
  - name: paged
    qos: LSR
    requests: {cpu: 2, memory: 128Mi, hugepages-2Mi: 8Mi}
    limits: {cpu: 2}
    numaPolicy: single-numa-node
  - {name: shared, qos: LS, requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: 1, pids: 50}}
  - {name: rest, qos: BE, requests: {memory: 64Mi}}
"""

TOUCH = """\
import mmap, sys
memory = None
for line in sys.stdin:
    flags, size = map(int, line.split())
    try:
        memory = mmap.mmap(-1, size, flags=flags)
        for at in range(0, size, 4096):
            memory[at] = 1
        said = "ok"
    except OSError as error:
        said = f"errno {error.errno}"
    print(said, flush=True)
"""
HUGE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000
PLAIN = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


class Process:
    """A process that takes memory when it is told to."""

    def __init__(self, cgroups: CgroupReader, cgroup: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", TOUCH], stdin=-1, stdout=-1, text=True
        )
        self.pid = self._process.pid
        for controller in CONTROLLERS if VERSION == 1 else ("",):
            if cgroups.exists(cgroup, controller):
                path = cgroups.path(controller, cgroup, "cgroup.procs")
                cgroups.files.write(path, str(self.pid))

    def take(self, size: int, flags: int) -> str:
        """Take memory, and return what became of it."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{flags} {size}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def pages(self) -> dict[str, int]:
        """NUMA node -> pages of its anonymous memory there."""
        found = {"0": 0, "1": 0}
        for line in Path(f"/proc/{self.pid}/numa_maps").read_text().splitlines():
            if "anon=" in line and "file=" not in line:
                for word in line.split():
                    if word[0] == "N" and "=" in word:
                        found[word[1]] += int(word.partition("=")[2])
        return found

    def status(self, name: str) -> str:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(line.split()[1] for line in lines if line.startswith(f"{name}:"))

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


class Placed:
    """This machine, with a document that the solver made for it."""

    def __init__(self, folder: Path) -> None:
        self.kernel = KernelMachine(VERSION, ("placer",))
        self.kernel.clean()
        if VERSION == 2:
            words = " ".join(f"+{one}" for one in CONTROLLERS)
            self.kernel.files.write("cgroup.subtree_control", words)
        self.cgroups = CgroupReader(kernel_cgroup_filesystem())
        self.folder = folder
        self.processes: list[Process] = []

    def apply(self, document: dict) -> None:
        file = self.folder / "vm.json"
        file.write_text(json.dumps(document))
        assert main(["apply", str(file), "--state", str(self.folder / "state")]) == 0

    def cgroup(self, pod: str) -> str:
        return f"placer/{pod}@default/main@{pod}"

    def says(self, controller: str, pod: str, file: str) -> str:
        path = self.cgroups.path(controller, self.cgroup(pod), file)
        return self.cgroups.files.read(path).strip()

    def start(self, pod: str) -> Process:
        self.processes.append(Process(self.cgroups, self.cgroup(pod)))
        return self.processes[-1]


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """Of this machine: what discover finds, the pods, and where the solver puts them."""
    node = tmp_path_factory.mktemp("placed") / "node.yaml"
    assert main(["discover", "--as", "instance", "--output", str(node)]) == 0
    return json.loads(ask({"node.yaml": node.read_text(), "pods.yaml": PODS}, "vm"))


@pytest.fixture
def here(tmp_path):
    """This machine; nothing is left of what is done to it."""
    found = Placed(tmp_path)
    yield found
    for process in found.processes:
        process.end()
    found.kernel.clean()


def test_pci_devices_are_on_the_numa_nodes_where_they_sit():
    """
    One behind each host bridge, which says on which node it is.
    """
    files = open_machine_files(Path("/"))
    found = [
        pci_place_of(files, bus_id)
        for bus_id in files.names(PCI)
        if pci_vendor_and_class(files, bus_id)[0] == EDU
    ]

    assert sorted(place.numa_node for place in found) == [0, 1]
    assert sorted(place.root for place in found) == ["0000:40", "0000:80"]
    assert all(len(place.bridges) == 1 for place in found)


def test_a_machine_is_discovered_placed_and_obeys(here, document, capsys):
    places = {pod["name"]: pod["placement"] for pod in document["pods"]}
    owned = {name: parse_cpu_list(places[name]["cpuset"]) for name in ("alone", "paged")}
    pool = frozenset(range(8)) - owned["alone"] - owned["paged"]
    assert sorted(map(sorted, [[0, 1], [2, 3], [4, 5], [6, 7]])).count(sorted(owned["alone"])) == 1
    assert len(owned["paged"]) == 2
    assert not owned["alone"] & owned["paged"]
    homes = {name: {cpu // 4 for cpu in cpus} for name, cpus in owned.items()}

    here.apply(document)
    capsys.readouterr()

    expected = {
        "alone": owned["alone"],
        "paged": owned["paged"],
        "shared": pool,
        "rest": pool | owned["paged"],
    }
    for pod, cpus in expected.items():
        process = here.start(pod)
        assert here.cgroups.effective(here.cgroup(pod), CPUS) == cpus
        assert process.status("Cpus_allowed_list") == format_cpu_list(cpus)
        assert os.sched_getaffinity(process.pid) == cpus
        mems = homes.get(pod, {0, 1})
        assert here.cgroups.effective(here.cgroup(pod), MEMS) == mems
        assert process.status("Mems_allowed_list") == format_cpu_list(mems)
    memory, swap = ("memory.max", "memory.swap.max")
    if VERSION == 1:
        memory, swap = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
    assert here.says("memory", "alone", memory) == str(256 * MIB)
    assert here.says("memory", "alone", swap) == str((64 if VERSION == 2 else 320) * MIB)
    again = main(["apply", str(here.folder / "vm.json"), "--dry-run", "--state",
                  str(here.folder / "state")])  # fmt: skip
    assert again == 0
    assert "all is as it should be" in capsys.readouterr().out


def test_hugepages_are_those_that_a_pod_asks_for(here, document):
    """
    8 MiB and not 10; none for a pod that asks for none. Who maps more is told so, and lives.
    """
    here.apply(document)
    paged, shared = here.start("paged"), here.start("shared")

    assert paged.take(10 * MIB, HUGE) == "errno 12"
    assert paged.take(8 * MIB, HUGE) == "ok"
    assert shared.take(2 * MIB, HUGE) == "errno 12"


def test_memory_moves_when_a_pod_gets_another_numa_node(here, document):
    """
    On version 1 because it is told to, on version 2 always.
    """
    document = deepcopy(document)
    alone = next(pod for pod in document["pods"] if pod["name"] == "alone")
    others = [pod for pod in document["pods"] if pod["name"] in ("shared", "rest")]
    size = alone["placement"]["memory"].popitem()[1]
    for generation, (cpus, home) in enumerate((("0-1", "0"), ("4-5", "1")), start=1):
        alone["placement"] |= {"cpuset": cpus, "memory": {home: size}}
        alone["placement"].pop("containers", None)
        here.apply({**document, "generation": generation, "pods": [alone, *others]})
        if generation == 1:
            process = here.start("alone")
            assert process.take(16 * MIB, PLAIN) == "ok"
            before = process.pages()
            assert before["0"] >= 4096

    after = process.pages()
    assert after["0"] < 100
    assert after["1"] >= 4096
