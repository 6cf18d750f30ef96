"""Real containers of crun and runc on this kernel, with NUMA nodes."""

import os
from pathlib import Path

import pytest

from containers.bundles import running
from containers.test_real_containers import Machine, machine, runtime
from node.kernel_machine import KernelMachine
from node.node_documents import a_pod
from placer_models.policy import QosClass

GIB = 1 << 30


@pytest.fixture(autouse=True)
def handed_down() -> None:
    """The root of version 2 hands its controllers down, as systemd sees to elsewhere."""
    if os.environ["PLACER_VM"] == "v2":
        files = KernelMachine(2, ()).files
        files.write("cgroup.subtree_control", "+cpuset +cpu +memory +pids")


def test_a_container_moves_to_another_numa_node(
    machine: Machine,
    runtime: Path,
    tmp_path: Path,
) -> None:
    """
    It says itself which CPUs and NUMA nodes it may use and which CPUs OpenMP is told; while
    it runs a new document takes it to the other NUMA node.
    """
    there = a_pod("own", QosClass.LSE, "6-7", memory={1: GIB}, node="here")
    here = a_pod("own", QosClass.LSE, "0-1", memory={0: GIB}, node="here")
    document = machine.apply(there)
    with running(runtime, document, "own/main", machine.root, tmp_path / "own") as container:
        assert (container.cpus, container.mems) == ("6-7", "1")
        assert container.environment["GOMP_CPU_AFFINITY"] == "6-7"

        machine.apply(here, generation=2)
        container.ask()

        assert (container.cpus, container.mems) == ("0-1", "0")
