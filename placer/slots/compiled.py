"""Words for a compiled job: chains, regions, groups, fractions, slot requests."""

from dataclasses import dataclass
from decimal import Decimal

from placer.slots.graph import (
    EdgeExchangeMode,
    EdgePartitioningStrategy,
    JobExecutionMode,
    ManagedMemoryUseCase,
    SlotResourceSemantics,
)
from placer.slots.resources import ResourceProfile


@dataclass(frozen=True, slots=True)
class OperatorChain:
    """Operators that run as one task: a vertex of the compiled graph.

    Attributes:
        operators: Indices into the job's operators, producers first.
        group_name: The slot sharing group that they name or inherit.
        requirement: The merge of what its operators need (F5).
        task: The requirement with network memory: what one subtask needs.

    """

    operators: tuple[int, ...]
    parallelism: int
    group_name: str
    requirement: ResourceProfile
    task: ResourceProfile


@dataclass(frozen=True, slots=True)
class EdgeBetweenChains:
    """Data from one chain to another.

    Attributes:
        exchange: Never undefined.

    """

    producer: int
    consumer: int
    partition: EdgePartitioningStrategy
    exchange: EdgeExchangeMode


@dataclass(frozen=True, slots=True)
class PipelinedRegion:
    """Chains joined by pipelined links: all of them run together, or none (F13)."""

    chains: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChainsSharingSlots:
    """Chains whose subtasks share slots: one subtask of each in a slot.

    Attributes:
        name: The user's name, ``default``, or ``default[3]`` for region 3's own.
        slots: One for each parallel pipeline: the largest parallelism (F18).
        requirement: The sum of what its chains need, network memory left out.
        slot: What a slot is asked to have (F19); UNKNOWN: whatever a default slot has.

    """

    name: str
    chains: tuple[int, ...]
    slots: int
    requirement: ResourceProfile
    slot: ResourceProfile


@dataclass(frozen=True, slots=True)
class OperatorMemoryFractions:
    """An operator's parts of its slot's managed memory, by kind (flip-53).

    Both are exact decimals of 16 places, rounded down; ``float`` of one is the double
    that a runtime is handed.
    """

    on_heap: Decimal
    off_heap: Decimal


@dataclass(frozen=True, slots=True)
class ManagedMemoryFraction:
    """An operator's part of one use of its slot's managed memory (flip-141).

    Attributes:
        of_use_case: Its part among the operators of the group.
        share: The use case's part of the slot.

    """

    use_case: ManagedMemoryUseCase
    of_use_case: Decimal
    share: Decimal

    @property
    def of_slot(self) -> float:
        """Its part of the slot, as a runtime multiplies it: in doubles."""
        return float(self.of_use_case) * float(self.share)


Fractions = OperatorMemoryFractions | tuple[ManagedMemoryFraction, ...]
"""An operator's part of its slot; use cases are those of its group, in a fixed order."""


@dataclass(frozen=True, slots=True)
class RegionGang:
    """Slots that are given together or not at all (F21).

    Attributes:
        regions: One; several where regions wait for one another in a cycle.
        slots: (group, slots of it that these regions use), ascending by group.

    """

    regions: tuple[int, ...]
    slots: tuple[tuple[int, int], ...]

    @property
    def width(self) -> int:
        """Slots in all."""
        return sum(count for _, count in self.slots)


@dataclass(frozen=True, slots=True)
class RegionDependencyCycle:
    """Regions none of which can be first, for each reads what another must finish.

    Attributes:
        links: The blocking links inside of the cycle.

    """

    regions: tuple[int, ...]
    links: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharingGroupSlotRequest:
    """Slots of one size, one for each parallel pipeline of a group."""

    group: int
    count: int
    profile: ResourceProfile


@dataclass(frozen=True, slots=True)
class CompiledDataflowJob:
    """A job as chains, regions, groups and fractions; all refer to one another by index.

    Attributes:
        operators: Their names.
        chain_of: For each operator its chain.
        region_of: For each chain its region.
        group_of: For each chain its group.
        fractions: For each operator.
        gangs: The gangs, in an order in which they can run.

    """

    name: str
    semantics: SlotResourceSemantics
    mode: JobExecutionMode
    operators: tuple[str, ...]
    chains: tuple[OperatorChain, ...]
    links: tuple[EdgeBetweenChains, ...]
    regions: tuple[PipelinedRegion, ...]
    groups: tuple[ChainsSharingSlots, ...]
    chain_of: tuple[int, ...]
    region_of: tuple[int, ...]
    group_of: tuple[int, ...]
    fractions: tuple[Fractions, ...]
    gangs: tuple[RegionGang, ...]
    cycles: tuple[RegionDependencyCycle, ...]

    @property
    def requests(self) -> tuple[SharingGroupSlotRequest, ...]:
        """The slots that the job asks for (F18)."""
        return tuple(SharingGroupSlotRequest(i, g.slots, g.slot) for i, g in enumerate(self.groups))

    @property
    def slots_at_once(self) -> int:
        """Slots when all regions run at the same time."""
        return sum(group.slots for group in self.groups)

    @property
    def slots_in_turn(self) -> int:
        """Slots when gangs run one after another; groups of one size reuse them."""
        return max(gang.width for gang in self.gangs)

    @property
    def slots_needed(self) -> int:
        """The fewest slots with which the job can run to its end (F17).

        A streaming job has no end, so nothing of it can wait for another part.
        """
        return self.slots_at_once if self.mode is JobExecutionMode.STREAMING else self.slots_in_turn
