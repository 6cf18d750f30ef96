"""RDMA ports, virtual functions and AMD's GPUs, from hand-made trees: all synthetic (D1, D15)."""

import pytest

from kernel_trees import (
    Tree,
    a_cpu,
    a_kfd_cpu,
    a_kfd_gpu,
    a_node,
    a_pci_device,
    a_port,
    an_xgmi_link,
    files_of,
    smt_machine,
)
from placer.node.discover.devices import discover_devices
from placer.node.discover.inventory import DiscoveredDevices
from placer.node.discover.pci import PciDevicePlace, normalised_pci_bus_id, pci_path_kind
from placer_models.device import VirtualFunction
from placer_models.files.errors import InputError

NIC = a_pci_device("0000:18:00.0", "0000:17:01.0", numa_node=1)
SWITCH = ("0000:17:01.0", "0000:18:00.0", "0000:19:01.0")


def read(*trees: Tree) -> DiscoveredDevices:
    return discover_devices(files_of(*trees), ())


def test_a_port_is_a_device_with_its_place() -> None:
    """
    Name, model, bus id, NUMA node, host bridge; ports count up by the numbers in their names.
    """
    ports = a_port("mlx5_10", "pci0000:17/0000:17:01.0/0000:18:00.0")
    other = a_pci_device("0000:5a:00.0", "0000:59:01.0", root="0000:59", numa_node=-1)
    ports |= a_port("mlx5_2", "pci0000:59/0000:59:01.0/0000:5a:00.0")
    first, second = read(NIC, other, ports).devices

    assert (first.type, first.minor, first.id, first.model) == ("rdma", 0, "mlx5_2", "MT4129")
    assert (first.bus_id, first.numa_node, first.pcie_root) == ("0000:5a:00.0", None, "0000:59")
    assert (second.minor, second.id, second.numa_node) == (1, "mlx5_10", 1)
    assert first.healthy
    assert second.healthy


def test_slingshot_is_rdma_too() -> None:
    """
    HPE's ports have a class of their own.
    """
    port = a_port("cxi0", "pci0000:17/0000:17:01.0/0000:18:00.0", folder="cxi")

    assert [device.id for device in read(NIC, port).devices] == ["cxi0"]


def test_virtual_functions_belong_to_their_device() -> None:
    """
    A virtual function's own port is no further device; functions keep their numbers.
    """
    bridge = "sys/devices/pci0000:17/0000:17:01.0"
    tree: Tree = NIC | a_port("mlx5_0", "pci0000:17/0000:17:01.0/0000:18:00.0")
    for number in (0, 1, 10):
        bus_id = f"0000:18:{number // 8:02x}.{number % 8 + 1}"
        tree |= a_pci_device(bus_id, "0000:17:01.0", vendor="0x15b3")
        tree |= {f"{bridge}/{bus_id}/physfn": "->../0000:18:00.0"}
        tree |= {f"{bridge}/0000:18:00.0/virtfn{number}": f"->../{bus_id}"}
        tree |= a_port(f"mlx5_{number + 1}", f"pci0000:17/0000:17:01.0/{bus_id}")
    (device,) = read(tree).devices

    assert device.id == "mlx5_0"
    assert device.virtual_functions == (
        VirtualFunction(0, "0000:18:00.1"),
        VirtualFunction(1, "0000:18:00.2"),
        VirtualFunction(10, "0000:18:01.3"),
    )


def test_a_device_without_a_port_that_is_up_is_unhealthy() -> None:
    """
    It cannot be used, and one warning says so; what is no PCI device is none at all.
    """
    port = a_port("mlx5_0", "pci0000:17/0000:17:01.0/0000:18:00.0", state="1: DOWN")
    soft = a_port("rxe0", "virtual/net/eth0") | {"sys/devices/virtual/net/eth0/mtu": "1500"}
    found = read(NIC, port, soft)

    assert [(device.id, device.healthy) for device in found.devices] == [("mlx5_0", False)]
    assert found.warnings == ("mlx5_0: every port is down; rule: such a device is unhealthy",)


def test_amd_gpus_come_in_the_order_of_their_driver() -> None:
    """
    That order is ROCm's, and not that of the bus ids; CPUs among the nodes are passed over.
    """
    tree = a_kfd_cpu(0) | a_kfd_gpu(1, 0xC1) | a_kfd_gpu(2, 0x43) | a_kfd_gpu(10, 0x44)
    tree |= a_pci_device("0000:c1:00.0", "0000:c0:01.1", root="0000:c0", numa_node=3)
    tree |= a_pci_device("0000:43:00.0", numa_node=0, product_name="Instinct M")
    first, second, third = read(tree).devices

    assert (first.type, first.minor, first.id) == ("gpu", 0, "GPU-000000000000ab01")
    assert (first.bus_id, first.numa_node, first.pcie_root) == ("0000:c1:00.0", 3, "0000:c0")
    assert (first.memory_bytes, first.model) == (2**36, "aldebaran")
    assert (second.minor, second.bus_id, second.model) == (1, "0000:43:00.0", "Instinct M")
    assert (third.minor, third.bus_id, third.numa_node) == (2, "0000:44:00.0", None)


def test_xgmi_links_count_what_the_driver_says() -> None:
    """
    Two GPUs with four links of 50 GB/s, one with a single link, and a pair that has PCIe alone.
    """
    tree = a_kfd_gpu(1, 0x11) | a_kfd_gpu(2, 0x12) | a_kfd_gpu(3, 0x13)
    tree |= an_xgmi_link(1, 2, 0, all_=200_000) | an_xgmi_link(2, 1, 0, all_=200_000)
    tree |= an_xgmi_link(2, 3, 1)
    slot = {"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16"}
    for bus, numa_node in ((0x11, 0), (0x12, 1), (0x13, 0)):
        where = f"0000:{bus:02x}:00.0"
        tree |= a_pci_device(where, root=f"0000:{bus - 1:02x}", numa_node=numa_node, **slot)
    links = read(tree).links

    assert links is not None
    assert links.kinds == (("X", "XGMI4", "NODE"), ("XGMI4", "X", "XGMI1"), ("NODE", "XGMI1", "X"))
    assert links.centi_gb_per_s[0] == (0, 20_000, 6_302)
    assert links.centi_gb_per_s[1] == (20_000, 0, 5_000)


def test_old_drivers_say_no_speed() -> None:
    """
    Then a link counts its nominal speed, and a note says so.
    """
    tree = a_kfd_gpu(1, 0x11) | a_kfd_gpu(2, 0x12) | an_xgmi_link(1, 2, one=0, all_=0)
    found = read(tree)

    assert found.links is not None
    assert found.links.kinds[0] == ("X", "XGMI")
    assert found.notes == ("xGMI links count 50 GB/s as the driver says no speed",)


def test_parts_of_one_gpu_are_devices() -> None:
    """
    In modes such as CPX each part is a node of the driver; only the function differs.
    """
    tree = a_kfd_gpu(1, 0x11) | a_kfd_gpu(2, 0x11, location_id=0x1101)
    tree |= a_pci_device("0000:11:00.0", numa_node=2)

    assert [device.numa_node for device in read(tree).devices] == [2, 2]
    assert [device.bus_id for device in read(tree).devices] == ["0000:11:00.0"] * 2


def test_a_graphics_card_of_nvidia_is_seen_without_its_driver() -> None:
    """
    PCI says that it is there, the driver's files who it is; what is not known is warned of.
    """
    bare = a_pci_device("0000:65:00.0", vendor="0x10de", **{"class": "0x030200"}, numa_node=1)
    audio = a_pci_device("0000:65:00.1", vendor="0x10de", **{"class": "0x040300"})
    at = "proc/driver/nvidia/gpus/0000:ca:00.0/information"
    told = {at: "Model: \t\t NVIDIA Test 1\nGPU UUID: \t GPU-aa\nDevice Minor: \t 1"}
    found = read(bare, audio, told, a_pci_device("0000:ca:00.0", numa_node=0))
    first, second = found.devices

    assert (first.minor, first.bus_id, first.numa_node) == (0, "0000:65:00.0", 1)
    assert (second.minor, second.id, second.model) == (1, "GPU-aa", "Test 1")
    assert found.links is None
    assert "memory, links and health of NVIDIA's GPUs are unknown" in found.warnings[0]


def test_old_kernels_say_less_of_a_device() -> None:
    """
    What it is may stand in its alias alone, and near which CPUs it is in place of a NUMA node.
    """
    alias = "pci:v000010DEd00001EB8sv000010DEsd000012A2bc03sc02i00"
    old = {"modalias": alias, "local_cpus": "00000000,00000004"}
    nodes = a_node(0, "0-1") | a_node(1, "2-3") | a_node(7, "0-3")
    (device,) = read(a_pci_device("0000:65:00.0", **old), nodes).devices

    assert (device.type, device.bus_id, device.numa_node) == ("gpu", "0000:65:00.0", 1)


def test_accelerators_are_called_as_their_drivers_call_them() -> None:
    """
    By the class in the kernel, where the driver made one; a virtual function is none of its own.
    """
    engine = {"vendor": "0x1bcf", "device": "0x001c", "class": "0x0b4000", "numa_node": 1}
    card = {"vendor": "0x10ee", "device": "0x5000", "class": "0x120000"}
    tree = a_pci_device("0000:1c:00.0", **engine, **{"ve/ve0/uevent": "", "power/control": "on"})
    tree |= a_pci_device("0000:1b:00.0", **engine, **{"ve/ve1/uevent": ""})
    tree |= a_pci_device("0000:3d:00.0", **card) | a_pci_device("0000:3d:00.1", **card)
    tree |= {"sys/devices/pci0000:17/0000:3d:00.1/physfn": "->../0000:3d:00.0"}
    found = [(d.type, d.minor, d.bus_id, d.model, d.numa_node) for d in read(tree).devices]

    assert found == [
        ("ve", 0, "0000:1b:00.0", "1bcf:001c", 1),
        ("ve", 1, "0000:1c:00.0", "1bcf:001c", 1),
        ("accelerator", 0, "0000:3d:00.0", "10ee:5000", None),
    ]


def test_gpus_of_two_vendors_have_numbers_of_their_own() -> None:
    """
    NVIDIA's come first; links between the two are not known.
    """
    nvidia = a_pci_device("0000:65:00.0", vendor="0x10de", **{"class": "0x030000"})
    found = read(nvidia, a_kfd_gpu(1, 0x11), a_kfd_gpu(2, 0x12))

    assert [(d.minor, d.bus_id) for d in found.devices] == [
        (0, "0000:65:00.0"),
        (1, "0000:11:00.0"),
        (2, "0000:12:00.0"),
    ]
    assert found.links is None
    assert "AMD's are numbered from 1 on" in found.warnings[-1]


def test_paths_have_the_names_that_tools_give_them() -> None:
    """
    From one switch to the other end of the machine.
    """
    here = PciDevicePlace("a", "0000:17", SWITCH, 0)

    assert here.switch == "0000:18:00.0"
    assert (
        pci_path_kind(here, PciDevicePlace("b", "0000:17", (*SWITCH[:2], "0000:19:02.0"), 0))
        == "PIX"
    )
    assert pci_path_kind(here, PciDevicePlace("b", "0000:17", SWITCH[:1], 0)) == "PXB"
    assert pci_path_kind(here, PciDevicePlace("b", "0000:17", ("0000:17:02.0",), 0)) == "PHB"
    assert pci_path_kind(here, PciDevicePlace("b", "0000:3a", (), 0)) == "NODE"
    assert pci_path_kind(here, PciDevicePlace("b", "0000:3a", (), 1)) == "SYS"
    assert pci_path_kind(PciDevicePlace("a"), PciDevicePlace("b")) == "SYS"


def test_bus_ids_are_written_as_the_kernel_does() -> None:
    """
    NVIDIA's tools write domains of eight digits, in capitals.
    """
    assert normalised_pci_bus_id("00000000:3B:00.0") == "0000:3b:00.0"
    assert normalised_pci_bus_id("00010000:3B:00.0") == "10000:3b:00.0"
    with pytest.raises(ValueError, match="expected a bus id such as"):
        normalised_pci_bus_id("3b:00")


def test_a_number_that_the_kernel_does_not_write_is_named() -> None:
    """
    The message names the file of the device.
    """
    port = a_port("mlx5_0", "pci0000:17/0000:17:01.0/0000:18:00.0")
    with pytest.raises(InputError, match=r"0000:18:00.0/numa_node: got 'far'"):
        read(a_pci_device("0000:18:00.0", "0000:17:01.0", numa_node="far"), port)


def test_a_machine_may_have_no_device() -> None:
    """
    Then there is nothing to say.
    """
    assert read(smt_machine(), a_cpu(0), a_node(0, "0")) == DiscoveredDevices()
