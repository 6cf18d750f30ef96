"""CPUs, NUMA nodes and memory from hwloc's XML, in its three versions (C1)."""

from pathlib import Path

import pytest

from discover.hwloc_files import VERSION_1, VERSION_2
from placer.node.discover import discover_hardware
from placer.node.discover.hwloc_xml import parse_hwloc_bitmap
from placer.node.discover.inventory import HardwareInventory
from placer_models.cpuset import format_cpu_list
from placer_models.files.errors import InputError
from placer_models.topology import Hugepages


def read(folder: Path, text: str) -> HardwareInventory:
    (folder / "topology.xml").write_text(text)
    return discover_hardware(folder / "topology.xml")


def test_version_2_is_read_whole(tmp_path: Path) -> None:
    """
    Cores by what lies in them, a PU outside of all cores as one of its own.
    """
    inventory = read(tmp_path, VERSION_2)

    assert sorted(map(format_cpu_list, inventory.cores.values())) == ["0-1", "2", "3"]
    assert [cpu.package for cpu in inventory.cpus] == [(36,)] * 4
    assert [format_cpu_list(cpu.llc or ()) for cpu in inventory.cpus] == ["0-2"] * 3 + [""]
    assert format_cpu_list(inventory.allowed_cpus or ()) == "1-3"
    assert (inventory.host, inventory.architecture) == ("two", "aarch64")
    assert inventory.model == "Board 5, Synthetic 2"
    assert [cpu.capacity for cpu in inventory.cpus] == [1024, 1024, 300, None]
    near, far = inventory.numa_nodes
    assert (near.id, near.memory_bytes, near.of_gpu) == (0, 2**22, False)
    assert near.hugepages == (Hugepages(2**21, 1),)
    assert (far.id, far.memory_bytes, far.of_gpu) == (8, 2**20, True)
    assert (near.distances, far.distances) == ((11, 81), (80, 10))


def test_version_1_is_read_whole(tmp_path: Path) -> None:
    """
    Sockets with one number twice are two; a PU may be offline; distances are ratios.
    """
    inventory = read(tmp_path, VERSION_1)

    assert format_cpu_list(inventory.online) == "0,2"
    assert inventory.threads_per_core == {1: 2}
    assert inventory.packages == 2
    assert [node.memory_bytes for node in inventory.numa_nodes] == [1024, 2048]
    assert [node.distances for node in inventory.numa_nodes] == [(10, 21), (21, 10)]


def test_devices_are_read_with_their_places(tmp_path: Path) -> None:
    """
    A GPU behind a switch, Slingshot's port, a vector engine; no plain network, no console.
    """
    near = """
      <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[17-1b]">
       <object type="Bridge" bridge_type="1-1" pci_busid="0000:17:00.0">
        <object type="Bridge" bridge_type="1-1" pci_busid="0000:18:00.0">
         <object type="Bridge" bridge_type="1-1" pci_busid="0000:19:00.0">
          <object type="PCIDev" pci_busid="0000:1a:00.0" pci_type="0302 [10de:2330] [0:0] 0">
           <object type="OSDev" name="nvml0" osdev_type="1">
            <info name="GPUModel" value="X"/></object>
          </object></object></object></object>
       <object type="PCIDev" pci_busid="0000:1b:00.0" pci_type="0b40 [1bcf:001c] [0:0] 0">
        <object type="OSDev" name="ve0" osdev_type="5"/></object>
       <object type="PCIDev" pci_busid="0000:1c:00.0" pci_type="0200 [17db:0501] [0:0] 0">
        <object type="OSDev" name="hsi0" osdev_type="2"/></object>
       <object type="PCIDev" pci_busid="0000:1d:00.0" pci_type="0200 [8086:1521] [0:0] 0">
        <object type="OSDev" name="eth0" osdev_type="2"/></object>
       <object type="PCIDev" pci_busid="0000:1e:00.0" pci_type="0300 [1a03:2000] [0:0] 0"/>
      </object>
    </object>"""
    parts = VERSION_2.rpartition("  </object>\n</object>")
    inventory = read(tmp_path, f"{parts[0]}{near}\n</object>{parts[2]}")

    assert [
        (d.type, d.minor, d.bus_id, d.model, d.numa_node, d.pcie_root, d.pcie_switch)
        for d in inventory.found.devices
    ] == [
        ("gpu", 0, "0000:1a:00.0", "X", 0, "0000:17", "0000:18:00.0"),
        ("rdma", 0, "0000:1c:00.0", "", 0, "0000:17", None),
        ("ve", 0, "0000:1b:00.0", "1bcf:001c", 0, "0000:17", None),
    ]


def test_bitmaps_have_empty_words() -> None:
    """
    hwloc leaves out words that are 0.
    """
    assert parse_hwloc_bitmap("0xf0000000,,0x1") == {0, 92, 93, 94, 95}
    assert parse_hwloc_bitmap("0x0") == frozenset()
    endless = parse_hwloc_bitmap("0xf...f,0x00000003")
    assert {0, 1, 32, 65_535} <= endless
    assert 2 not in endless
    assert len(parse_hwloc_bitmap("0xf...f")) == 65_536
    for text in ("0x123456789", "-1", "0x1 0x2", "0x1_0"):
        with pytest.raises(ValueError, match="expected a set in words of 32 bits"):
            parse_hwloc_bitmap(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</topology>", "", "topology.xml:"),
        ('os_index="3"', 'os_index="2"', "PU 2: there are two PUs with os_index 2"),
        ('os_index="3"', 'os_index="three"', "os_index is 'three'; expected a whole number"),
        ('os_index="8"', 'os_index="0"', "expected an os_index that no other NUMA node has"),
        ('"0x00000004"', '"4 and 5"', "expected a set in words of 32 bits"),
        ("<topology ", "<topologies ", "topology.xml:"),
        ('SYSTEM "hwloc2.dtd"', '[<!ENTITY a "b">]', "expected plain XML as hwloc writes it"),
    ],
)
def test_what_hwloc_does_not_write_is_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """
    Cut, contradicting or hostile files end in one message that names file and object.
    """
    with pytest.raises(InputError) as caught:
        read(tmp_path, VERSION_2.replace(old, new, 1))

    assert str(caught.value).startswith(f"{tmp_path / 'topology.xml'}")
    assert message in str(caught.value)


def test_xml_of_another_kind_is_named(tmp_path: Path) -> None:
    """
    Any XML can be given by mistake.
    """
    with pytest.raises(InputError, match=r"begins with <html>; expected <topology>"):
        read(tmp_path, "<html><body/></html>")
    with pytest.raises(InputError, match="has no PU"):
        read(tmp_path, '<topology><object type="Machine"/></topology>')


def test_nesting_is_bounded_where_it_costs(tmp_path: Path) -> None:
    """
    Objects may nest at will; behind a thousand bridges no device lies.
    """
    deep = (
        '<topology><object type="Machine">{}<object type="PU" os_index="0"/>{}</object></topology>'
    )
    group, bridge = '<object type="Group">', '<object type="Bridge" pci_busid="0000:00:00.0">'

    assert len(read(tmp_path, deep.format(group * 1000, "</object>" * 1000)).cpus) == 1
    with pytest.raises(InputError, match=r"Bridge 0000:00:00\.0: lies behind more than 64"):
        read(tmp_path, deep.format(bridge * 1000, "</object>" * 1000))
