"""Multi-Instance GPUs: profiles, and where on a GPU an instance of each may begin.

A GPU in MIG mode has 8 memory slices. An instance takes a run of them that begins at one
of the starts of its profile. Sizes and starts are those that ``nvidia-smi mig -lgipp``
prints for A100 and H100 (NVIDIA's MIG User Guide; public logs of both). Every legal set
of instances keeps to the 7 compute slices too, so those are not counted.

In the words an instance is a device of its own: its type is ``mig-`` and the profile's
name, its minor is 8 x the GPU's minor + the start.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from placer_models.device import GPU, INSTANCE_PREFIX, Device

SLICES = 8
"""Memory slices of a GPU."""

MEDIA = SLICES
"""The GPU's media engine, counted as one more slice: a single instance has it, at any start."""


@dataclass(frozen=True, slots=True)
class PossibleMigPlacement:
    """Where an instance of a GPU in MIG mode could be.

    Attributes:
        gpu: The GPU's minor.
        covers: The slices (and MEDIA) that it takes of the GPU; instances that have one of them
            in common exclude each other.
        points: What it counts in tier ``usable`` as long as it could be made.

    """

    gpu: int
    covers: tuple[int, ...]
    points: int


@dataclass(frozen=True, slots=True)
class MigProfile:
    """One profile of a table.

    Attributes:
        name: As in Kubernetes resource names: ``3g.20gb``, ``1g.5gb.me``.
        compute: Compute slices of an instance.
        slices: Memory slices of an instance.
        starts: The memory slices at which an instance may begin.
        media: Whether an instance has the GPU's media engine.
        usual: Whether this is the profile of its compute size that counts in tier ``usable``.

    """

    name: str
    compute: int
    slices: int
    starts: tuple[int, ...]
    media: bool = False
    usual: bool = True

    @property
    def type(self) -> str:
        """The device type of its instances."""
        return INSTANCE_PREFIX + self.name

    def covers(self, start: int) -> tuple[int, ...]:
        """Return what an instance takes of its GPU: slices, and MEDIA."""
        return (*range(start, start + self.slices), *((MEDIA,) if self.media else ()))


def _profiles(slice_gb: int) -> tuple[MigProfile, ...]:
    """Return the table of a GPU whose memory slices have ``slice_gb`` GB each."""
    ones = (0, 1, 2, 3, 4, 5, 6)
    return (
        MigProfile(f"1g.{slice_gb}gb", 1, 1, ones),
        MigProfile(f"1g.{slice_gb}gb.me", 1, 1, ones, media=True, usual=False),
        MigProfile(f"1g.{2 * slice_gb}gb", 1, 2, (0, 2, 4, 6), usual=False),
        MigProfile(f"2g.{2 * slice_gb}gb", 2, 2, (0, 2, 4)),
        MigProfile(f"3g.{4 * slice_gb}gb", 3, 4, (0, 4)),
        MigProfile(f"4g.{4 * slice_gb}gb", 4, 4, (0,)),
        MigProfile(f"7g.{8 * slice_gb}gb", 7, 8, (0,)),
    )


TABLES: Mapping[str, tuple[MigProfile, ...]] = {
    "A100-40GB": _profiles(5),
    "A100-80GB": _profiles(10),
    "H100-80GB": _profiles(10),
}
"""Profiles by the name of the GPU."""

Modes = tuple[tuple[int, str], ...]
"""(GPU minor, table) of the GPUs of a node that are in MIG mode, ascending."""


def gpu_minor_of_mig_instance(minor: int) -> int:
    """Return the minor of the GPU that an instance is on."""
    return minor // SLICES


def mig_slices_covered(modes: Modes, device_type: str, minor: int) -> tuple[int, ...]:
    """Return what an instance takes of its GPU; nothing if no such instance is possible there."""
    table = dict(modes).get(gpu_minor_of_mig_instance(minor), "")
    start = minor % SLICES
    return next(
        (
            profile.covers(start)
            for profile in TABLES.get(table, ())
            if profile.type == device_type and start in profile.starts
        ),
        (),
    )


def mig_device_types() -> frozenset[str]:
    """Return the device types of all profiles."""
    return frozenset(profile.type for table in TABLES.values() for profile in table)


@cache
def mig_instance_memory_slices(device_type: str) -> int:
    """Return the most memory slices that an instance of the type has in any table, or 1."""
    sizes = (p.slices for table in TABLES.values() for p in table if p.type == device_type)
    return max(sizes, default=1)


@lru_cache(maxsize=4096)
def with_possible_mig_instances(devices: tuple[Device, ...], modes: Modes) -> tuple[Device, ...]:
    """Return the devices, and every instance that the GPUs in MIG mode could be cut into."""
    gpus = {device.minor: device for device in devices if device.type == GPU}
    instances = [
        Device(
            type=profile.type,
            minor=SLICES * minor + start,
            id=f"{gpus[minor].id or f'{GPU}-{minor}'}/{profile.name}@{start}",
            model=gpus[minor].model,
            healthy=gpus[minor].healthy,
            numa_node=gpus[minor].numa_node,
            package=gpus[minor].package,
            pcie_root=gpus[minor].pcie_root,
            pcie_switch=gpus[minor].pcie_switch,
        )
        for minor, table in modes
        if minor in gpus
        for profile in TABLES[table]
        for start in profile.starts
    ]
    return tuple(sorted((*devices, *instances), key=lambda device: (device.type, device.minor)))
