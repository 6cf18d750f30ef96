"""Devices of a machine and the links between them."""

from dataclasses import dataclass

from placer_models.capacity import DeviceQuantity
from placer_models.selectors import Labels
from placer_models.typed import TypeChecked, check_field_types

GPU = "gpu"
"""The device type that has links."""

INSTANCE_PREFIX = "mig-"
"""The beginning of the device types of MIG instances, as in ``nvidia.com/mig-3g.20gb``."""

DeviceKey = tuple[str, int]
"""Type and minor of a device."""

PartitionTable = tuple[tuple[int, ...], ...]
"""Sets of GPUs that may be given to one pod; each ascending by minor, no set twice (D10)."""


FunctionSelector = tuple[tuple[str, tuple[str, ...]], ...]
"""(Label, the values it may have), ascending by label; empty: any virtual function."""


@dataclass(frozen=True, slots=True)
class VirtualFunction(TypeChecked):
    """One virtual function of a device (D1)."""

    minor: int
    bus_id: str
    labels: Labels = ()


def admits_virtual_function(selector: FunctionSelector, labels: Labels) -> bool:
    """Return whether the selector admits a virtual function with these labels (D9)."""
    has = dict(labels)
    return all(has.get(key) in values for key, values in selector)


@dataclass(frozen=True, slots=True)
class Device(TypeChecked):
    """One device (D1). Types are plain names: ``gpu``, ``rdma``, or any other.

    Attributes:
        minor: The number that names the device among those of its type on its node.
        id: What the vendor calls it, such as a UUID; empty if unknown.
        memory_bytes: Memory of the device itself; 0 if unknown or none.
        numa_node: None where it is unknown, as in many virtual machines.
        pcie_switch: Key of the nearest PCIe switch; devices of one key share it.
        capacity: Other quantities that pods may take a part of, ascending by name, no zeros.

    """

    type: str
    minor: int
    id: str = ""
    model: str = ""
    memory_bytes: int = 0
    healthy: bool = True
    numa_node: int | None = None
    package: int | None = None
    pcie_root: str | None = None
    pcie_switch: str | None = None
    bus_id: str = ""
    virtual_functions: tuple[VirtualFunction, ...] = ()
    capacity: tuple[DeviceQuantity, ...] = ()


@dataclass(frozen=True, slots=True)
class GpuLinkMatrix:
    """Bandwidth between every two GPUs of a machine, nominal and per direction.

    Attributes:
        minors: GPU minors, ascending; row and column i belong to ``minors[i]``.
        centi_gb_per_s: 0.01 GB/s per direction, as integers; symmetric, diagonal 0.
        kinds: The link's name, such as ``NV12`` or ``SYS``, for people; never used for ranking.
        shared_egress: Whether pairs share each GPU's egress (NVSwitch), so that pair
            values do not add up.

    Raises:
        ValueError: The matrix is not square, not symmetric or negative.

    """

    minors: tuple[int, ...]
    centi_gb_per_s: tuple[tuple[int, ...], ...]
    kinds: tuple[tuple[str, ...], ...]
    shared_egress: bool = False

    def __post_init__(self) -> None:
        check_field_types(self)
        n = len(self.minors)
        for name, matrix in (("bandwidths", self.centi_gb_per_s), ("kinds", self.kinds)):
            if [len(row) for row in matrix] != [n] * n:
                raise ValueError(f"link {name}: expected {n} rows of {n} cells")
        for i, row in enumerate(self.centi_gb_per_s):
            for j, value in enumerate(row):
                a, b = self.minors[i], self.minors[j]
                if i != j and value < 0:
                    raise ValueError(f"link GPU {a} to GPU {b}: {value / 100} GB/s is negative")
                back = self.centi_gb_per_s[j][i]
                if value != back:
                    raise ValueError(
                        f"link GPU {a} to GPU {b} has {value / 100} GB/s, "
                        f"but GPU {b} to GPU {a} has {back / 100}: links are symmetric"
                    )
                if i == j and value:
                    raise ValueError(f"GPU {a} has a link to itself")


def is_mig_instance(device_type: str) -> bool:
    """Return whether devices of the type are MIG instances."""
    return device_type.startswith(INSTANCE_PREFIX)
