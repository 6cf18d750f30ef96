"""Lists of resources (``requests``, ``allocatable``) in whole units."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import or_

from placer_models.device import GPU
from placer_models.device_request import DEVICE_RESOURCES, OTHER_SPELLINGS, WHOLE_GPUS
from placer_models.kubernetes.object_fields import KubeObjectFieldValue
from placer_models.quantity import parse_amount_rounding_up, parse_bytes

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
HUGEPAGES = "hugepages-"

SUMS = DEVICE_RESOURCES - frozenset(WHOLE_GPUS)
"""Resources that Koordinator adds up over the devices of a node; pods ask by them for shares."""

# Koordinator's own spelling of resources for batch pods was given up: it is no legal name.
_BATCH = {
    "koordinator.sh/batch-cpu": "kubernetes.io/batch-cpu",
    "koordinator.sh/batch-memory": "kubernetes.io/batch-memory",
}


# Clusters say the same few amounts over and over.
@lru_cache(4096)
def _bytes(amount: str | float) -> int:
    return parse_amount_rounding_up(amount)


@lru_cache(4096)
def milli_rounding_up(amount: str | float) -> int:
    """Return an amount in thousandths; parts of one count as a whole one."""
    return parse_amount_rounding_up(amount, 1000)


_NOT_COUNTED = "attachable-volumes-"


@dataclass(frozen=True, slots=True)
class KubeResourceList:
    """Amounts of resources.

    Attributes:
        cpu_milli: None if CPUs are not named.
        memory_bytes: None if memory is not named.
        hugepages: Page size in bytes -> bytes in pages of that size.
        other: Current name -> amount, in units (in bytes if it is a size).

    """

    cpu_milli: int | None = None
    memory_bytes: int | None = None
    hugepages: Mapping[int, int] = field(default_factory=dict)
    other: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> bool:
        """Whether anything is named."""
        return bool(self.named)

    @property
    def named(self) -> tuple[str, ...]:
        """The names of all that is named."""
        cpu = () if self.cpu_milli is None else (CPU,)
        memory = () if self.memory_bytes is None else (MEMORY,)
        return *cpu, *memory, *(f"{HUGEPAGES}{size}" for size in self.hugepages), *self.other


NOTHING = KubeResourceList()


def read_resource_list(
    part: KubeObjectFieldValue, *, without: Collection[str] = ()
) -> KubeResourceList:
    """Return the amounts of a list of resources, devices under their current names.

    Args:
        part: The list.
        without: Current names of resources that are passed over, whatever their amounts.

    Raises:
        KubernetesObjectError: An amount is negative, no amount, or given twice in two spellings.

    """
    if part.value is None:
        return NOTHING
    cpu_milli = memory_bytes = None
    hugepages: dict[int, int] = {}
    other: dict[str, int] = {}
    for name, amount in part.members().items():
        if name == CPU:
            cpu_milli = amount.amount(milli_rounding_up)
        elif name == MEMORY:
            memory_bytes = amount.amount(_bytes)
        elif name.startswith(HUGEPAGES):
            size = amount.checked(parse_bytes, name.removeprefix(HUGEPAGES))
            if not size:
                amount.refuse("a page has a size; write hugepages-2Mi or hugepages-1Gi")
            held = amount.amount(_bytes)
            if held % size:
                amount.refuse(f"got {amount.got}; expected a whole number of pages")
            hugepages[size] = held
        elif not name.startswith(_NOT_COUNTED):
            today = _BATCH.get(name, OTHER_SPELLINGS.get(name, name) if "/" in name else name)
            if today in without:
                continue
            if today in other:
                amount.refuse(f"{today} is there twice, in two spellings; keep one of them")
            other[today] = amount.amount(_bytes)
    return KubeResourceList(cpu_milli, memory_bytes, hugepages, other)


def counts_devices_of(name: str, types: Set[str]) -> bool:
    """Return whether a resource counts whole devices of one of the types."""
    return name in types or (name in WHOLE_GPUS and GPU in types)


def largest_of_each_resource(lists: Sequence[KubeResourceList]) -> KubeResourceList:
    """Return the largest amount of each resource that any of the lists names."""
    return KubeResourceList(
        max((one.cpu_milli for one in lists if one.cpu_milli is not None), default=None),
        max((one.memory_bytes for one in lists if one.memory_bytes is not None), default=None),
        reduce(or_, (Counter(one.hugepages) for one in lists)),
        reduce(or_, (Counter(one.other) for one in lists)),
    )
