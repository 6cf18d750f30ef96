"""The expected pods in files, read and written (strategy `expected`)."""

from pathlib import Path
from typing import Literal

from placer_models.demand import (
    DEMAND_SEED,
    STREAM_LENGTH,
    STREAMS,
    WHOLE_MILLI,
    ExpectedDemand,
    ExpectedShape,
)
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json, PlacerFileMetadataPart, none_if_default
from placer_models.files.validate import read_only_document
from placer_models.instance.affinity import node_affinity_to_dict, read_node_affinity
from placer_models.instance.demand_schema import ExpectedDemandPart, ExpectedPodPart
from placer_models.instance.requests import parse_cpu_milli, parse_memory_bytes
from placer_models.instance.wish_schema import TolerationPart
from placer_models.node_affinity import NodeAffinity
from placer_models.quantity import format_bytes, format_milli


def read_demand(part: ExpectedDemandPart | None, place: DocumentLocation) -> ExpectedDemand | None:
    """Return the demand of a document; None if it has none, or one with faults, which are noted."""
    if part is None:
        return None
    if not place.at("pods", 0).exists:
        place.at("pods").fault("is empty; give one or more")
    found: dict[ExpectedShape, ExpectedPodPart] = {}
    for i, pod in enumerate(part.pods):
        at = place.at("pods", i)
        milli = at.at("cpu").parsed(parse_cpu_milli, pod.cpu, None)
        memory_bytes = at.at("memory").parsed(parse_memory_bytes, pod.memory, None)
        if milli is None or memory_bytes is None:
            continue
        if not pod.gpus and not milli:
            at.fault("asks for neither CPUs nor GPUs; give one of them")
            continue
        if not pod.gpus and pod.gpu_milli != WHOLE_MILLI:
            at.at("gpuMilli").fault("is of no GPUs; leave it out, or let gpus be 1 or more")
            continue
        affinity = read_node_affinity(pod.node_affinity)
        required = affinity.required if affinity is not None else ()
        shape = ExpectedShape(
            milli,
            pod.gpus,
            pod.gpu_milli if pod.gpus else 0,
            tuple(sorted(pod.node_selector.items())),
            NodeAffinity(required) if required else None,
            tuple(written.toleration for written in pod.tolerations),
            memory_bytes,
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


def expected_demand_to_dict(demand: ExpectedDemand | None) -> Json | None:
    """Return the demand as files write it, or None if there is none."""
    if demand is None or not demand.shapes:
        return None
    prices = demand.prices or [None] * len(demand.shapes)
    return ExpectedDemandPart.written(
        pods=[
            ExpectedPodPart.written(
                count=count,
                cpu=none_if_default(format_milli(shape.cpu_milli), "0"),
                memory=none_if_default(format_bytes(shape.memory_bytes), "0"),
                gpus=shape.gpus,
                gpu_milli=none_if_default(shape.gpu_milli or WHOLE_MILLI, WHOLE_MILLI),
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
        streams=none_if_default(demand.streams, STREAMS),
        length=none_if_default(demand.length, STREAM_LENGTH),
        seed=none_if_default(demand.seed, DEMAND_SEED),
    )


class DemandFile(ExpectedDemandPart):
    """The pods that are expected, in a file of their own."""

    api_version: Literal["placer/v1"]
    kind: Literal["Demand"]
    metadata: PlacerFileMetadataPart = PlacerFileMetadataPart()


def load_demand(path: Path) -> ExpectedDemand:
    """Return the demand of a file; ``-`` is standard input.

    Raises:
        InputError: Something is wrong; all faults are told of.

    """
    part, place = read_only_document(path, DemandFile)
    demand = read_demand(part, place)
    place.faults.raise_first()
    assert demand is not None  # What has none has faults.
    return demand
