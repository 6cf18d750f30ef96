"""Uneven machines (C1), and machines that contradict themselves."""

import pytest

from placer_models.policy import HybridCoreKind
from placer_models.topology import ARM, Cpu, NumaNode, Topology

GIB = 2**30


def topology(*cpus: Cpu, nodes: tuple[NumaNode, ...] = (NumaNode(0, GIB),)) -> Topology:
    return Topology("x86_64", cpus, nodes)


def test_a_core_is_its_online_threads() -> None:
    """
    An offline thread makes a core narrower; a core without online threads is none.
    """
    machine = topology(
        Cpu(0, core=0, package=0, numa_node=0),
        Cpu(1, core=1, package=0, numa_node=0),
        Cpu(2, core=0, package=0, numa_node=0, online=False),
        Cpu(3, core=2, package=0, numa_node=0, online=False),
    )

    assert dict(machine.cores) == {0: frozenset({0}), 1: frozenset({1})}
    assert machine.online == {0, 1}


@pytest.mark.parametrize("word", ["aarch64", "arm64", "ARM64"])
def test_arm_is_one_architecture_however_it_is_spelled(word: str) -> None:
    """
    The kernel's word and the one of container images; rule arm-cpu-policy holds for both.
    """
    assert Topology(word, (), (NumaNode(0, 0),)) == Topology(ARM, (), (NumaNode(0, 0),))


def test_cpu_ids_may_have_holes_and_numa_nodes_may_lack_cpus_or_memory() -> None:
    """
    Ids are names; a NUMA node of devices has neither CPUs nor memory for pods.
    """
    machine = topology(
        Cpu(4, core=4, package=1, numa_node=2),
        Cpu(88, core=9, package=1, numa_node=None),
        nodes=(NumaNode(2, 0), NumaNode(250, 3 * GIB)),
    )

    assert machine.cpu[88].numa_node is None
    assert machine.memory_bytes == 3 * GIB


@pytest.mark.parametrize(
    ("cpus", "nodes", "message"),
    [
        ([Cpu(0, 0, 0, 0), Cpu(0, 1, 0, 0)], [NumaNode(0, 0)], "two CPUs have the id 0"),
        ([Cpu(1, 1, 0, 0), Cpu(0, 0, 0, 0)], [NumaNode(0, 0)], "ascend by id; 0 comes after 1"),
        ([Cpu(0, 0, 0, 3)], [NumaNode(0, 0)], "CPU 0 is on NUMA node 3; the machine has 0"),
        ([Cpu(0, 0, 0, None)], [], "at least one NUMA node"),
        ([Cpu(0, 0, 0, 0)], [NumaNode(0, 0), NumaNode(0, 0)], "two NUMA nodes have the id 0"),
        ([Cpu(0, 0, 0, 0), Cpu(1, 0, 1, 0)], [NumaNode(0, 0)], "one core, but their package"),
        (
            [Cpu(0, 0, 0, 0), Cpu(1, 0, 0, 1)],
            [NumaNode(0, 0), NumaNode(1, 0)],
            "one core, but their numa_node",
        ),
        (
            [Cpu(0, 0, 0, 0), Cpu(1, 0, 0, 0, kind=HybridCoreKind.EFFICIENCY)],
            [NumaNode(0, 0)],
            "one core, but their kind",
        ),
    ],
)
def test_contradictions_are_refused_by_name(
    cpus: list[Cpu], nodes: list[NumaNode], message: str
) -> None:
    """
    The message says which parts contradict each other.
    """
    with pytest.raises(ValueError, match=message):
        Topology("x86_64", tuple(cpus), tuple(nodes))


def test_distances_are_square() -> None:
    """
    One row and one column a NUMA node.
    """
    with pytest.raises(ValueError, match="expected 1 rows of 1 numbers"):
        Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, 0),), ((10, 20),))
