"""NVIDIA's GPUs from NVML and from the text of nvidia-smi (D15)."""

import sys
from pathlib import Path

import pytest

from discover.nvidia_texts import LIST, MATRIX, QUERY
from fake_nvml import GPU, LOST, NPU, SWITCH, UNKNOWN, FakeGpu, FakeNvml
from kernel_trees import a_pci_device, files_of
from placer.node.discover.inventory import DiscoveredDevices
from placer.node.discover.nvidia import gpus_to_devices
from placer.node.discover.nvidia_smi import read_smi, read_smi_file, smi_devices
from placer.node.discover.nvml import NoNvmlError, read_nvml
from placer.node.discover.pci import PciDevicePlace, pci_place_of
from placer_models.files.errors import InputError

BUSES = [f"0000:{bus:02x}:00.0" for bus in (0x18, 0x2A, 0x3A, 0x5D)]


def nowhere(bus_id: str) -> PciDevicePlace:
    return PciDevicePlace(bus_id)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """NVML with a board of four GPUs behind switches."""
    links = [(SWITCH, "0000:05:00.0")] * 18
    gpus = [FakeGpu(bus, minor, links=links, near=(0,)) for minor, bus in enumerate(BUSES)]
    fake = FakeNvml(gpus)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def found() -> DiscoveredDevices:
    return gpus_to_devices(read_nvml(), nowhere)


def test_nvml_says_who_the_gpus_are(nvml: FakeNvml) -> None:
    """
    UUID, minor, name, memory, bus id and NUMA node; NVML is let go of in the end.
    """
    nvml.gpus[0].minor, nvml.gpus[1].minor = 1, 0
    first, second, *_ = found().devices

    assert (first.minor, first.bus_id, first.id) == (0, BUSES[1], "GPU-2a")
    assert (second.minor, second.bus_id, second.id) == (1, BUSES[0], "GPU-18")
    assert (first.model, first.memory_bytes) == ("H100 80GB HBM3", 80 * 2**30)
    assert {device.numa_node for device in found().devices} == {0}
    assert nvml.running == 0


def test_sysfs_says_where_the_gpus_are(nvml: FakeNvml) -> None:
    """
    Its NUMA node goes before NVML's; the switch above a GPU is known to it alone.
    """
    way = ("0000:17:01.0", "0000:17:02.0", "0000:17:03.0")
    files = files_of(a_pci_device(BUSES[0], *way, numa_node=1))
    first = gpus_to_devices(read_nvml(), lambda bus_id: pci_place_of(files, bus_id)).devices[0]

    assert (first.numa_node, first.pcie_root, first.pcie_switch) == (1, "0000:17", "0000:17:02.0")


def test_links_through_switches_share_what_a_gpu_sends(nvml: FakeNvml) -> None:
    """
    18 links of 25 GB/s lead from each GPU to every other, but not to all of them at once.
    """
    links = found().links

    assert links is not None
    assert links.kinds[0] == ("X", "NV18", "NV18", "NV18")
    assert links.centi_gb_per_s[0] == (0, 45_000, 45_000, 45_000)
    assert links.shared_egress


def test_direct_links_are_counted_by_their_far_end(nvml: FakeNvml) -> None:
    """
    Two links to one GPU, one to another, one to a CPU, which is no link between GPUs.
    """
    a, b, c, d = BUSES
    nvml.gpus = [
        FakeGpu(a, 0, links=[(GPU, b), (GPU, b), (GPU, c), (NPU, d)], version=2),
        FakeGpu(b, 1, links=[(GPU, a), (GPU, a)], version=2),
        FakeGpu(c, 2, links=[(GPU, a)], version=2),
        FakeGpu(d, 3),
    ]
    links = found().links

    assert links is not None
    assert links.kinds[0] == ("X", "NV2", "NV1", "SYS")
    assert links.centi_gb_per_s[0] == (0, 5_000, 2_500, 3_150)
    assert links.kinds[1] == ("NV2", "X", "SYS", "SYS")
    assert not links.shared_egress


def test_virtual_machines_hide_the_switches(nvml: FakeNvml) -> None:
    """
    What is behind a link is not told there: no GPU that is named, so a switch.
    """
    for gpu in nvml.gpus:
        gpu.links = [(UNKNOWN, "0000:00:00.0")] * 11 + [(GPU, "")]
    links = found().links

    assert links is not None
    assert links.kinds[0] == ("X", "NV12", "NV12", "NV12")


def test_broken_gpus_are_unhealthy(nvml: FakeNvml) -> None:
    """
    One is lost, one cannot remap a row; one that merely has no minor number is well.
    """
    nvml.gpus[0].refuses = {"nvmlDeviceGetMemoryInfo": LOST}
    nvml.gpus[1].failed_rows = 1
    nvml.gpus[2].refuses = {"nvmlDeviceGetMinorNumber": 3}

    assert [device.healthy for device in found().devices] == [False, False, True, True]
    assert found().warnings == ("GPU 0, 1: the driver says that it is broken",)


def test_a_gpu_that_cannot_be_opened_is_there_all_the_same(nvml: FakeNvml) -> None:
    """
    It keeps its place among the others, and is not given out.
    """
    nvml.gpus[3].refuses = {"nvmlDeviceGetHandleByIndex": LOST}

    assert [device.healthy for device in found().devices] == [True, True, True, False]
    assert [device.bus_id for device in found().devices] == [*BUSES[:3], ""]


def test_gpus_in_mig_mode_are_told_of(nvml: FakeNvml) -> None:
    """
    Where their profiles are known the node has them; else nobody is given such a GPU.
    """
    nvml.gpus[0].mig = 1
    nvml.gpus[1].mig, nvml.gpus[1].name = 1, "NVIDIA X1"

    assert found().modes == ((0, "H100-80GB"),)
    assert [device.healthy for device in found().devices[:2]] == [True, False]
    assert (
        "GPU 1 is in MIG mode, and the profiles of NVIDIA X1 are not known" in found().warnings[0]
    )


def test_without_nvml_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The package may be missing, or the driver.
    """
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([], starts=False))
    with pytest.raises(NoNvmlError, match="NVML does not start: error 9"):
        read_nvml()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(NoNvmlError, match="nvidia-ml-py is not installed"):
        read_nvml()


def test_a_query_says_who_the_gpus_are() -> None:
    """
    Sections, each with names that stand in several places; the minor is not the order.
    """
    devices = smi_devices([read_smi(QUERY, "q.txt")], nowhere)
    first, second = devices.devices

    assert (first.minor, first.bus_id, first.id) == (0, "0000:2a:00.0", "GPU-2a")
    assert (second.minor, second.bus_id, second.id) == (1, "0000:18:00.0", "GPU-18")
    assert first.memory_bytes == 81559 * 2**20
    assert [first.healthy, second.healthy] == [False, True]
    assert devices.modes == ()
    assert devices.links is None


def test_a_matrix_says_how_the_gpus_are_linked() -> None:
    """
    With the query, in one file or in two: minors from there, links and NUMA nodes from here.
    """
    both = smi_devices([read_smi(QUERY + MATRIX, "all.txt")], nowhere)
    apart = smi_devices([read_smi(MATRIX, "m.txt"), read_smi(QUERY, "q.txt")], nowhere)

    assert both == apart
    gpus = [device for device in both.devices if device.type == "gpu"]
    assert [(gpu.minor, gpu.id, gpu.numa_node) for gpu in gpus] == [
        (0, "GPU-2a", 1),
        (1, "GPU-18", 0),
    ]
    assert both.links is not None
    assert both.links.minors == (0, 1)
    assert both.links.kinds[0] == ("X", "NV18")
    assert [device.id for device in both.devices if device.type == "rdma"] == ["mlx5_0"]
    assert both.notes[0].startswith("Bandwidth is nominal, for NVLink 4")


def test_a_matrix_alone_is_enough() -> None:
    """
    Who the GPUs are is then unknown, but not where they are.
    """
    found = smi_devices([read_smi(MATRIX, "m.txt")], nowhere)
    devices = found.devices

    assert [note.partition(",")[0] for note in found.notes] == ["Bandwidth is nominal"]
    assert [(d.type, d.minor, d.id, d.numa_node) for d in devices] == [
        ("gpu", 0, "", 0),
        ("gpu", 1, "", 1),
        ("rdma", 0, "mlx5_0", 0),
    ]


def test_a_list_says_less_than_a_query() -> None:
    """
    Names and UUIDs, in order.
    """
    devices = smi_devices([read_smi(LIST, "l.txt")], nowhere).devices

    assert [(d.minor, d.model, d.id) for d in devices] == [(0, "A40", "GPU-a"), (1, "A40", "GPU-b")]


def test_texts_are_of_one_machine() -> None:
    """
    Three GPUs in one and two in the other is a mistake, and the message names both.
    """
    three = LIST + "GPU 2: NVIDIA A40 (UUID: GPU-c)\n"
    with pytest.raises(InputError, match=r"m.txt: shows 2 GPUs, but l.txt 3; expected texts of"):
        smi_devices([read_smi(MATRIX, "m.txt"), read_smi(three, "l.txt")], nowhere)
    with pytest.raises(InputError, match=r"q.txt: tells of one GPU twice; expected one query"):
        read_smi(QUERY + QUERY, "q.txt")


def test_other_texts_are_refused(tmp_path: Path) -> None:
    """
    With what was expected, or where a table is damaged.
    """
    (tmp_path / "a.txt").write_text("nvidia-smi: command not found\n")
    with pytest.raises(InputError, match=r"a.txt: expected what nvidia-smi -q, nvidia-smi -L or"):
        read_smi_file(tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"m.txt: line 2: GPU0 to GPU1: 'XXX' is no link"):
        read_smi(MATRIX.replace("NV18", "XXX", 1), "m.txt")
