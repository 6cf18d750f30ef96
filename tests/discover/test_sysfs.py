"""CPUs, NUMA nodes and memory from the kernel's files (C1)."""

import pytest

from kernel_trees import CPU, NODE, Tree, a_cache, a_cpu, a_node, files_of, smt_machine
from placer.node.discover.inventory import HardwareInventory
from placer.node.discover.sysfs import read_sysfs
from placer_models.cpuset import format_cpu_list
from placer_models.files.errors import InputError
from placer_models.topology import Hugepages


def read(*trees: Tree) -> HardwareInventory:
    return read_sysfs(files_of(*trees))


def cores(inventory: HardwareInventory) -> list[str]:
    return sorted(format_cpu_list(core) for core in inventory.cores.values())


def test_a_plain_machine_is_read_whole() -> None:
    """
    Two packages of two cores with two threads each: every count, set and distance.
    """
    inventory = read(smt_machine())

    assert (inventory.packages, inventory.llcs, inventory.dies) == (2, 2, 0)
    assert cores(inventory) == ["0,4", "1,5", "2,6", "3,7"]
    assert inventory.threads_per_core == {2: 4}
    assert [format_cpu_list(node.cpus) for node in inventory.numa_nodes] == ["0-1,4-5", "2-3,6-7"]
    assert [node.distances for node in inventory.numa_nodes] == [(10, 21), (21, 10)]
    assert {node.memory_bytes for node in inventory.numa_nodes} == {2**30}
    assert (inventory.architecture, inventory.model) == ("x86_64", "Synthetic 1")


def test_a_core_is_a_set_of_threads_and_not_a_number() -> None:
    """
    core_id repeats from package to package, and within one on some boards: it is not looked at.
    """
    inventory = read(*(a_cpu(cpu, package=cpu // 2, core_id=0) for cpu in range(4)))

    assert len(inventory.cores) == 4


def test_a_core_without_core_id_is_a_core() -> None:
    """
    Nothing but thread_siblings is needed.
    """
    tree = a_cpu(0, "0-1") | a_cpu(1, "0-1")
    del tree[f"{CPU}/cpu1/topology/physical_package_id"]

    assert cores(read(tree)) == ["0-1"]
    assert read(tree).packages == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("thread_siblings", "00000001,00000001"),
        ("core_cpus", "1,00000001"),
        ("core_cpus_list", "0,32"),
    ],
)
def test_siblings_have_had_several_names(name: str, text: str) -> None:
    """
    Old kernels have masks alone, in words of 32 bits; new ones say core_cpus.
    """
    tree = {f"{CPU}/cpu{cpu}/topology/{name}": text for cpu in (0, 32)}

    assert cores(read(tree)) == ["0,32"]


def test_offline_cpus_have_no_topology() -> None:
    """
    CPU 1 is present and offline: no core of it counts, and its sibling stands alone.
    """
    tree = {f"{CPU}/online": "0,2-3", f"{CPU}/cpu1/online": "0"}
    inventory = read(tree, a_cpu(0, "0"), a_cpu(2, "2-3"), a_cpu(3, "2-3"))

    assert [cpu.id for cpu in inventory.cpus] == [0, 1, 2, 3]
    assert format_cpu_list(inventory.online) == "0,2-3"
    assert cores(inventory) == ["0", "2-3"]


def test_without_a_list_each_cpu_says_whether_it_is_online() -> None:
    """
    Kernels before 2.6.26 have no cpu/online; CPU 0 often has no switch at all.
    """
    tree = a_cpu(0) | a_cpu(1) | {f"{CPU}/cpu1/online": "1"} | {f"{CPU}/cpu2/online": "0"}

    assert format_cpu_list(read(tree).online) == "0-1"


def test_siblings_that_are_offline_do_not_count() -> None:
    """
    Where a dump still lists an offline sibling, the core is what is online of it.
    """
    tree = {f"{CPU}/online": "0,2"} | a_cpu(0, "0-1") | a_cpu(1, "0-1") | a_cpu(2, "2-3")

    assert cores(read(tree)) == ["0", "2"]


def test_the_last_level_cache_is_the_highest_that_holds_data() -> None:
    """
    CPU 0 has an L3; CPU 1 has none, and its L2 is the last. Instruction caches never count.
    """
    tree = a_cpu(0) | a_cache(0, 0, 2, "0") | a_cache(0, 3, 3, "0-1")
    tree |= a_cpu(1) | a_cache(1, 0, 2, "1") | a_cache(1, 1, 4, "0-1", "Instruction")
    inventory = read(tree)

    assert [cpu.llc for cpu in inventory.cpus] == [frozenset({0, 1}), frozenset({1})]


def test_numa_nodes_may_have_no_cpu_and_any_id() -> None:
    """
    Memory alone is a NUMA node, too; ids have holes, and no two kernels the same files.
    """
    tree = a_cpu(0) | a_node(0, "0") | a_node(33, "", mib=64)
    tree |= {f"{NODE}/node2/cpumap": "00000000,00000001"}
    nodes = read(tree).numa_nodes

    assert [node.id for node in nodes] == [0, 2, 33]
    assert [format_cpu_list(node.cpus) for node in nodes] == ["0", "0", ""]
    assert [node.memory_bytes for node in nodes] == [2**30, None, 2**26]


def test_a_machine_may_have_no_numa_node() -> None:
    """
    As on s390, 32-bit Arm and kernels built without NUMA; memory is that of the machine.
    """
    inventory = read(a_cpu(0), {"proc/meminfo": "MemTotal:       2048 kB"})

    assert inventory.numa_nodes == ()
    assert inventory.memory_bytes == 2**21


def test_hugepages_are_read_by_size_and_node() -> None:
    """
    Sizes without pages are left out.
    """
    pages = f"{NODE}/node0/hugepages/hugepages"
    tree = a_cpu(0) | a_node(0, "0")
    tree |= {f"{pages}-2048kB/nr_hugepages": "5", f"{pages}-1048576kB/nr_hugepages": "0"}

    assert read(tree).numa_nodes[0].hugepages == (Hugepages(2**21, 5),)


def test_isolated_and_tickless_cpus_are_told() -> None:
    """
    One real kernel prints (null) for a set that was never made.
    """
    told = {f"{CPU}/isolated": "1-2", f"{CPU}/nohz_full": "(null)"}
    inventory = read(*(a_cpu(cpu) for cpu in range(3)), told)

    assert format_cpu_list(inventory.isolated) == "1-2"
    assert inventory.nohz_full == frozenset()


def test_hybrid_cores_are_told_by_their_perf_units() -> None:
    """
    cpu_core and cpu_atom list them; a machine with one kind has one unit and tells nothing.
    """
    both = {"sys/devices/cpu_core/cpus": "0", "sys/devices/cpu_atom/cpus": "1"}
    one = {"sys/devices/cpu_core/cpus": "0-1"}

    assert [cpu.efficient for cpu in read(a_cpu(0), a_cpu(1), both).cpus] == [False, True]
    assert [cpu.efficient for cpu in read(a_cpu(0), a_cpu(1), one).cpus] == [None, None]


@pytest.mark.parametrize(
    "told",
    [
        {"proc/self/status": "Name:\tsh\nCpus_allowed_list:\t1,3\nMems_allowed_list:\t0\n"},
        {"proc/self/cpuset": "/job", "dev/cpuset/job/cpus": "1,3", "dev/cpuset/job/mems": "0"},
        {
            "proc/self/cgroup": "4:memory:/\n3:cpuset,cpu:/job",
            "sys/fs/cgroup/cpuset/job/cpuset.effective_cpus": "1,3",
            "sys/fs/cgroup/cpuset/job/cpuset.cpus": "0-3",
            "sys/fs/cgroup/cpuset/job/cpuset.mems": "0",
        },
        {
            "proc/self/cgroup": "0::/job",
            "sys/fs/cgroup/job/cpuset.cpus.effective": "1,3",
            "sys/fs/cgroup/job/cpuset.mems.effective": "0",
        },
    ],
    ids=["process", "old cpuset", "version 1", "version 2"],
)
def test_what_is_allowed_is_no_inventory(told: Tree) -> None:
    """
    A job that may use two CPUs of four sees four; what it may use stands beside that.
    """
    inventory = read(*(a_cpu(cpu) for cpu in range(4)), told)

    assert len(inventory.cpus) == 4
    assert format_cpu_list(inventory.allowed_cpus or ()) == "1,3"
    assert format_cpu_list(inventory.allowed_numa_nodes or ()) == "0"


def test_memory_of_gpus_is_known() -> None:
    """
    On POWER9 and Grace the memory of GPUs is a NUMA node; the driver says which.
    """
    status = {"proc/driver/nvidia/gpus/0004:04:00.0/numa_status": "Node: 255\nStatus: online"}
    inventory = read(a_cpu(0), a_node(0, "0"), a_node(255, ""), status)

    assert [node.of_gpu for node in inventory.numa_nodes] == [False, True]


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        (f"{CPU}/online", "0-", "expected a list such as 0-3,8"),
        (f"{CPU}/online", "3-1", "runs backwards"),
        (f"{CPU}/cpu0/topology/thread_siblings_list", "x", "expected a list such as 0-3,8"),
        (f"{CPU}/cpu0/topology/physical_package_id", "one", "expected a whole number"),
        (f"{NODE}/node0/distance", "10 far", "expected numbers such as 10 21"),
        (f"{NODE}/node0/cpulist", "0-99999999", "CPU ids end at 65535"),
    ],
)
def test_a_file_that_no_kernel_writes_is_named(path: str, text: str, message: str) -> None:
    """
    One message: the dump, the file, what it holds and what was expected.
    """
    with pytest.raises(InputError) as caught:
        read(a_cpu(0), a_node(0, "0"), {path: text})

    assert str(caught.value).startswith(f"a dump: {path}: ")
    assert message in str(caught.value)


def test_a_mask_that_is_none_is_named() -> None:
    """
    Hexadecimal words of eight digits at most.
    """
    for text in ("xyz", "123456789,0", "-1", "0x", "f" * 70_000):
        with pytest.raises(InputError, match=r"mask|ids end"):
            read({f"{CPU}/cpu0/topology/thread_siblings": text})
