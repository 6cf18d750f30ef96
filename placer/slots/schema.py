"""The schema of a job graph's file: which fields there are, and their types."""

from typing import Literal

from placer.slots.graph import Chaining, Exchange, Mode, Partition, Semantics
from placer_models.files.part import Amount, Amounts, MetadataPart, Part

KIND = "JobGraph"


class ResourcesPart(Part):
    """What one subtask of an operator, or a slot of a group, needs."""

    cpu: Amount
    heap: Amount
    off_heap: Amount = "0"
    managed_on_heap: Amount = "0"
    managed_off_heap: Amount = "0"
    extended: Amounts | None = None


class SharePart(Part):
    """How an operator comes to its managed memory: by weight, or by a fraction of its own."""

    weight: int = 0
    fraction: Amount | None = None


class ManagedPart(Part):
    """Uses of managed memory: by kind under flip-53, by use case under flip-141."""

    on_heap: int | SharePart = 0
    off_heap: int | SharePart = 0
    operator: int = 0
    state_backend: bool = False
    python: bool = False


class OperatorPart(Part):
    """One operator."""

    name: str
    parallelism: int = 1
    group: str | None = None
    chaining: Chaining = Chaining.ALWAYS
    resources: ResourcesPart | None = None
    managed: ManagedPart = ManagedPart()
    colocation: str | None = None


def _without_underscore(name: str) -> str:
    # `from` is a word of Python's, so its field here is `from_`.
    return name.removesuffix("_")


class EdgePart(Part):
    """Data from one operator to another."""

    model_config = Part.model_config | {"alias_generator": _without_underscore}

    from_: str
    to: str
    partition: Partition | None = None
    exchange: Exchange = Exchange.UNDEFINED


class GroupPart(Part):
    """A slot sharing group; one without resources may be its name alone."""

    name: str
    resources: ResourcesPart | None = None


class NetworkPart(Part):
    """What network memory is derived from."""

    buffer_size: Amount = "32Ki"
    buffers_per_channel: int = 2
    floating_buffers: int = 8


class ConsumerWeightsPart(Part):
    """How use cases share a slot; one that is left out keeps its default weight."""

    operator: int = 70
    state_backend: int = 70
    python: int = 30


class JobGraphFile(Part):
    """One document of ``kind: JobGraph``."""

    api_version: Literal["placer/v1"]
    kind: Literal["JobGraph"]
    metadata: MetadataPart = MetadataPart()
    semantics: Semantics = Semantics.FLIP_53
    mode: Mode = Mode.STREAMING
    all_sources_in_same_region: bool | None = None
    default_exchange: Exchange = Exchange.PIPELINED
    network: NetworkPart = NetworkPart()
    slot_sharing_groups: tuple[str | GroupPart, ...] = ()
    consumer_weights: ConsumerWeightsPart = ConsumerWeightsPart()
    state_backend_managed: bool = True
    operators: tuple[OperatorPart, ...]
    edges: tuple[EdgePart, ...] = ()
