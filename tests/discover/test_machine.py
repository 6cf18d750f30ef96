"""What was found becomes words; where they cannot hold it, one warning names the rule (C1)."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from kernel_trees import CPU, NODE, Tree, a_cpu, a_node, files_of, smt_machine
from placer.node.discover import machine_from_inventory
from placer.node.discover.inventory import DiscoveredDevices
from placer.node.discover.machine import DiscoveredMachine, sanitised_file_name
from placer.node.discover.sysfs import read_sysfs
from placer_models.cpuset import format_cpu_list
from placer_models.device import Device
from placer_models.instance.machine_schema import MachineFile
from placer_models.instance.machine_schema import machine_of_file as read_machine
from placer_models.instance.machine_writer import machine_to_dict
from placer_models.policy import HybridCoreKind


def discover(*trees: Tree) -> DiscoveredMachine:
    found = machine_from_inventory(read_sysfs(files_of({"proc/sys/kernel/arch": "x86_64"}, *trees)))
    written = json.dumps(machine_to_dict(found.machine, found.machine.name))
    assert read_machine(MachineFile.model_validate_json(written)) == found.machine
    return found


def numa_of(found: DiscoveredMachine) -> Sequence[int | None]:
    return [cpu.numa_node for cpu in found.machine.topology.cpus]


def packages_of(found: DiscoveredMachine) -> Sequence[int]:
    return [cpu.package for cpu in found.machine.topology.cpus]


def test_a_plain_machine_needs_no_warning() -> None:
    """
    All of it fits the words.
    """
    found = discover(smt_machine())

    assert found.warnings == ()
    assert packages_of(found) == [0, 0, 1, 1, 0, 0, 1, 1]
    assert found.machine.topology.numa_distances == ((10, 21), (21, 10))
    assert {cpu.llc for cpu in found.machine.topology.cpus} == {0, 1}


def test_a_machine_without_numa_nodes_is_one() -> None:
    """
    The word has one NUMA node at least: then it is the whole machine.
    """
    found = discover(a_cpu(0), a_cpu(1), {"proc/meminfo": "MemTotal: 1024 kB"})

    assert numa_of(found) == [0, 0]
    assert found.machine.topology.memory_bytes == 2**20
    assert found.warnings == (
        "the kernel knows no NUMA nodes; rule: the whole machine is NUMA node 0",
    )


def test_memory_that_nothing_tells_of_counts_as_nothing() -> None:
    """
    One NUMA node has what the machine has; of two nobody knows which has how much.
    """
    bare = {f"{NODE}/node0/cpulist": "0"}
    whole = {"proc/meminfo": "MemTotal: 1024 kB"}
    one = discover(a_cpu(0), bare, whole)
    two = discover(a_cpu(0), bare, {f"{NODE}/node1/cpulist": ""}, whole)

    assert one.machine.topology.memory_bytes == 2**20
    assert one.warnings == ()
    assert two.machine.topology.memory_bytes == 0
    assert discover(a_cpu(0), bare).warnings == (
        "nothing says how much memory NUMA node 0 has; rule: it counts as 0",
    )
    assert two.warnings == ("nothing says how much memory NUMA node 0-1 has; rule: it counts as 0",)


@pytest.mark.parametrize(
    ("total_kib", "warned"), [(3 * 2**20, True), (2**21 + 1, True), (2**21, False), (2**20, False)]
)
def test_numa_nodes_with_less_memory_than_the_machine_are_warned_of(
    total_kib: int, warned: bool
) -> None:
    """
    What no NUMA node tells of is given to nobody. More is no wonder: both are read one after the
    other.
    """
    nodes = a_node(0, "0", mib=1024) | a_node(1, "", mib=1024)
    found = discover(a_cpu(0), nodes, {"proc/meminfo": f"MemTotal: {total_kib} kB"})

    lost = (total_kib - 2**21) * 1024
    told = (
        f"the NUMA nodes have {2**31:,} bytes of memory together, and the machine "
        f"{total_kib * 1024:,}; rule: the {lost:,} bytes that no NUMA node has count as 0"
    )
    assert found.warnings == ((told,) if warned else ())
    assert found.machine.topology.memory_bytes == 2**31


def test_of_overlapping_numa_nodes_the_smallest_has_the_cpu() -> None:
    """
    CPU 3 stands in three of them, CPU 0 in two that are equal: one warning for both.
    """
    nodes = a_node(0, "0") | a_node(1, "0") | a_node(3, "3") | a_node(4, "2-3") | a_node(5, "1-3")
    found = discover(*map(a_cpu, range(4)), nodes)

    assert numa_of(found) == [0, 5, 4, 3]
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("several NUMA nodes list CPUs 0,2-3; rule: ")


def test_a_cpu_may_be_of_no_numa_node() -> None:
    """
    The word can hold that, so there is nothing to warn of.
    """
    found = discover(a_cpu(0), a_cpu(1), a_node(4, "1"))

    assert numa_of(found) == [None, 4]
    assert found.warnings == ()


def test_threads_of_one_core_are_in_one_place() -> None:
    """
    A kernel that puts them on two NUMA nodes is believed for the first.
    """
    found = discover(a_cpu(0, "0-1"), a_cpu(1, "0-1"), a_node(0, "0"), a_node(1, "1"))

    assert numa_of(found) == [0, 0]
    assert found.warnings == (
        "CPU 1: another NUMA node than the first thread of the core; "
        "rule: a core is where its first thread is",
    )


def test_threads_that_disagree_share_no_core() -> None:
    """
    CPU 0 names CPU 1, which does not name it back.
    """
    found = discover(a_cpu(0, "0-1"), a_cpu(1, "1"), a_node(0, "0-1"))

    assert len(found.machine.topology.cores) == 2
    assert found.warnings == (
        "CPU 0 disagree about who shares a core; rule: CPUs share one when they name the same set",
    )


def test_offline_cpus_are_kept() -> None:
    """
    They take the package of their NUMA node, or the first one, as nothing is said of them.
    """
    online = {f"{CPU}/online": "0-1", f"{CPU}/cpu2/online": "0", f"{CPU}/cpu3/online": "0"}
    found = discover(online, a_cpu(0), a_cpu(1, package=7), a_node(0, "0"), a_node(1, "1-2"))

    assert [cpu.online for cpu in found.machine.topology.cpus] == [True, True, False, False]
    assert packages_of(found) == [0, 7, 7, 0]
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("nothing is said of the place of offline CPUs 2-3; rule: ")


def test_packages_repeat_in_books_and_drawers() -> None:
    """
    Number 0 of book 0 and number 0 of book 1 are two packages, numbered anew.
    """
    cpus = [a_cpu(cpu, package=0, drawer_id=4, book_id=cpu // 2) for cpu in range(4)]
    found = discover(*cpus, a_node(0, "0-3"))

    assert packages_of(found) == [0, 0, 1, 1]
    assert [warning.partition("; ")[0] for warning in found.warnings] == [
        "there are books or drawers of packages",
        "the kernel's numbers of packages do not tell them apart",
    ]


def test_packages_without_numbers_are_told_by_their_cpus() -> None:
    """
    The kernel says -1 where firmware says nothing. Sets that are cores alone say nothing either.
    """
    sets = [a_cpu(c, package=-1, core_siblings_list="0-1" if c < 2 else "2-3") for c in range(4)]
    alone = [a_cpu(c, package=-1, core_siblings_list=str(c)) for c in range(4)]

    assert packages_of(discover(*sets, a_node(0, "0-3"))) == [0, 0, 2, 2]
    assert packages_of(discover(*alone, a_node(0, "0-3"))) == [0] * 4


def test_of_many_capacities_there_are_two_kinds() -> None:
    """
    Below three quarters of the best is an efficiency core.
    """
    cpus = [
        a_cpu(cpu) | {f"{CPU}/cpu{cpu}/cpu_capacity": capacity}
        for cpu, capacity in enumerate(("280", "767", "768", "1024"))
    ]
    found = discover(*cpus, a_node(0, "0-3"))

    slow = [c.id for c in found.machine.topology.cpus if c.kind is HybridCoreKind.EFFICIENCY]
    assert slow == [0, 1]
    assert "cores have 4 capacities (280, 767, 768, 1024); rule: " in found.warnings[0]


def test_distances_are_kept_whole_or_not_at_all() -> None:
    """
    A row that lacks a NUMA node says nothing of the others.
    """
    nodes = a_node(0, "0", distance="10 20") | a_node(1, "", distance="20")
    found = discover(a_cpu(0), nodes)

    assert found.machine.topology.numa_distances == ()
    assert found.warnings == ("NUMA distances are not there for all pairs; rule: none are kept",)


def test_memory_of_gpus_is_not_for_pods() -> None:
    """
    It is a NUMA node with 0 bytes, as in the catalogue.
    """
    status = {"proc/driver/nvidia/gpus/0004:04:00.0/numa_status": "Node: 255"}
    found = discover(a_cpu(0), a_node(0, "0"), a_node(255, ""), status)

    assert [node.memory_bytes for node in found.machine.topology.numa_nodes] == [2**30, 0]
    assert found.warnings == ("NUMA node 255 is memory of GPUs; rule: it has 0 for pods",)


def test_a_numa_node_of_the_size_of_a_gpu_is_its_memory() -> None:
    """
    Where no driver says so: to the byte, without CPUs, and no more of them than such GPUs.
    """
    nodes = a_node(0, "0", mib=512) | a_node(8, "", mib=256) | a_node(9, "", mib=256)
    nodes |= a_node(10, "", mib=512)
    inventory = read_sysfs(files_of(a_cpu(0), nodes))
    gpus = [Device("gpu", i, memory_bytes=size << 20) for i, size in enumerate((256, 256, 1024))]
    found = machine_from_inventory(replace(inventory, found=DiscoveredDevices(tuple(gpus))))

    sizes = [node.memory_bytes >> 20 for node in found.machine.topology.numa_nodes]
    assert sizes == [512, 0, 0, 512]
    fewer = machine_from_inventory(replace(inventory, found=DiscoveredDevices((gpus[0],))))
    assert [node.memory_bytes >> 20 for node in fewer.machine.topology.numa_nodes][1] == 256


def test_hugepages_are_no_more_than_the_memory() -> None:
    """
    Else a file of the machine could not be read back.
    """
    pages = {f"{NODE}/node0/hugepages/hugepages-1048576kB/nr_hugepages": "2"}
    found = discover(a_cpu(0), a_node(0, "0"), pages)

    assert found.machine.topology.numa_nodes[0].hugepages == ()
    assert "more hugepages than memory; rule: none are counted" in found.warnings[0]


def test_cpus_that_are_not_allowed_are_reserved_on_the_node() -> None:
    """
    The machine has four CPUs; the node gives out the two that its job may use.
    """
    status = {"proc/self/status": "Cpus_allowed_list:\t1,3", "proc/sys/kernel/hostname": "n 1"}
    found = discover(*map(a_cpu, range(4)), a_node(0, "0-3"), status)

    node = found.node()

    assert node.name == "n-1"
    assert format_cpu_list(node.reserved_cpus) == "0,2"
    assert len(node.machine.topology.online) == 4
    assert found.instance().nodes == (node,)


def test_names_hold_what_files_allow() -> None:
    """
    Letters, digits and a few signs, not at the ends.
    """
    assert sanitised_file_name("Power Edge (R630)_") == "Power-Edge-R630"
    assert sanitised_file_name("ß") == ""
