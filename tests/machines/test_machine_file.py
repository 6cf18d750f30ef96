"""A machine file: each form it may take, and each contradiction it may hold."""

import json

import pytest
import yaml

from placer_models.cluster import Machine
from placer_models.cpuset import format_cpu_list
from placer_models.instance.machine_parts import InconsistentMachineError
from placer_models.instance.machine_schema import MachineFile, machine_of_file
from placer_models.policy import HybridCoreKind
from placer_models.topology import Hugepages

SMALL = """
name: small
numaNodes:
  - {id: 0, package: 0, memory: 8Gi, cpus: "0-3,8-11"}
  - {id: 1, package: 1, memory: 8Gi, cpus: "4-7,12-15"}
"""


def read(text: str) -> Machine:
    """Read a machine from YAML."""
    return machine_of_file(MachineFile.model_validate_json(json.dumps(yaml.safe_load(text))))


def cores(machine: Machine) -> list[str]:
    """Return the cores as CPU lists, in order of their keys."""
    return [format_cpu_list(cpus) for _, cpus in sorted(machine.topology.cores.items())]


def caches(machine: Machine) -> dict[int | None, str]:
    """Return the last-level caches as CPU lists."""
    found: dict[int | None, list[int]] = {}
    for cpu in machine.topology.cpus:
        found.setdefault(cpu.llc, []).append(cpu.id)
    return {key: format_cpu_list(cpus) for key, cpus in found.items()}


def test_without_cores_every_cpu_is_one() -> None:
    """
    The shortest file says NUMA nodes alone; nothing is guessed about threads or caches.
    """
    machine = read(SMALL)

    assert len(machine.topology.cores) == 16
    assert {cpu.llc for cpu in machine.topology.cpus} == {None}
    assert [machine.topology.cpu[i].package for i in (3, 4, 11, 12)] == [0, 1, 0, 1]
    assert machine.gpu_links is None


def test_strided_threads_are_far_apart() -> None:
    """
    16 CPUs with two threads a core: CPU 0 and CPU 8 are siblings.
    """
    machine = read(SMALL + 'cores: [{cpus: "0-15", threadsPerCore: 2, numbering: strided}]')

    assert cores(machine)[:2] == ["0,8", "1,9"]
    assert len(cores(machine)) == 8


def test_adjacent_threads_follow_each_other() -> None:
    """
    With adjacent numbering CPUs 0 and 1 are siblings.
    """
    machine = read(SMALL + 'cores: [{cpus: "0-15", threadsPerCore: 2, numbering: adjacent}]')

    assert cores(machine)[:2] == ["0-1", "2-3"]


def test_uneven_cores_are_listed_one_by_one() -> None:
    """
    Cores of one, two and four threads stand in one machine.
    """
    machine = read(
        """
        name: uneven
        numaNodes: [{id: 0, cpus: "0-6"}]
        cores: [{threads: ["0,4", "1", "2-3,5-6"]}]
        """
    )

    assert cores(machine) == ["0,4", "1", "2-3,5-6"]


def test_caches_group_consecutive_cores_of_a_package() -> None:
    """
    Two cores a cache: neighbours by number, and never of two packages.
    """
    machine = read(SMALL + 'cores: [{cpus: "0-15", threadsPerCore: 2, coresPerLlc: 2}]')

    assert caches(machine) == {0: "0-1,8-9", 1: "2-3,10-11", 2: "4-5,12-13", 3: "6-7,14-15"}


def test_caches_do_not_depend_on_the_order_of_cores() -> None:
    """
    Cores listed in any order: neighbours by number share a cache.
    """
    machine = read(
        """
        name: unordered
        numaNodes: [{id: 0, cpus: "0-3"}]
        cores: [{threads: ["3", "0", "2", "1"], coresPerLlc: 2}]
        """
    )

    assert caches(machine) == {0: "0-1", 1: "2-3"}


def test_a_cache_may_be_shared_by_cores_of_two_kinds() -> None:
    """
    A hybrid CPU: two fast cores with two threads and two small ones, one cache for all.
    """
    machine = read(
        """
        name: hybrid
        numaNodes: [{id: 0, cpus: "0-5"}]
        cores:
          - {cpus: "0-3", threadsPerCore: 2, numbering: adjacent, kind: performance}
          - {cpus: "4-5", kind: efficiency}
        llcs: ["0-5"]
        """
    )

    assert cores(machine) == ["0-1", "2-3", "4", "5"]
    assert machine.topology.cpu[4].kind is HybridCoreKind.EFFICIENCY
    assert caches(machine) == {0: "0-5"}


def test_an_offline_sibling_leaves_a_core_of_one_thread() -> None:
    """
    CPU 8 is present and offline: its core has CPU 0 alone.
    """
    machine = read(SMALL + 'cores: [{cpus: "0-15", threadsPerCore: 2}]\nofflineCpus: "8"')

    assert cores(machine)[0] == "0"
    assert 8 in machine.topology.cpu
    assert 8 not in machine.topology.online


def test_cpus_without_a_numa_node_are_kept() -> None:
    """
    The kernel may list CPUs under no NUMA node at all.
    """
    machine = read(SMALL + 'cpusWithoutNumaNode: [{package: 1, cpus: "16-17"}]')

    assert machine.topology.cpu[16].numa_node is None
    assert machine.topology.cpu[16].package == 1


def test_one_entry_stands_for_many_empty_numa_nodes() -> None:
    """
    Thirty-two NUMA nodes of GPU memory take one line.
    """
    machine = read(SMALL + '  - {ids: "2-33", package: 0}')

    assert len(machine.topology.numa_nodes) == 34
    assert machine.topology.memory_bytes == 16 * 2**30


def test_a_numa_node_may_span_packages() -> None:
    """
    ``packages`` says it where NUMA nodes cannot; its devices then have no package.
    """
    machine = read(
        """
        name: wide
        numaNodes: [{id: 0, cpus: "0-3"}]
        packages: [{id: 0, cpus: "0-1"}, {id: 7, cpus: "2-3"}]
        devices: [{type: gpu, count: 1, numaNode: 0}]
        """
    )

    assert [cpu.package for cpu in machine.topology.cpus] == [0, 0, 7, 7]
    assert machine.devices[0].package is None


def test_hugepages_are_counted_by_size() -> None:
    """
    Sizes are amounts, in any spelling, and stand in order.
    """
    machine = read(
        'name: huge\nnumaNodes: [{id: 0, memory: 8Gi, hugepages: {1Gi: 2, "2097152": 512}}]'
    )

    assert machine.topology.numa_nodes[0].hugepages == (
        Hugepages(2 * 2**20, 512),
        Hugepages(2**30, 2),
    )


def test_devices_take_values_one_by_one_or_all_alike() -> None:
    """
    Lists name each device's NUMA node, switch and ids; a second block goes on counting.
    """
    machine = read(
        SMALL
        + """
devices:
  - type: gpu
    count: 2
    model: A
    memory: 40Gi
    numaNodes: [1, null]
    pcieSwitches: [x, null]
    busIds: ["0000:01:00.0", "0000:02:00.0"]
    unhealthy: [1]
  - {type: gpu, count: 1, model: B, numaNode: 0}
  - {type: rdma, count: 1, minors: "4", virtualFunctions: 2}
  - {type: rdma, count: 1}
"""
    )
    first, second, third, port, _ = machine.devices

    assert [d.minor for d in machine.devices] == [0, 1, 2, 4, 5]
    assert (first.numa_node, first.package, first.pcie_switch) == (1, 1, "x")
    assert (second.numa_node, second.package, second.healthy) == (None, None, False)
    assert (third.model, third.memory_bytes, third.numa_node) == ("B", 0, 0)
    assert [vf.minor for vf in port.virtual_functions] == [0, 1]


def test_links_are_a_matrix_of_kinds() -> None:
    """
    Each kind has GB/s per direction; inside they are hundredths, the nearest integer.
    """
    machine = read(
        SMALL
        + """
devices: [{type: gpu, count: 3}]
gpuLinks:
  bandwidth: {NV4: 56.25, SYS: 31.505}
  matrix: |
    X   NV4 SYS
    NV4 X   SYS
    SYS SYS X
"""
    )

    assert machine.gpu_links is not None
    assert machine.gpu_links.centi_gb_per_s == ((0, 5625, 3151), (5625, 0, 3151), (3151, 3151, 0))


def test_links_within_groups_need_no_matrix() -> None:
    """
    One kind for all, another within groups of GPUs; the last group named wins.
    """
    machine = read(
        SMALL
        + """
devices: [{type: gpu, count: 4}]
gpuLinks:
  bandwidth: {NV12: 300, NODE: 31.5, SYS: 20}
  all: SYS
  within: {NODE: ["0-2"], NV12: ["0,2"]}
"""
    )

    assert machine.gpu_links is not None
    assert machine.gpu_links.kinds == (
        ("X", "NODE", "NV12", "SYS"),
        ("NODE", "X", "NODE", "SYS"),
        ("NV12", "NODE", "X", "SYS"),
        ("SYS", "SYS", "SYS", "X"),
    )


GPUS = "devices: [{type: gpu, count: 2}]\n"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('  - {id: 2, cpus: "3"}', "numaNodes.2.cpus: CPU 3 is on NUMA node 0 already"),
        ("  - {id: 0}", "two NUMA nodes have the id 0"),
        ("  - {package: 0}", "numaNodes.2: a NUMA node has an id, or several alike have ids"),
        ('  - {ids: "2-3", cpus: "16"}', "numaNodes.2: CPUs belong to one NUMA node"),
        ("  - {id: 2, memory: 4 GB}", "numaNodes.2.memory: '4 GB' is no amount"),
        ("  - {id: 2, memory: 1Gi, hugepages: {1Gi: 2}}", "more than the memory, 1Gi"),
        ("  - {id: 2, memory: 1Gi, hugepages: {2Mi: 1, 2048Ki: 1}}", "each size stands here once"),
        ('cpusWithoutNumaNode: [{cpus: "0"}]', "cpusWithoutNumaNode.0.cpus: CPU 0 is listed"),
        ('packages: [{id: 0, cpus: "99"}]', "packages.0.cpus: the machine has no CPU 99"),
        (
            'packages: [{id: 0, cpus: "1"}, {id: 1, cpus: "1"}]',
            "packages.1.cpus: CPU 1 is in a package already",
        ),
        ('offlineCpus: "40-41"', "offlineCpus: the machine has no CPU 40-41"),
        ('cores: [{cpus: "0-14", threadsPerCore: 2}]', "15 CPUs do not make cores of 2 threads"),
        ('cores: [{cpus: "0-7"}]', "cores: CPU 8-15 belongs to no core"),
        ('cores: [{cpus: "0-15"}, {cpus: "3"}]', "CPU 3: in two cores at once"),
        ('cores: [{cpus: "0-16"}]', "the machine has no CPU 16"),
        ("cores: [{}]", "cores.0: give either cpus or threads"),
        ('cores: [{threads: ["0", ""]}]', "cores.0: a core has at least one CPU"),
        ('cores: [{threads: ["0-15"]}]', "are threads of one core, but their package differs"),
        (
            'cores: [{cpus: "0-15", coresPerLlc: 3}]',
            "cores.0.coresPerLlc: the 8 cores of package 0 do not make groups of 3",
        ),
        ('cores: [{cpus: "0-15", coresPerLlc: 4}]\nllcs: ["0-3"]', "caches are listed in llcs"),
        ('llcs: ["0-3", "3-4"]', "llcs: CPU 3: in two last-level caches at once"),
        ("numaDistances: [[10, 21]]", "NUMA distances: expected 2 rows of 2 numbers"),
        (
            "devices: [{type: gpu, count: 1, numaNode: 5}]",
            "devices.0.numaNode: there is no NUMA node 5; the machine has 0, 1",
        ),
        (
            "devices: [{type: gpu, count: 2, numaNodes: [0]}]",
            "devices.0.numaNodes: got 1 value for 2 devices",
        ),
        (
            "devices: [{type: gpu, count: 1, numaNode: 0, numaNodes: [0]}]",
            "numaNode is for all of them already",
        ),
        ("devices: [{type: gpu, count: 1, unhealthy: [1]}]", "there is no gpu 1 among these"),
        ('devices: [{type: gpu, count: 1, minors: "0-1"}]', "0-1 are 2 minors; count is 1"),
        (
            'devices: [{type: gpu, count: 1}, {type: gpu, count: 1, minors: "0"}]',
            "devices.1.minors: gpu 0 is listed already",
        ),
        (GPUS + "gpuLinks: {bandwidth: {SYS: 1}}", "gpuLinks: give either matrix, or all"),
        (
            GPUS + 'gpuLinks: {bandwidth: {SYS: 1}, matrix: "X", within: {}}',
            "gpuLinks.matrix: the machine has 2 GPUs, the matrix 1 row",
        ),
        (
            GPUS + 'gpuLinks: {bandwidth: {S: 1, N: 2}, matrix: "X S\\nN X"}',
            "row 1, column 0 is N, but row 0, column 1 is S; links are the same",
        ),
        (
            GPUS + 'gpuLinks: {bandwidth: {S: 1}, matrix: "S X\\nX S"}',
            "X stands on the diagonal and only there",
        ),
        (
            GPUS + "gpuLinks: {bandwidth: {NV4: 100}, all: NV8}",
            "gpuLinks.bandwidth: the link kind 'NV8' has no bandwidth; given are: NV4",
        ),
        (
            GPUS + "gpuLinks: {bandwidth: {NV4: -1}, all: NV4}",
            "a link has 0 to 1,000,000 GB/s per direction, got -1",
        ),
        (
            GPUS + 'gpuLinks: {bandwidth: {NV4: 1}, all: NV4, within: {NV4: ["5"]}}',
            "gpuLinks.within: NV4: the machine has no GPU 5",
        ),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(more: str, words: str) -> None:
    """
    The message begins with the field at fault and says what is wrong there.
    """
    with pytest.raises(InconsistentMachineError) as refused:
        read(SMALL + more)

    assert words in str(refused.value)


@pytest.mark.parametrize(
    "more",
    ["numanodes: []", "devices: [{type: gpu}]", "devices: [{type: gpu, count: 0}]", "cores: 4"],
)
def test_a_file_of_another_shape_is_refused(more: str) -> None:
    """
    Unknown fields, missing ones and wrong types do not pass the schema.
    """
    with pytest.raises(ValueError, match="validation error"):
        read(SMALL + more)
