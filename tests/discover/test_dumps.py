"""Dumps of real machines, where they lie beside this project (C1, D15)."""

import json
from functools import cache

import pytest

from placer.node.discover import discover_hardware, machine_from_inventory
from placer.node.discover.inventory import HardwareInventory
from placer_models.cpuset import format_cpu_list
from placer_models.instance.machine_schema import MachineFile
from placer_models.instance.machine_schema import machine_of_file as read_machine
from placer_models.instance.machine_writer import machine_to_dict
from placer_models.machines.catalogue import load_machine
from placer_models.policy import HybridCoreKind
from shared_files import Row, rows_named, shared

DUMPS = [
    "offline-cpu0-node0",
    "nvidiagpunumanodes",
    "nvidia-dgx-gb10",
    "48amd64-4pa2n6c-sparse",
    "16amd64-8n2c-cpusets",
    "128arm-2pa2n8cluster4co",
    "128ia64-17n4s2c",
    "memorysidecaches",
    "fakememinitiators-1np2c+1npp+gi",
    "8em64t-2s2ca2c-buggynuma",
    "40intel64-2g2n4c+pcilocality",
    "32intel64-2p8co2t+8ve",
    "20s390-2g6s4c",
    "fakeheterocpunuma",
    "32em64t-2n8c+dax+nvme+mic+dimms",
    "8em64t-2s4c-asymcaches",
    "64intel64-fakeKNL-SNC4-hybrid",
    "lscpu-x86_64-epyc_7451",
    "lscpu-x86_64-64cpu",
    "lscpu-ppc64-POWER7-64cpu",
    "lscpu-s390-lpar-drawer",
    "lscpu-arm-A510-A710-A715-X3",
    "lscpu-loongarch-kvm_on_loongson_3c6000",
    "lscpu-vmware_fpe",
    "lscpu-x86_64-dell_e4310",
    "nvidiaDGX2",
    "192em64t-24n8c2t",
    "96em64t-4n4d3ca2co-pci",
    "coral-ea-hwloc1",
    "coral-lassen",
    "knl-snc4-flat-hwloc1",
    "knl-quad-flat-hwloc1",
    "epyc-corona",
    "eas-tioga",
    "g4dnmetal",
    "cts1-pascal",
    "ipa20",
    "tuo.CPX",
    "corona",
    "sierra",
    "chimera",
    "ghw-linux-amd64-offlineCPUs",
    "ghw-linux-amd64-415ee03b8c4d1c4f07ae2e9d8b3d3d6d",
    "nri-cpuallocator-sysfs",
]
"""All dumps that we have read."""

EACH = pytest.mark.parametrize("name", DUMPS)


@cache
def found(name: str) -> tuple[Row, HardwareInventory]:
    """Return what the manifest says of a dump, and what is found in it."""
    manifest = json.loads(shared("topologies/hwloc/manifest.json").read_text("utf-8"))
    (entry,) = rows_named([name], manifest["entries"], "id")
    return entry, discover_hardware(shared(f"topologies/hwloc/{entry['file']}"))


@EACH
def test_a_dump_has_the_counts_of_its_manifest(name: str) -> None:
    """
    Packages, NUMA nodes, cores, online CPUs and threads a core, before anything is made to fit.
    """
    entry, inventory = found(name)

    assert inventory.packages == entry["packages"]
    assert len(inventory.numa_nodes) == entry["numa_nodes"]
    assert len(inventory.cores) == entry["cores"]
    assert len(inventory.online) == entry["pus_online"]
    assert {str(k): n for k, n in inventory.threads_per_core.items()} == entry["smt_histogram"]


@EACH
def test_a_dump_has_the_numa_nodes_of_its_manifest(name: str) -> None:
    """
    Ids, CPUs as listed, and memory.
    """
    entry, inventory = found(name)
    listed = {
        numa["node"]: (numa["cpus"], numa.get("mem_bytes", 1024 * (numa.get("mem_kb") or 0)))
        for numa in entry.get("numa", [])
    }
    told = {
        numa.id: (format_cpu_list(numa.cpus), numa.memory_bytes or 0)
        for numa in inventory.numa_nodes
    }

    assert told == listed
    for numa in entry.get("numa", []):
        if numa.get("distance"):
            rows = {n.id: " ".join(map(str, n.distances)) for n in inventory.numa_nodes}
            assert rows[numa["node"]] == numa["distance"]


@EACH
def test_a_dump_has_the_allowed_set_of_its_manifest(name: str) -> None:
    """
    What a job was allowed is one thing, what the machine has another.
    """
    entry, inventory = found(name)
    if allowed := entry.get("allowed_cpuset"):
        assert format_cpu_list(inventory.allowed_cpus or ()) == allowed
    if online := entry.get("cpu_online"):
        assert format_cpu_list(inventory.online) == online


@EACH
def test_a_dump_becomes_a_machine_that_reads_back(name: str) -> None:
    """
    Whatever a real kernel says fits our words, in a file and back; each core is still one.
    """
    _, inventory = found(name)
    machine = machine_from_inventory(inventory).machine
    written = json.dumps(machine_to_dict(machine, machine.name))

    assert read_machine(MachineFile.model_validate_json(written)) == machine
    assert set(machine.topology.cores.values()) == set(inventory.cores.values())
    assert machine.topology.online == inventory.online


WRITTEN_BY_HAND = {
    "memorysidecaches": "xeon-6230-snc2",
    "128arm-2pa2n8cluster4co": "kunpeng-920",
    "48amd64-4pa2n6c-sparse": "magny-cours-4s",
    "32intel64-2p8co2t+8ve": "xeon-4108-2s-8ve",
    "knl-snc4-flat-hwloc1": "knl-7250-snc4",
    "epyc-corona": "epyc-7401-nps4",
    "corona": "epyc-7402-nps1",
    "eas-tioga": "mi250x-8gcd",
    "g4dnmetal": "g4dn-metal",
    "cts1-pascal": "p100-one-socket",
    "ipa20": "xe8640-h100",
    "tuo.CPX": "mi300a-cpx",
    "chimera": "threadripper-2990wx",
    "coral-ea-hwloc1": "minsky",
    "sierra": "sierra",
}
"""Dump -> the machine of the catalogue that people wrote down from it."""


@pytest.mark.parametrize("name", WRITTEN_BY_HAND)
def test_a_dump_is_the_machine_that_was_written_down_from_it(name: str) -> None:
    """
    CPU by CPU: core, package, NUMA node, cache and kind; memory, distances; AMD's and NVIDIA's
    GPUs, RDMA ports and vector engines with their NUMA nodes (C1, D1, D15).
    """
    here, there = (
        machine_from_inventory(found(name)[1]).machine,
        load_machine(WRITTEN_BY_HAND[name]),
    )

    assert here.topology.cpus == there.topology.cpus
    assert here.topology.architecture == there.topology.architecture
    assert here.topology.numa_distances == there.topology.numa_distances
    memory = [(node.id, node.memory_bytes) for node in here.topology.numa_nodes]
    assert memory == [(node.id, node.memory_bytes) for node in there.topology.numa_nodes]
    types = {device.type for device in there.devices}
    devices = [(d.type, d.minor, d.numa_node) for d in here.devices if d.type in types]
    assert devices == [(d.type, d.minor, d.numa_node) for d in there.devices]


def test_jobs_saw_less_than_the_machines() -> None:
    """
    These dumps were taken inside a cpuset, and say so.
    """
    allowed = {
        "16amd64-8n2c-cpusets": ("0-6,12-15", "1-4"),
        "nvidiagpunumanodes": ("0-87", "0"),
        "offline-cpu0-node0": ("4-20", "1"),
        "coral-lassen": ("8-87,96-175", "0,8"),
    }
    for name, (cpus, nodes) in allowed.items():
        inventory = found(name)[1]

        assert format_cpu_list(inventory.allowed_cpus or ()) == cpus
        assert format_cpu_list(inventory.allowed_numa_nodes or ()) == nodes


def test_kinds_of_cores_are_told_apart() -> None:
    """
    Hybrid x86 by its two perf units, Arm by the capacity of its cores.
    """
    efficient = {
        "ghw-linux-amd64-415ee03b8c4d1c4f07ae2e9d8b3d3d6d": "",
        "nvidia-dgx-gb10": "0-4,10-14",
        "lscpu-arm-A510-A710-A715-X3": "0-2",
        "48amd64-4pa2n6c-sparse": "",
    }
    for name, cpus in efficient.items():
        topology = machine_from_inventory(found(name)[1]).machine.topology
        slow = [cpu.id for cpu in topology.cpus if cpu.kind is HybridCoreKind.EFFICIENCY]

        assert format_cpu_list(slow) == cpus, name
