"""What a device plugin's ids, its answer and environments mean on a node (D12)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer_models.device import Device, VirtualFunction
from placer_models.kubernetes.checkpoints.allocate_response import (
    KubeletAllocateResponse,
    read_allocate_response,
)
from placer_models.kubernetes.checkpoints.device_manager import KubeletDevicesOfContainer
from placer_models.kubernetes.plugin_devices import devices_of_checkpoint_entry
from placer_models.visible_devices import gpu_minors_named_by_variable

DEVICES = (
    *(Device("gpu", i, id=f"GPU-{i}a", bus_id=f"0000:0{i}:00.0") for i in range(3)),
    Device("gpu", 7, id="0x77", model="MI300X", bus_id="0000:07:00.0"),
    Device(
        "rdma",
        0,
        id="mlx5_0",
        bus_id="0000:1a:00.0",
        virtual_functions=(VirtualFunction(0, "0000:1a:00.2"),),
    ),
    Device("example.com/fpga", 4),
)
NVIDIA = DEVICES[:3]
ENV = "NVIDIA_VISIBLE_DEVICES"


def entry(
    ids: str = "", resource: str = "nvidia.com/gpu", **response: tuple[object, ...]
) -> KubeletDevicesOfContainer:
    """Return what a kubelet gave to a container."""
    answer = KubeletAllocateResponse(**response)
    return KubeletDevicesOfContainer("u", "c", resource, tuple(ids.split()), answer)


CASES = {
    "ids": (entry("GPU-0a GPU-2a"), "gpu 0, gpu 2"),
    "replicas of a shared GPU": (entry("GPU-1a::0 GPU-1a::3", "nvidia.com/gpu.shared"), "gpu 1"),
    "an instance of a GPU": (entry("MIG-GPU-1a/7/0", "nvidia.com/mig-1g.5gb"), "gpu 1"),
    "addresses": (entry("0000:02:00.0", "amd.com/gpu"), "gpu 2"),
    "an address with a wide domain": (entry("00000000:02:00.0"), "gpu 2"),
    "a virtual function": (entry("0000:1a:00.2", "intel.com/sriov"), "rdma 0"),
    "a name": (entry("mlx5_0", "rdma/hca"), "rdma 0"),
    "minors": (entry("1"), "gpu 1"),
    "minors of another type": (entry("4", "example.com/fpga"), "example.com/fpga 4"),
    "nothing that we count": (entry("x", "example.com/usb"), ""),
    "nothing at all": (entry(), ""),
    "an id that nobody knows": (entry("tegra"), None),
    "an id among others": (entry("GPU-0a tegra"), None),
    "a minor that is not there": (entry("5", "example.com/fpga"), None),
    "the environment": (entry("tegra", environment=((ENV, "GPU-0a,2"),)), "gpu 0, gpu 2"),
    "the environment without ids": (entry(environment=((ENV, "1"),)), "gpu 1"),
    "all": (entry("tegra", environment=((ENV, "all"),)), "gpu 0, gpu 1, gpu 2"),
    "none": (entry("tegra", environment=((ENV, "none"),)), None),
    "AMD's": (
        entry("x", "amd.com/gpu", environment=(("AMD_VISIBLE_DEVICES", "all"),)),
        "gpu 7",
    ),
    "a partition of AMD's": (
        entry("x", "amd.com/cpx_nps4", environment=(("AMD_VISIBLE_DEVICES", "0x77"),)),
        "gpu 7",
    ),
    "mounts": (
        entry(
            "x",
            environment=((ENV, "/var/run/nvidia-container-devices"),),
            mounts=("/usr/lib", "/var/run/nvidia-container-devices/GPU-1a"),
        ),
        "gpu 1",
    ),
    "device nodes": (
        entry("x", devices=("/dev/nvidiactl", "/dev/nvidia2", "/dev/nvidia0")),
        "gpu 0, gpu 2",
    ),
    "unknown ids beside device nodes": (
        entry("x", environment=((ENV, "GPU-unknown"),), devices=("/dev/nvidia2",)),
        "gpu 2",
    ),
    "CDI": (entry("x", cdi_devices=("nvidia.com/gpu=1", "other.com/x=0")), "gpu 1"),
    "CDI by annotation": (
        entry("x", annotations=(("cdi.k8s.io/a", "nvidia.com/gpu=GPU-0a,nvidia.com/gpu=2"),)),
        "gpu 0, gpu 2",
    ),
    "all by CDI": (entry("x", cdi_devices=("nvidia.com/gpu=all",)), "gpu 0, gpu 1, gpu 2"),
}


@pytest.mark.parametrize(("held", "expected"), CASES.values(), ids=CASES)
def test_what_an_entry_means(held: KubeletDevicesOfContainer, expected: str | None) -> None:
    """
    By id, else by what the plugin told the runtime; None where it stays unknown.
    """
    found = devices_of_checkpoint_entry(held, DEVICES)
    told = None if found is None else ", ".join(f"{kind} {minor}" for kind, minor in sorted(found))
    assert told == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", set()),
        ("none", set()),
        ("void", set()),
        ("all", {0, 1, 2}),
        ("GPU-2a", {2}),
        ("0,GPU-1a", {0, 1}),
        ("0, 1", {0, 1}),
        ("1-2", {1, 2}),
        ("1-3", None),
        ("0:1", {0}),
        ("MIG-GPU-1a/7/0", {1}),
        ("MIG-5c89852c", None),
        ("GPU-9f", None),
        ("0,9", None),
        ("0,all", None),
        ("-1", None),
    ],
)
def test_what_an_environment_names(value: str, expected: set[int] | None) -> None:
    """
    UUIDs, minors, instances of them, and words; what is not known is not guessed.
    """
    assert gpu_minors_named_by_variable(value, NVIDIA) == expected


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x0a", "it ends inside a number"),
        (b"\x0a\x05ab", "it ends inside a field"),
        (b"\x0b", "it has a field of wire type 3"),
        (b"\x0a\x03\x0a\x01\xff", "a text is not UTF-8"),
        (b"\xff" * 11, "it ends inside a number"),
    ],
)
def test_other_bytes_are_no_answer_of_a_plugin(data: bytes, words: str) -> None:
    """
    With one message.
    """
    with pytest.raises(ValueError, match=f"^is no ContainerAllocateResponse .*: {words}$"):
        read_allocate_response(data)


def test_fields_of_later_versions_are_passed_over() -> None:
    """
    As the format wants it: numbers of all sizes, and messages.
    """
    more = b"\x48\x01" + b"\x51" + bytes(8) + b"\x5d" + bytes(4) + b"\x62\x01a"
    known = b"\x2a\x05\x0a\x01a\x10\x07"

    assert read_allocate_response(more + known).cdi_devices == ("a",)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """
    Never with another error.
    """
    said = "is no ContainerAllocateResponse"
    try:
        read_allocate_response(data)
    except ValueError as error:
        said = str(error)
    assert said.startswith("is no ContainerAllocateResponse")
