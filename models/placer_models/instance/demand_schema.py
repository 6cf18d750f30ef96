"""The schema of the expected pods in a file: which fields there are, and their types."""

from pydantic import Field

from placer_models.demand import (
    DEMAND_SEED,
    MOST_LENGTH,
    MOST_STREAMS,
    STREAM_LENGTH,
    STREAMS,
    WHOLE_MILLI,
)
from placer_models.device_request import MAX_DEVICES
from placer_models.files.part import Amount, Part
from placer_models.instance.fields import Count
from placer_models.instance.wish_schema import NodeAffinityPart, TolerationPart

MOST_PRICE = 10**12
"""The highest price in files, in millionths of a GPU."""


class ExpectedPodPart(Part):
    """Expected pods that ask for the same."""

    count: Count = Field(1, description="How many there are, compared with the others.")
    cpu: Amount = Field("0", description="CPUs of each: 2, 500m.")
    memory: Amount = Field("0", description="Memory of each: 4Gi; 0: it is not looked at.")
    gpus: int = Field(
        1, ge=0, le=MAX_DEVICES, description="From how many GPUs each has something; 0: from none."
    )
    gpu_milli: int = Field(
        WHOLE_MILLI, ge=1, le=WHOLE_MILLI, description="Thousandths of each of them."
    )
    node_selector: dict[str, str] = Field(default_factory=dict)
    node_affinity: NodeAffinityPart | None = None
    tolerations: tuple[TolerationPart, ...] = ()
    price: int | None = Field(
        None,
        ge=0,
        le=MOST_PRICE,
        description="What one more place for such a pod is worth, in millionths of a GPU.",
    )


class ExpectedDemandPart(Part):
    """The pods that are expected, for which strategy expected keeps room."""

    pods: tuple[ExpectedPodPart, ...] = Field(json_schema_extra={"minItems": 1})
    streams: int = Field(STREAMS, ge=1, le=MOST_STREAMS, description="Streams that are drawn.")
    length: int = Field(STREAM_LENGTH, ge=1, le=MOST_LENGTH, description="Pods of each stream.")
    seed: int = Field(DEMAND_SEED, ge=0, lt=2**64, description="Of the draws.")
