"""Words for a dataflow job as it is given: operators, edges, slot sharing groups (F1)."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from placer.slots.resources import UNKNOWN, ResourceProfile, SlotResourceAmounts

DEFAULT_GROUP = "default"
"""The slot sharing group of operators that inherit no other."""


class SlotResourceSemantics(StrEnum):
    """Whose rules hold. The value is the word in files."""

    FLIP_53 = "flip-53"
    """Operators state resources; each has one fraction of each kind of managed memory."""

    FLIP_141 = "flip-141"
    """Groups own resources; each operator has a fraction for each use of managed memory."""


class JobExecutionMode(StrEnum):
    """How the job runs. The value is the word in files."""

    STREAMING = "streaming"
    """Without an end: all of it runs at once."""

    BATCH = "batch"
    """To an end: a region starts when what it reads through blocking edges is there."""


class OperatorChainingMode(StrEnum):
    """What an operator allows. The value is the word in files."""

    ALWAYS = "always"
    """It joins the operator before it, and may be joined."""

    HEAD = "head"
    """It starts a chain: it may be joined, and joins nobody."""

    NEVER = "never"
    """It stays alone."""


class EdgePartitioningStrategy(StrEnum):
    """Which subtasks an edge connects. The value is the word in files."""

    FORWARD = "forward"
    """Each to the one of its own index; parallelism is equal on both sides."""

    RESCALE = "rescale"
    """Each to its share of the other side."""

    REBALANCE = "rebalance"
    """Each to all, in turn."""

    BROADCAST = "broadcast"
    """Each to all, everything."""

    HASH = "hash"
    """Each to all, by key."""

    GLOBAL = "global"
    """Each to the first."""


class EdgeExchangeMode(StrEnum):
    """When the consumer may read. The value is the word in files."""

    UNDEFINED = "undefined"
    """Whatever the job's ``default_exchange`` is; it never hinders a chain."""

    PIPELINED = "pipelined"
    """At once: both ends run together."""

    BLOCKING = "blocking"
    """When the producer is done."""

    HYBRID_FULL = "hybrid-full"
    """At once or later; all data is kept."""

    HYBRID_SELECTIVE = "hybrid-selective"
    """At once or later; what was read at once is not kept."""


HYBRIDS = (EdgeExchangeMode.HYBRID_FULL, EdgeExchangeMode.HYBRID_SELECTIVE)


class ManagedMemoryUseCase(StrEnum):
    """What managed memory is used for (flip-141). The value is the word in files."""

    OPERATOR = "operator"
    """Sorting, hashing, caching: each operator has a part of its own, by weight."""

    STATE_BACKEND = "stateBackend"
    """State; all operators of a slot share one pool."""

    PYTHON = "python"
    """Python workers; all operators of a slot share one pool."""


CONSUMER_WEIGHTS = (
    (ManagedMemoryUseCase.OPERATOR, 70),
    (ManagedMemoryUseCase.STATE_BACKEND, 70),
    (ManagedMemoryUseCase.PYTHON, 30),
)
"""How use cases share a slot unless the job says otherwise."""


@dataclass(frozen=True, slots=True)
class ManagedMemoryShare:
    """An operator's claim to a part of one kind of managed memory, with unknown resources.

    Attributes:
        weight: Its part against those of its group (F7, F8); 0: it uses none.
        fraction: Its part of the slot, set by itself and passed through unchanged (F25).

    """

    weight: int = 0
    fraction: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator.

    Attributes:
        group: The slot sharing group as the user named it; None: inherited.
        resources: Needs of one subtask (F2); UNKNOWN leaves them to the slot.
        on_heap: Its managed memory on the heap, where resources are unknown (flip-53).
        off_heap: The same off the heap.
        operator_weight: Weight of ``ManagedMemoryUseCase.OPERATOR``; 0: it has no such use
            (flip-141).
        slot_use_cases: The other uses that it has (flip-141).
        colocation: Subtasks of one index of all operators of this name share a slot.

    """

    name: str
    parallelism: int = 1
    group: str | None = None
    chaining: OperatorChainingMode = OperatorChainingMode.ALWAYS
    resources: ResourceProfile = UNKNOWN
    on_heap: ManagedMemoryShare = ManagedMemoryShare()
    off_heap: ManagedMemoryShare = ManagedMemoryShare()
    operator_weight: int = 0
    slot_use_cases: frozenset[ManagedMemoryUseCase] = frozenset()
    colocation: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorEdge:
    """Data from one operator to another.

    Attributes:
        partition: None: forward where parallelism is equal, else rebalance.

    """

    producer: str
    consumer: str
    partition: EdgePartitioningStrategy | None = None
    exchange: EdgeExchangeMode = EdgeExchangeMode.UNDEFINED


@dataclass(frozen=True, slots=True)
class SlotSharingGroup:
    """A slot sharing group that the user names.

    Attributes:
        resources: What a slot of the group has (flip-141, where groups own resources).

    """

    name: str
    resources: SlotResourceAmounts | None = None


@dataclass(frozen=True, slots=True)
class NetworkBufferSettings:
    """The sizes and counts from which network memory is derived (F2)."""

    buffer_bytes: int = 32 * 2**10
    buffers_per_channel: int = 2
    floating_buffers: int = 8


@dataclass(frozen=True, slots=True)
class JobGraph:
    """A dataflow job. Without resources and groups it behaves as it did before them (F22).

    Attributes:
        one_default_group: Whether all components share the default group (F16),
            ``allSourcesInSameRegion`` in files; None: yes if streaming, no if batch.
        default_exchange: What an undefined exchange means.
        groups: Named slot sharing groups; ``default`` exists without being named.
        consumer_weights: Weights of use cases; a use case left out weighs nothing.
        state_backend_managed: Whether the state backend uses managed memory at all.

    """

    operators: tuple[Operator, ...]
    edges: tuple[OperatorEdge, ...] = ()
    name: str = ""
    semantics: SlotResourceSemantics = SlotResourceSemantics.FLIP_53
    mode: JobExecutionMode = JobExecutionMode.STREAMING
    one_default_group: bool | None = None
    default_exchange: EdgeExchangeMode = EdgeExchangeMode.PIPELINED
    groups: tuple[SlotSharingGroup, ...] = ()
    network: NetworkBufferSettings = NetworkBufferSettings()
    consumer_weights: tuple[tuple[ManagedMemoryUseCase, int], ...] = CONSUMER_WEIGHTS
    state_backend_managed: bool = True

    @property
    def shares_default_group(self) -> bool:
        """Whether there is one default group, not one for each region."""
        if self.one_default_group is None:
            return self.mode is JobExecutionMode.STREAMING
        return self.one_default_group
