"""Binding resources: what the price of an offer is paid for, and how full its nodes are."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from placer.plan.aggregate import AggregateProgramDuals, AggregateProgramRowKey
from placer.plan.answer import OfferBindingResource, OfferResourceUse
from placer.plan.market import BinDevicesOfOneType, BinKind
from placer.plan.numa_rooms import NUMA_NODES
from placer.plan.relax import QuestionAsPacking
from placer_models.device import GPU
from placer_models.problem.dimensions import Dimension

_WORDS = {
    "memory": "memory",
    "shared-pool": "CPUs",
    "be-pool": "CPUs of BE pods",
    "max-pods": "pods",
}
"""Rules that count one thing, and what people call it."""


def dimension_word(dimension: Dimension) -> str:
    """Return what people call a dimension."""
    if dimension.rule == "hugepages":
        return f"hugepages of {dimension.page_bytes >> 20}Mi"
    return _WORDS.get(dimension.rule) or dimension.subject or dimension.rule


def device_type_word(kind: str) -> str:
    """Return what people call devices of a type."""
    if kind == NUMA_NODES:
        return "room on NUMA nodes"
    return "GPUs" if kind == GPU else f"{kind} devices"


def binding_resource_on_offer(
    relaxed: QuestionAsPacking,
    start: AggregateProgramDuals,
    offer: int,
    name: str,
    count: int,
    items: Counter[int],
) -> OfferBindingResource:
    """Return what binds on the nodes of an offer.

    Args:
        relaxed: The market.
        start: The answer of its aggregate program.
        offer: The index of the offer.
        name: Its name.
        count: How many nodes of it are bought.
        items: How many items of each kind are on them.

    """
    number = relaxed.there + offer
    kind = relaxed.market.kinds[number]
    uses = tuple(_uses(relaxed, kind, count, items))
    rents: defaultdict[str, float] = defaultdict(float)
    for subject, rent in start.rents[number].items():
        rents[_word(relaxed, subject)] += rent
    total = sum(rents.values())
    if total:
        word = max(rents, key=lambda one: rents[one])
        return OfferBindingResource(name, word, 100 * rents[word] / total, uses)
    fullest = max(uses, key=lambda use: use.percent, default=None)
    return OfferBindingResource(name, fullest.resource if fullest else None, 0.0, uses)


def _word(relaxed: QuestionAsPacking, subject: AggregateProgramRowKey) -> str:
    if subject.devices is not None:
        return device_type_word(relaxed.devices[subject.devices])
    return dimension_word(relaxed.resources[subject.number])


def _uses(
    relaxed: QuestionAsPacking, kind: BinKind, count: int, items: Counter[int]
) -> Iterator[OfferResourceUse]:
    for number, dimension in enumerate(relaxed.resources):
        taken = sum(n * size[number] for i, n in items.items() if (size := kind.sizes[i]))
        asked = any(
            size and size[number]
            for k in relaxed.market.kinds
            for item, size in enumerate(k.sizes)
            if item not in relaxed.lost
        )
        if asked and kind.room[number]:
            yield OfferResourceUse(
                dimension_word(dimension), 100 * taken / (count * kind.room[number])
            )
    for word, devices in zip(relaxed.devices, kind.devices, strict=True):
        if devices.rooms:
            total = [sum(column) for column in zip(*devices.rooms, strict=True)]
            parts = [
                _taken(devices, q, items, has / len(devices.rooms)) / (count * has)
                for q, has in enumerate(total)
                if has
            ]
            yield OfferResourceUse(device_type_word(word), 100 * max(parts, default=0.0))


def _taken(devices: BinDevicesOfOneType, quantity: int, items: Counter[int], whole: float) -> float:
    """Return how much of a quantity of devices items take, where a device has ``whole``."""
    return sum(
        number * devices.asks[item].whole * whole
        + number * sum(n * devices.sizes[s][quantity] for s, n in devices.asks[item].shares)
        for item, number in items.items()
    )
