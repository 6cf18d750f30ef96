"""Resources of operators, tasks, slots and workers: seven dimensions, known or not (F24)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, NoReturn

E8 = 10**8
"""CPUs and extended resources are whole hundred-millionths: exact sums, no float drift."""

MAX_BYTES = 2**63 - 1
"""Largest amount of memory; a sum above it is an error, never a wrong number."""


def sorted_nonzero_amounts(amounts_e8: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return extended resources as `SlotResourceAmounts` holds them: a zero is as good as none."""
    return tuple(sorted((name, amount) for name, amount in amounts_e8.items() if amount))


@dataclass(frozen=True, slots=True)
class SlotResourceAmounts:
    """Known resources; all zero is ``ZERO``: said to be nothing, not left unsaid.

    Attributes:
        cpu_e8: Hundred-millionths of a CPU.
        heap_bytes: Task memory on the heap.
        off_heap_bytes: Task memory off the heap.
        managed_on_heap_bytes: Managed memory on the heap.
        managed_off_heap_bytes: Managed memory off the heap.
        network_bytes: Network buffers; operators state none, tasks derive it.
        extended_e8: (name, hundred-millionths), ascending by name, without zeros; build
            it with ``extended``.

    Raises:
        ValueError: An amount is negative.
        OverflowError: Memory is above 2**63 - 1 bytes.

    """

    cpu_e8: int = 0
    heap_bytes: int = 0
    off_heap_bytes: int = 0
    managed_on_heap_bytes: int = 0
    managed_off_heap_bytes: int = 0
    network_bytes: int = 0
    extended_e8: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        # One look at the whole first: jobs make tens of thousands of these.
        if min(self.plain) < 0 or max(self.plain) > MAX_BYTES:
            for name, amount in zip(PLAIN, self.plain, strict=True):
                _check(name, amount)
        if self.extended_e8:
            for name, amount in self.extended_e8:
                _check(name, amount)
            if self.extended_e8 != sorted_nonzero_amounts(dict(self.extended_e8)):
                raise ValueError(
                    f"extended resources are {self.extended_e8}; expected them ascending by "
                    "name, each once and without zeros"
                )

    @property
    def plain(self) -> tuple[int, int, int, int, int, int]:
        """The amounts that have a field of their own, in the order of ``PLAIN``."""
        return (
            self.cpu_e8,
            self.heap_bytes,
            self.off_heap_bytes,
            self.managed_on_heap_bytes,
            self.managed_off_heap_bytes,
            self.network_bytes,
        )

    @property
    def operators_memory_bytes(self) -> int:
        """Memory that operators use: all of it but the network's."""
        return (
            self.heap_bytes
            + self.off_heap_bytes
            + self.managed_on_heap_bytes
            + self.managed_off_heap_bytes
        )

    @property
    def total_memory_bytes(self) -> int:
        """Memory in all."""
        return self.operators_memory_bytes + self.network_bytes

    def extended_of(self, name: str) -> int:
        """Return the amount of an extended resource, in hundred-millionths."""
        return dict(self.extended_e8).get(name, 0)


PLAIN = tuple(field.name for field in fields(SlotResourceAmounts) if field.name != "extended_e8")


def _check(name: str, amount: int) -> None:
    if amount < 0:
        raise ValueError(f"{name} is {amount}; an amount is 0 or more")
    if amount > MAX_BYTES:
        raise OverflowError(f"{name} is {amount}; amounts end at 2**63 - 1")


class UnknownOrAnyResources(Enum):
    """Resources without numbers."""

    UNKNOWN = "unknown"
    """Nobody said; a slot of the default size serves it."""

    ANY = "any"
    """More than anything: serves every request, and no slot serves it but itself."""

    if not TYPE_CHECKING:  # A checker of types sees that there is no such attribute.

        def __getattr__(self, name: str) -> NoReturn:
            """Say that there are no amounts.

            Raises:
                ValueError: The attribute is one of ``SlotResourceAmounts``.
                AttributeError: It is not.

            """
            if name in dir(SlotResourceAmounts) and not name.startswith("_"):
                raise ValueError(
                    f"{name}: the resources are {self.value}, without amounts; "
                    "ask isinstance(profile, Amounts) first"
                )
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")


ResourceProfile = SlotResourceAmounts | UnknownOrAnyResources
"""Resources of an operator, a task, a slot or a worker."""

ZERO = SlotResourceAmounts()
UNKNOWN = UnknownOrAnyResources.UNKNOWN
ANY = UnknownOrAnyResources.ANY


def merge_resource_profiles(a: ResourceProfile, b: ResourceProfile) -> ResourceProfile:
    """Add field by field; ANY wins over all, then UNKNOWN (F4).

    Raises:
        OverflowError: Memory comes to more than 2**63 - 1 bytes.

    """
    if not isinstance(a, SlotResourceAmounts) or not isinstance(b, SlotResourceAmounts):
        return ANY if ANY in (a, b) else UNKNOWN
    if a is ZERO or b is ZERO:
        return b if a is ZERO else a
    return add_slot_amounts(a, b)


def add_slot_amounts(
    a: SlotResourceAmounts, b: SlotResourceAmounts, times: int = 1
) -> SlotResourceAmounts:
    """Add ``b`` so many times to ``a``, field by field.

    Raises:
        ValueError: A field comes to less than 0.
        OverflowError: Memory comes to more than 2**63 - 1 bytes.

    """
    names = dict(a.extended_e8) | dict(b.extended_e8)
    return slot_amounts_of(
        [x + times * y for x, y in zip(a.plain, b.plain, strict=True)],
        {n: a.extended_of(n) + times * b.extended_of(n) for n in names},
    )


def merge_all_resource_profiles(profiles: Iterable[ResourceProfile]) -> ResourceProfile:
    """Merge any number of profiles; of none, ``ZERO``."""
    total: ResourceProfile = ZERO
    for profile in profiles:
        total = merge_resource_profiles(total, profile)
    return total


def subtract_resource_profile(a: ResourceProfile, b: ResourceProfile) -> ResourceProfile:
    """Take ``b`` out of ``a``; ANY wins over all, then UNKNOWN.

    Raises:
        ValueError: ``b`` is more than ``a`` in some field.

    """
    if not isinstance(a, SlotResourceAmounts) or not isinstance(b, SlotResourceAmounts):
        return ANY if ANY in (a, b) else UNKNOWN
    for name, has, wants in slot_amount_shortages(a, b):
        raise ValueError(f"{name}: cannot take {wants} out of {has}")
    return add_slot_amounts(a, b, -1)


def multiplied_resource_profile(profile: ResourceProfile, by: int) -> ResourceProfile:
    """Return so many times the profile; UNKNOWN and ANY stay what they are.

    Raises:
        ValueError: The multiplier is negative.

    """
    if by < 0:
        raise ValueError(f"the multiplier is {by}; expected 0 or more")
    if by == 0:
        return ZERO
    if not isinstance(profile, SlotResourceAmounts):
        return profile
    return slot_amounts_of(
        [amount * by for amount in profile.plain],
        {name: amount * by for name, amount in profile.extended_e8},
    )


def slot_amount_shortages(
    a: SlotResourceAmounts, b: SlotResourceAmounts
) -> Iterator[tuple[str, int, int]]:
    """Yield (field, amount of a, amount of b) wherever ``a`` has less than ``b``."""
    for name, has, wants in zip(PLAIN, a.plain, b.plain, strict=True):
        if has < wants:
            yield name, has, wants
    for name, wants in b.extended_e8:
        if a.extended_of(name) < wants:
            yield name, a.extended_of(name), wants


def slot_amounts_of(plain: Sequence[int], extended_e8: Mapping[str, int]) -> SlotResourceAmounts:
    """Return amounts in the order of ``PLAIN``, and extended resources, as one."""
    cpu_e8, heap, off_heap, managed_on_heap, managed_off_heap, network = plain
    return SlotResourceAmounts(
        cpu_e8,
        heap,
        off_heap,
        managed_on_heap,
        managed_off_heap,
        network,
        sorted_nonzero_amounts(extended_e8),
    )
