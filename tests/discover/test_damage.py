"""Damaged dumps end in a message or in a machine, never in a traceback (D15)."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover.hwloc_files import VERSION_1, VERSION_2
from discover.nvidia_texts import LIST, MATRIX, QUERY
from kernel_trees import (
    CPU,
    a_cpu,
    a_kfd_gpu,
    a_node,
    a_pci_device,
    a_port,
    an_xgmi_link,
    files_of,
    smt_machine,
    tar_of,
)
from placer.node.discover import discover_hardware, machine_from_inventory
from placer.node.discover.devices import discover_devices
from placer.node.discover.hwloc_devices import read_hwloc_devices
from placer.node.discover.hwloc_xml import parse_hwloc_tree, read_hwloc
from placer.node.discover.inventory import HardwareInventory
from placer.node.discover.nvidia_smi import read_smi
from placer.node.discover.report import DiscoverOutputKind, discovered_machine_to_dict
from placer.node.discover.sysfs import read_sysfs
from placer_models.files.errors import InputError
from placer_models.instance.machine_schema import MachineFile
from placer_models.instance.machine_schema import machine_of_file as read_machine

TREE = {
    **smt_machine(),
    **a_node(5, "", distance="21 21 10"),
    f"{CPU}/cpu9/online": "0",
    f"{CPU}/cpu0/cpu_capacity": "1024",
    f"{CPU}/isolated": "1",
    "proc/self/status": "Cpus_allowed_list:\t0-3",
    "proc/meminfo": "MemTotal: 4096 kB",
    **a_pci_device("0000:18:00.0", "0000:17:01.0", numa_node=1, max_link_width=16),
    **a_port("mlx5_0", "pci0000:17/0000:17:01.0/0000:18:00.0"),
    **a_pci_device("0000:c1:00.0", root="0000:c0", vendor="0x1002", max_link_speed="8.0 GT/s"),
    **a_kfd_gpu(1, 0xC1),
    **a_kfd_gpu(2, 0xC2),
    **an_xgmi_link(1, 2),
    **a_pci_device("0000:65:00.0", vendor="0x10de", **{"class": "0x030200"}),
    "proc/driver/nvidia/gpus/0000:65:00.0/information": "Device Minor: 3\nModel: X",
    "proc/driver/nvidia/gpus/0000:65:00.0/numa_status": "Node: 5",
}
EXAMPLE = Path(__file__).parents[2] / "instances" / "dumps" / "gpu-host.xml"
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "-1", "0-7", "0-65535", "65536", "4294967295", "0,0,0", "ffffffff,1"]),
    st.lists(st.integers(0, 70_000), max_size=4).map(lambda ids: ",".join(map(str, ids))),
)
EDITS = st.lists(
    st.tuples(st.integers(0, 10**6), st.sampled_from("dri"), st.binary(max_size=4)), max_size=4
)


def damaged(data: bytes, edits: list[tuple[int, str, bytes]]) -> bytes:
    """Return the bytes with some deleted, replaced or inserted."""
    for place, how, new in edits:
        at = place % (len(data) + 1)
        match how:
            case "d":
                data = data[:at]
            case "r":
                data = data[:at] + new + data[at + len(new) :]
            case _:
                data = data[:at] + new + data[at:]
    return data


def complaint(discover: Callable[[], HardwareInventory]) -> str:
    """Return the message that refuses the dump; empty where it becomes a machine all the same."""
    try:
        found = machine_from_inventory(discover())
    except InputError as error:
        return str(error)
    assert found.machine.topology.online == found.inventory.online
    assert found.instance().nodes[0].machine is found.machine
    written = json.dumps(discovered_machine_to_dict(found, DiscoverOutputKind.MACHINE))
    assert read_machine(MachineFile.model_validate_json(written)) == found.machine
    assert discovered_machine_to_dict(found, DiscoverOutputKind.INVENTORY)["kind"] == "Inventory"
    return ""


@given(st.sampled_from([QUERY + MATRIX, MATRIX, LIST]), EDITS)
def test_texts_of_nvidia_smi_may_be_cut_and_flipped(
    text: str, edits: list[tuple[int, str, bytes]]
) -> None:
    """
    Logs are copied by hand.
    """
    cut = damaged(text.encode(), edits).decode("utf-8", "replace")
    files = files_of(smt_machine())

    def discover() -> HardwareInventory:
        return replace(read_sysfs(files), found=discover_devices(files, [read_smi(cut, "a.txt")]))

    message = complaint(discover)

    assert not message or message.startswith("a.txt: ")


@given(st.dictionaries(st.sampled_from(sorted(TREE)), st.none() | TEXTS, max_size=5))
def test_any_file_may_be_missing_or_wrong(edits: dict[str, str | None]) -> None:
    """
    Whatever stands in a few files, or with these files gone.
    """
    tree = {path: text for path, text in {**TREE, **edits}.items() if text is not None}

    def discover() -> HardwareInventory:
        files = files_of(tree)
        return replace(read_sysfs(files), found=discover_devices(files, ()))

    message = complaint(discover)

    assert not message or message.startswith("a dump: ")


@given(st.sampled_from([VERSION_1, VERSION_2, EXAMPLE.read_text("utf-8")]), EDITS)
def test_xml_may_be_cut_and_flipped(text: str, edits: list[tuple[int, str, bytes]]) -> None:
    """
    Anywhere, in any way.
    """
    data = damaged(text.encode(), edits)

    def discover() -> HardwareInventory:
        tree = parse_hwloc_tree(data, "a.xml")
        inventory = read_hwloc(tree)
        return replace(inventory, found=read_hwloc_devices(tree, inventory.numa_nodes))

    message = complaint(discover)

    assert not message or message.startswith("a.xml:")


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_an_archive_may_be_cut_and_flipped(tmp_path: Path, mode: str) -> None:
    """
    Fifty times each, with places drawn from one seed.
    """
    random = Random(5)
    file = tmp_path / "dump.tar"
    whole = tar_of(file, (a_cpu(0) | a_cpu(1) | a_node(0, "0-1")).items(), mode).read_bytes()
    for _ in range(50):
        edits = [
            (random.randrange(10**6), random.choice("dri"), random.randbytes(random.randrange(5)))
            for _ in range(random.randrange(1, 4))
        ]
        file.write_bytes(damaged(whole, edits))

        message = complaint(lambda: discover_hardware(file))

        assert not message or message.startswith(f"{file}:")
