"""The schema of a job graph's file: which fields there are, and their types."""

from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Literal

from placer.slots.amount_text import parse_hundred_millionths, parse_slot_fraction
from placer.slots.graph import (
    EdgeExchangeMode,
    EdgePartitioningStrategy,
    JobExecutionMode,
    OperatorChainingMode,
    SlotResourceSemantics,
)
from placer.slots.resources import SlotResourceAmounts, sorted_nonzero_amounts
from placer_models.files.part import Field, Part, PlacerFileMetadataPart, parsing_validator
from placer_models.quantity import parse_bytes

# The operators of a job have few different needs: each text is read once.
AmountE8 = Annotated[int, parsing_validator(lru_cache(parse_hundred_millionths))]
"""CPUs, or an amount of an extended resource."""

MemoryBytes = Annotated[int, parsing_validator(lru_cache(parse_bytes))]

Fraction = Annotated[Decimal, parsing_validator(parse_slot_fraction)]
"""Of a slot."""


NOTHING: Any = Field(default="0", validate_default=True)
"""The default of an amount."""


class SlotResourceProfilePart(Part):
    """What one subtask of an operator, or a slot of a group, needs."""

    cpu: AmountE8
    heap: MemoryBytes
    off_heap: MemoryBytes = NOTHING
    managed_on_heap: MemoryBytes = NOTHING
    managed_off_heap: MemoryBytes = NOTHING
    extended: dict[str, AmountE8] | None = None

    def amounts(self, network_bytes: int = 0) -> SlotResourceAmounts:
        """Return all of it."""
        return SlotResourceAmounts(
            self.cpu,
            self.heap,
            self.off_heap,
            self.managed_on_heap,
            self.managed_off_heap,
            network_bytes,
            sorted_nonzero_amounts(self.extended or {}),
        )


class ManagedMemorySharePart(Part):
    """How an operator comes to its managed memory: by weight, or by a fraction of its own."""

    weight: int = 0
    fraction: Fraction | None = None


class ManagedMemoryPart(Part):
    """Uses of managed memory: by kind under flip-53, by use case under flip-141."""

    on_heap: int | ManagedMemorySharePart = 0
    off_heap: int | ManagedMemorySharePart = 0
    operator: int = 0
    state_backend: bool = False
    python: bool = False


class OperatorPart(Part):
    """One operator."""

    name: str
    parallelism: int = 1
    group: str | None = None
    chaining: OperatorChainingMode = OperatorChainingMode.ALWAYS
    resources: SlotResourceProfilePart | None = None
    managed: ManagedMemoryPart = ManagedMemoryPart()
    colocation: str | None = None


def _without_underscore(name: str) -> str:
    # `from` is a word of Python's, so its field here is `from_`.
    return name.removesuffix("_")


class OperatorEdgePart(Part):
    """Data from one operator to another."""

    model_config = Part.model_config | {"alias_generator": _without_underscore}

    from_: str
    to: str
    partition: EdgePartitioningStrategy | None = None
    exchange: EdgeExchangeMode = EdgeExchangeMode.UNDEFINED


class SlotSharingGroupPart(Part):
    """A slot sharing group; one without resources may be its name alone."""

    name: str
    resources: SlotResourceProfilePart | None = None


class NetworkBufferSettingsPart(Part):
    """What network memory is derived from."""

    buffer_size: MemoryBytes = Field(default="32Ki", validate_default=True)
    buffers_per_channel: int = 2
    floating_buffers: int = 8


class ManagedMemoryWeightsPart(Part):
    """How use cases share a slot; one that is left out keeps its default weight."""

    operator: int = 70
    state_backend: int = 70
    python: int = 30


class JobGraphFile(Part):
    """One document of ``kind: JobGraph``."""

    api_version: Literal["placer/v1"]
    kind: Literal["JobGraph"]
    metadata: PlacerFileMetadataPart = PlacerFileMetadataPart()
    semantics: SlotResourceSemantics = SlotResourceSemantics.FLIP_53
    mode: JobExecutionMode = JobExecutionMode.STREAMING
    all_sources_in_same_region: bool | None = None
    default_exchange: EdgeExchangeMode = EdgeExchangeMode.PIPELINED
    network: NetworkBufferSettingsPart = NetworkBufferSettingsPart()
    slot_sharing_groups: tuple[str | SlotSharingGroupPart, ...] = ()
    consumer_weights: ManagedMemoryWeightsPart = ManagedMemoryWeightsPart()
    state_backend_managed: bool = True
    operators: tuple[OperatorPart, ...]
    edges: tuple[OperatorEdgePart, ...] = ()
