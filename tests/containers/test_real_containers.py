"""Real containers say themselves which CPUs, NUMA nodes and environment they have; as root."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from containers.bundles import running
from containers.runtimes import path_of
from node.kernel_machine import alone_on_the_kernel, cgroup_files_or_skip
from node.node_documents import a_document, a_pod, holding
from placer.node.apply import apply
from placer.node.cgroups import CPUS, MEMS, CgroupReader
from placer.node.discover import discover_hardware, machine_from_inventory
from placer.node.host import read_host_facts
from placer.node.state import AppliedStateFolder
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.device import Device
from placer_models.node_placement import NodePlacementPod
from placer_models.policy import QosClass

GPUS = tuple(Device("gpu", i, id=f"GPU-{i}", model="A100") for i in range(2))
"""What the machine is said to have: nothing but an environment comes of it here."""


class Machine:
    """This machine, and a root of our own in its cgroups."""

    def __init__(self, cgroups: CgroupReader, folder: Path) -> None:
        self.cgroups = cgroups
        self.root = f"placer-test-{os.getpid()}"
        found = machine_from_inventory(discover_hardware(), "here").machine
        self.node = Node("here", replace(found, devices=GPUS))
        self.cpus = cgroups.effective("", CPUS)
        self.mems = format_cpu_list(cgroups.effective("", MEMS))
        self._state = AppliedStateFolder(folder / "state")

    def apply(self, *pods: NodePlacementPod, generation: int = 1):
        """Apply a document of the pods, and return it."""
        document = a_document(*pods, generation=generation, node=self.node)
        host = read_host_facts()
        with self._state.locked():
            apply(document, self.cgroups, host, self._state, root=self.root)
        return document

    def clean(self) -> None:
        for mount in [Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").iterdir()]:
            for folder, _, _ in os.walk(mount / self.root, topdown=False):
                Path(folder).rmdir()  # runtimes use all hierarchies


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """This machine, without any cgroup of ours before and after."""
    cgroups = CgroupReader(cgroup_files_or_skip())
    with alone_on_the_kernel():
        found = Machine(cgroups, tmp_path)
        yield found
        found.clean()


@pytest.fixture(params=["crun", "runc"])
def runtime(request: pytest.FixtureRequest) -> Path:
    """A container runtime."""
    found = path_of(request.param)
    if found is None:
        pytest.skip(f"{request.param} is not here; 'make container-test' gets it")
    return found


def a_pod_on(name: str, cpus: CpuSet) -> NodePlacementPod:
    return a_pod(name, QosClass.LSR, format_cpu_list(cpus), node="here")


def test_a_container_has_what_its_document_says(
    machine: Machine, runtime: Path, tmp_path: Path
) -> None:
    """
    The last CPU of this machine is a pod's own, and so is a GPU; the runtime starts its
    container in the cgroup that Placer made. A container without GPUs is told so.
    """
    last = max(machine.cpus)
    own = holding(a_pod_on("own", frozenset({last})), gpu=(1,))
    document = machine.apply(own, a_pod("plain", QosClass.BE, node="here"))

    with running(runtime, document, "own/main", machine.root, tmp_path / "own") as container:
        assert container.cpus == str(last)
        assert container.mems == machine.mems
        assert container.environment["GOMP_CPU_AFFINITY"] == str(last)
        assert container.environment["NVIDIA_VISIBLE_DEVICES"] == "GPU-1"
    with running(runtime, document, "plain/main", machine.root, tmp_path / "plain") as container:
        assert container.cpus == format_cpu_list(machine.cpus)
        assert container.environment["NVIDIA_VISIBLE_DEVICES"] == "none"


def test_containers_follow_a_new_document(machine: Machine, runtime: Path, tmp_path: Path) -> None:
    """
    Two containers share all CPUs; then one of them gets a CPU of its own, and the other, which
    runs on, loses it; then back.
    """
    if len(machine.cpus) < 2:
        pytest.skip("this machine has one CPU")
    last = max(machine.cpus)
    others = format_cpu_list(machine.cpus - {last})
    one, other = a_pod("one", node="here"), a_pod("other", node="here")
    document = machine.apply(one, other)
    with (
        running(runtime, document, "one/main", machine.root, tmp_path / "one") as first,
        running(runtime, document, "other/main", machine.root, tmp_path / "other") as second,
    ):
        everything = format_cpu_list(machine.cpus)
        assert (first.cpus, second.cpus) == (everything, everything)
        machine.apply(a_pod_on("one", frozenset({last})), other, generation=2)
        first.ask()
        second.ask()
        assert (first.cpus, second.cpus) == (str(last), others)
        machine.apply(one, other, generation=3)
        first.ask()
        second.ask()
        assert (first.cpus, second.cpus) == (everything, everything)
