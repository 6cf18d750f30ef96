"""The schemas of simulations and histories: which fields there are, and their types."""

from typing import Annotated, Literal

from placer.queue.advice import MAJORITY_PERMILLE, TARGET_US
from placer.queue.file.amount_text import (
    parse_duration_us,
    parse_factor_milli,
    parse_permille,
    parse_positive_duration_us,
    parse_sigma,
    parse_weight_milli,
)
from placer.queue.model import ONE_MILLI, US_PER_S, FlowChargeTime
from placer_models.files.part import Field, Part, PlacerFileMetadataPart, parsing_validator

MAX_CAPACITY = 10_000
"""Most threads of capacity."""

MAX_THREADS = 200_000
"""Most threads of work of one job, and of a whole simulation."""


def _check_flow(text: str) -> str:
    if not text or not text.isprintable() or len(text) > 100:
        raise ValueError("expected 1 to 100 characters that can be printed")
    return text


FlowName = Annotated[str, parsing_validator(_check_flow)]
"""The name of a job or a group."""

Duration = Annotated[int, parsing_validator(parse_duration_us)]
"""A time in microseconds."""

Length = Annotated[int, parsing_validator(parse_positive_duration_us)]
"""A time in microseconds, above 0."""

Weight = Annotated[int, parsing_validator(parse_weight_milli)]
Factor = Annotated[int, parsing_validator(parse_factor_milli)]
Permille = Annotated[int, parsing_validator(parse_permille)]
Sigma = Annotated[float, parsing_validator(parse_sigma)]

Threads = Annotated[int, Field(ge=1, le=MAX_THREADS)]
CapacityThreads = Annotated[int, Field(ge=1, le=MAX_CAPACITY)]


class QueueThreadCapacityChangePart(Part):
    """A change of capacity: how many threads there are from a time on."""

    at: Length
    threads: Annotated[int, Field(ge=0, le=MAX_CAPACITY)]


class QueueThreadCapacityPart(Part):
    """Threads of capacity that come and go, or that are slow."""

    threads: CapacityThreads
    changes: tuple[QueueThreadCapacityChangePart, ...] = ()
    slow: dict[str, Factor] = Field(default_factory=dict)


class FlowGroupPart(Part):
    """A group of flows; without a parent it stands at the top."""

    name: FlowName
    weight: Weight = ONE_MILLI
    parent: str | None = None


class LognormalUnitLengthPart(Part):
    """A lognormal distribution."""

    median: Length
    sigma: Sigma = 0.5


class UnitLengthDistributionPart(Part):
    """The distribution that lengths are drawn from: exactly one of these."""

    uniform: tuple[Length, ...] | None = None
    exponential: Length | None = None
    lognormal: LognormalUnitLengthPart | None = None


class QueueJobPart(Part):
    """A job; ``length``, ``lengths`` or ``work`` says how long its units of work take."""

    name: FlowName
    group: str | None = None
    weight: Weight = ONE_MILLI
    arrives: Duration = 0
    length: Length | UnitLengthDistributionPart | None = None
    lengths: tuple[Length, ...] = ()
    work: Length | None = None
    units: Threads = 1
    slow: dict[str, Length] = Field(default_factory=dict)
    threads: Threads | None = None
    width: Annotated[int, Field(ge=1, le=MAX_CAPACITY)] = 1
    estimate: Length | Literal["learned"] | None = None
    served: Duration | None = None
    running_on: tuple[int, ...] | None = None


class QueueSimulationFile(Part):
    """One document of ``kind: QueueSimulation``."""

    api_version: Literal["placer/v1"]
    kind: Literal["QueueSimulation"]
    metadata: PlacerFileMetadataPart = PlacerFileMetadataPart()
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    charge: FlowChargeTime = FlowChargeTime.DISPATCH
    guess: Length = 60 * US_PER_S
    bypass_limit: Annotated[int, Field(ge=0, le=1_000_000)] = 8
    hold: Duration = 600 * US_PER_S
    capacity: CapacityThreads | QueueThreadCapacityPart | None = None
    groups: tuple[FlowGroupPart, ...] = ()
    jobs: tuple[QueueJobPart, ...] = ()


class QueueHistoryJobPart(Part):
    """How long the threads of one run of a job took."""

    name: FlowName
    durations: tuple[Duration, ...] = ()
    splittable: bool = True


class QueueHistoryFile(Part):
    """One document of ``kind: QueueHistory``."""

    api_version: Literal["placer/v1"]
    kind: Literal["QueueHistory"]
    metadata: PlacerFileMetadataPart = PlacerFileMetadataPart()
    target: Length = TARGET_US
    majority: Permille = MAJORITY_PERMILLE
    jobs: tuple[QueueHistoryJobPart, ...] = ()
