"""The parts of a machine file, and how a fault in one of them is named."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import BeforeValidator, Field

from placer_models.capacity import DeviceQuantityUnit
from placer_models.cpuset import MAX_CPU_ID
from placer_models.files.part import Amount, Part
from placer_models.instance.fields import Count, CpuList, Minor
from placer_models.instance.machine_cores import ThreadNumbering
from placer_models.policy import HybridCoreKind

NumaId = Annotated[int, Field(ge=0, le=MAX_CPU_ID)]

PackageId = Annotated[int, Field(ge=0, le=2**31)]
"""Firmware may number packages as it likes: 36 and 8442 are real."""


class InconsistentMachineError(ValueError):
    """A machine file contradicts itself.

    Attributes:
        field: Keys and indices from the machine to the field at fault.
        message: What is wrong there.

    """

    def __init__(self, field: tuple[str | int, ...], message: str) -> None:
        super().__init__(f"{'.'.join(map(str, field))}: {message}")
        self.field = field
        self.message = message


@contextmanager
def value_errors_naming_field(*field: str | int) -> Iterator[None]:
    """Name the field in any complaint about values that is raised inside."""
    try:
        yield
    except InconsistentMachineError:
        raise
    except ValueError as error:
        raise InconsistentMachineError(field, str(error)) from error


class MachineNumaNodePart(Part):
    """A NUMA node; ``ids`` instead of ``id`` stands for several without CPUs."""

    id: NumaId | None = None
    ids: CpuList | None = None
    package: PackageId = 0
    memory: Amount = "0"
    cpus: CpuList = ""
    hugepages: dict[str, Annotated[int, Field(ge=0, le=2**40)]] = Field(default_factory=dict)


class MachinePackagePart(Part):
    """The CPUs of a package, where NUMA nodes do not follow packages."""

    id: PackageId
    cpus: CpuList


class CpusWithoutNumaNodePart(Part):
    """CPUs that the kernel lists under no NUMA node."""

    package: PackageId = 0
    cpus: CpuList


class MachineCoresPart(Part):
    """Cores that are alike: a regular set of CPUs, or each core with its ``threads``."""

    cpus: CpuList | None = None
    threads: tuple[CpuList, ...] = ()
    threads_per_core: Annotated[int, Field(ge=1, le=8)] = 1
    numbering: ThreadNumbering = ThreadNumbering.STRIDED
    kind: HybridCoreKind = HybridCoreKind.PERFORMANCE
    cores_per_llc: Count | None = None


class MachineVirtualFunctionsPart(Part):
    """Virtual functions of a device that have equal labels."""

    count: Annotated[int, Field(ge=1, le=1024)]
    labels: dict[str, str] = Field(default_factory=dict)


class DeviceQuantityPart(Part):
    """A quantity of a device with its unit, where the way it is written does not say it."""

    amount: Amount
    unit: DeviceQuantityUnit


class MachineDevicesPart(Part):
    """Devices of one type and model; lists have one value for each of them."""

    type: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$")]
    count: Annotated[int, Field(ge=1, le=1024)]
    minors: CpuList | None = None
    model: str = ""
    memory: Amount = "0"
    capacity: dict[str, Amount | DeviceQuantityPart] = Field(
        default_factory=dict,
        description="What else pods may take a part of: {space: 2Ti, queues: 64, engine: 100%}.",
    )
    numa_node: NumaId | None = None
    numa_nodes: tuple[NumaId | None, ...] = ()
    pcie_switches: tuple[str | None, ...] = ()
    pcie_roots: tuple[str | None, ...] = ()
    ids: tuple[str, ...] = ()
    bus_ids: tuple[str, ...] = ()
    unhealthy: tuple[Minor, ...] = ()
    virtual_functions: Annotated[int, Field(ge=0, le=1024)] = 0
    virtual_function_bus_ids: tuple[tuple[str, ...], ...] = ()
    vf_groups: tuple[MachineVirtualFunctionsPart, ...] = ()

    @property
    def function_count(self) -> int:
        """How many virtual functions each device has."""
        return sum(group.count for group in self.vf_groups) or self.virtual_functions


def _as_block(value: object) -> object:
    if isinstance(value, list):
        raise ValueError(
            f"got a list of {len(value)}; expected a block of text: 'matrix: |', then one row "
            "of kinds for each GPU, such as 'X NV4 SYS'"
        )
    return value


class MachineGpuLinksPart(Part):
    """Links between the GPUs: a ``matrix`` of kinds, or one kind for ``all`` pairs."""

    bandwidth: dict[str, float] = Field(description="GB/s per direction of each kind of link.")
    shared_egress: bool = Field(
        default=False, description="The pairs of a GPU share its egress, as behind an NVSwitch."
    )
    matrix: Annotated[str | None, BeforeValidator(_as_block)] = Field(
        default=None,
        description="A block of text: one row of kinds for each GPU, X on the diagonal.",
    )
    all: str | None = None
    within: dict[str, tuple[CpuList, ...]] = Field(default_factory=dict)
