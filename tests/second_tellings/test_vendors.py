"""What runtimes are told of GPUs, told a second time from docs/rules/environment.md (D13)."""

from random import Random

import pytest

from placer_models.device import Device
from placer_models.visible_devices import (
    GpuVendor,
    gpu_environment,
    gpu_has_runtime_readable_id,
    gpu_vendor_of,
)

NVIDIA, AMD = "NVIDIA_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES"
IDS = {"H100": ("GPU-a", "GPU-b", "GPU-c", ""), "MI300X": ("0xa", "0xb", "7", "")}


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
    assert gpu_vendor_of(Device("gpu", 0, model=model)) is vendor


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
        assert gpu_has_runtime_readable_id(Device("gpu", 0, id=id, model=model)) is readable


def shown(
    held: set[int], gpus: list[Device], *, has_instances: bool, unnamed: bool
) -> dict[str, str]:
    """Return the variables of a container that has these GPUs of a node."""
    found = {}
    for variable, model in ((NVIDIA, "H100"), (AMD, "MI300X")):
        there = [gpu for gpu in gpus if gpu.model == model]
        own = [gpu for gpu in there if gpu.minor in held]
        shared = {gpu.id for gpu in there if [other.id for other in there].count(gpu.id) > 1}
        unreadable = {"", "7"} if variable == AMD else {""}
        by_id = {gpu.id for gpu in own}.isdisjoint(shared | unreadable)
        names = [gpu.id if by_id else str(gpu.minor) for gpu in own]
        left_alone = (variable == NVIDIA and has_instances) or (unnamed and own)
        if there and not left_alone:
            found[variable] = ",".join(names) if names else "none"
    return found


@pytest.mark.parametrize("seed", range(100))
def test_a_container_is_shown_its_own_gpus(seed: int) -> None:
    """
    By id where each of them has one that no other GPU of the vendor has, else by minor; not at
    all where they are only counted.
    """
    rng = Random(seed)
    models = [rng.choice(("H100", "H100", "MI300X")) for _ in range(rng.randint(1, 5))]
    gpus = [
        Device("gpu", minor, id=rng.choice(IDS[model]), model=model)
        for minor, model in enumerate(models)
    ]
    held = {gpu.minor for gpu in gpus if rng.random() < 0.6}
    cut, unnamed = rng.random() < 0.3, rng.random() < 0.2

    told = gpu_environment(held, gpus, has_instances=cut, unnamed=unnamed)

    assert dict(told) == shown(held, gpus, has_instances=cut, unnamed=unnamed)
    assert list(told) == sorted(told)
