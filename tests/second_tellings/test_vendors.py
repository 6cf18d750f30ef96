"""Whose runtime shows a GPU, told a second time from docs/rules/environment.md (D13)."""

import pytest

from placer_models.device import Device
from placer_models.visible_devices import GpuVendor, has_readable_id, vendor_of


@pytest.mark.parametrize(
    ("model", "vendor"),
    [
        ("", GpuVendor.NVIDIA),
        ("H100-80GB", GpuVendor.NVIDIA),
        ("L40S", GpuVendor.NVIDIA),
        ("a MI300X", GpuVendor.NVIDIA),
        ("MI300X", GpuVendor.AMD),
        ("Instinct MI250", GpuVendor.AMD),
        ("Radeon PRO W7900", GpuVendor.AMD),
        ("Vega 10", GpuVendor.AMD),
        ("gfx942", GpuVendor.AMD),
    ],
)
def test_a_model_tells_the_vendor(model: str, vendor: GpuVendor) -> None:
    """
    What does not name one of AMD's is taken for NVIDIA's.
    """
    assert vendor_of(Device("gpu", 0, model=model)) is vendor


@pytest.mark.parametrize(
    ("id", "by_nvidia", "by_amd"),
    [
        ("", False, False),
        ("0", True, False),
        ("GPU-1", True, False),
        ("0x7a", True, True),
        ("0X7A", True, True),
        ("0x", True, False),
        ("0xg1", True, False),
        ("12345678", True, False),
        ("123456789", True, True),
        ("abcdef012", True, True),
        ("abcdefgh9", True, False),
    ],
)
def test_a_runtime_reads_ids_of_its_own_kind(id: str, by_nvidia: bool, by_amd: bool) -> None:
    """
    AMD's takes short numbers for indices, so an id is hexadecimal with 0x, or long.
    """
    for model, readable in (("H100", by_nvidia), ("MI300X", by_amd)):
        assert has_readable_id(Device("gpu", 0, id=id, model=model)) is readable
