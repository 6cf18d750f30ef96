"""The expected pods in files, read and written (strategy `expected`)."""

from pydantic import Field

from placer_models.demand import (
    DEMAND_SEED,
    MOST_LENGTH,
    MOST_STREAMS,
    STREAM_LENGTH,
    STREAMS,
    WHOLE_MILLI,
    ExpectedDemand,
    ExpectedShape,
)
from placer_models.files.faults import Place
from placer_models.files.part import Amount, Json, Part, unless
from placer_models.instance.fields import Count, DeviceCount
from placer_models.instance.node_affinity import node_affinity_to_dict, read_node_affinity
from placer_models.instance.wish_schema import NodeAffinityPart, TolerationPart
from placer_models.node_affinity import NodeAffinity
from placer_models.quantity import parse_milli

MOST_PRICE = 10**12
"""The highest price in files, in millionths of a GPU."""


class ExpectedPodPart(Part):
    """Expected pods that ask for the same."""

    count: Count = Field(1, description="How many there are, compared with the others.")
    cpu: Amount = Field("0", description="CPUs of each: 2, 500m.")
    gpus: DeviceCount = Field(1, description="From how many GPUs each has something.")
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

    pods: tuple[ExpectedPodPart, ...] = Field(min_length=1)
    streams: int = Field(STREAMS, ge=1, le=MOST_STREAMS, description="Streams that are drawn.")
    length: int = Field(STREAM_LENGTH, ge=1, le=MOST_LENGTH, description="Pods of each stream.")
    seed: int = Field(DEMAND_SEED, ge=0, lt=2**64, description="Of the draws.")


def read_demand(part: ExpectedDemandPart | None, place: Place) -> ExpectedDemand | None:
    """Return the demand of a document; None if it has none, or one with faults, which are noted."""
    if part is None:
        return None
    found: dict[ExpectedShape, ExpectedPodPart] = {}
    for i, pod in enumerate(part.pods):
        at = place.at("pods", i)
        try:
            milli = parse_milli(pod.cpu)
        except ValueError as error:
            at.at("cpu").fault(str(error))
            continue
        affinity = read_node_affinity(pod.node_affinity)
        required = affinity.required if affinity is not None else ()
        shape = ExpectedShape(
            milli,
            pod.gpus,
            pod.gpu_milli,
            tuple(sorted(pod.node_selector.items())),
            NodeAffinity(required) if required else None,
            tuple(written.toleration for written in pod.tolerations),
        )
        if shape in found:
            at.fault("asks for the same as pods before it; add their counts up")
        found[shape] = pod
    shapes = sorted(found, key=lambda shape: shape.order)
    prices = [found[shape].price for shape in shapes]
    known = [price for price in prices if price is not None]
    if known and len(known) < len(prices):
        place.fault("some pods have a price and some have none; give all of them one, or none")
        return None
    return ExpectedDemand(
        tuple(shapes),
        tuple(found[shape].count for shape in shapes),
        tuple(known) if known else None,
        part.streams,
        part.length,
        part.seed,
    )


def demand_to_dict(demand: ExpectedDemand | None) -> Json | None:
    """Return the demand as files write it, or None if there is none."""
    if demand is None or not demand.shapes:
        return None
    prices = demand.prices or [None] * len(demand.shapes)
    return ExpectedDemandPart.written(
        pods=[
            ExpectedPodPart.written(
                count=count,
                cpu=unless(_cpus(shape.cpu_milli), "0"),
                gpus=shape.gpus,
                gpu_milli=unless(shape.gpu_milli, WHOLE_MILLI),
                node_selector=dict(shape.node_selector),
                node_affinity=node_affinity_to_dict(shape.node_affinity),
                tolerations=[
                    TolerationPart.written(
                        key=one.key, operator=one.operator, value=one.value, effect=one.effect
                    )
                    for one in shape.tolerations
                ],
                price=price,
            )
            for shape, count, price in zip(demand.shapes, demand.counts, prices, strict=True)
        ],
        streams=unless(demand.streams, STREAMS),
        length=unless(demand.length, STREAM_LENGTH),
        seed=unless(demand.seed, DEMAND_SEED),
    )


def _cpus(milli: int) -> str:
    return f"{milli}m" if milli % 1000 else str(milli // 1000)
