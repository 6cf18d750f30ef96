"""The question of a plan: what is there, what is asked for, and what can be bought."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil

from placer_models.cluster import Instance, Node
from placer_models.pod import Gang
from placer_models.typed import check_types


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """Nodes that can be bought, as many as needed.

    Attributes:
        node: What such a node is; its name is the offer's.
        price: What one node costs; above 0.
        most: The most nodes that there are; None: any number.
        pack: Nodes are bought in multiples of this.

    """

    node: Node
    price: Decimal
    most: int | None = None
    pack: int = 1

    def __post_init__(self) -> None:
        check_types(self)

    @property
    def name(self) -> str:
        """The offer's name."""
        return self.node.name


@dataclass(frozen=True, slots=True)
class PlanScenario:
    """A demand that may come: how many times what is asked for.

    Attributes:
        scale: How many times as much of everything.
        scales: (namespace, name of a series, how many times as much of it) instead.

    """

    name: str
    scale: Fraction = Fraction(1)
    scales: tuple[tuple[str, str, Fraction], ...] = ()


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """All that a plan is made from.

    Attributes:
        instance: The nodes that are there, what runs on them, and the demand.
        offers: What can be bought; names are unique, and no node has one.
        scenarios: One or more; what is bought has to do for each.
        currency: What prices are in, as people call it.

    """

    instance: Instance
    offers: tuple[NodeOffer, ...]
    scenarios: tuple[PlanScenario, ...] = (PlanScenario("as asked"),)
    currency: str = ""
    name: str = ""

    @property
    def decimals(self) -> int:
        """How many digits after the point prices have."""
        exponents = (offer.price.normalize().as_tuple().exponent for offer in self.offers)
        return max((-e for e in exponents if isinstance(e, int) and e < 0), default=0)

    def in_units(self, price: Decimal) -> int:
        """Return a price as a whole number of the smallest unit that prices have."""
        return int(price.scaleb(self.decimals))

    def in_currency(self, units: int) -> Decimal:
        """Return a whole number of the smallest unit as a price."""
        return Decimal(units).scaleb(-self.decimals)


@dataclass(frozen=True, slots=True)
class Series:
    """Gangs of the demand that differ in their names alone; they are scaled together."""

    gangs: tuple[Gang, ...]

    def named(self, namespace: str, name: str) -> bool:
        """Return whether some of its gangs have the name, or the name and a number."""
        return any(
            gang.namespace == namespace and name in (gang.name, stem_of(gang.name))
            for gang in self.gangs
        )


def stem_of(name: str) -> str:
    """Return the name without the number that a replica ends with."""
    stem, dash, number = name.rpartition("-")
    return stem if dash and number.isdigit() else name


def series_of(gangs: Sequence[Gang]) -> tuple[Series, ...]:
    """Return the series of a demand, in the order of their first gangs."""
    found: dict[object, list[Gang]] = {}
    for gang in gangs:
        specs = tuple(pod.spec for pod in gang.pods)
        key = (
            gang.namespace,
            stem_of(gang.name),
            gang.minimum,
            gang.priority,
            gang.weight,
            gang.gather,
            gang.lone,
            gang.levels,
            specs,
        )
        found.setdefault(key, []).append(gang)
    return tuple(Series(tuple(gangs)) for gangs in found.values())


def scaled_count(series: Series, scenario: PlanScenario) -> int:
    """Return how many gangs of a series a scenario asks for, rounded up."""
    scale = scenario.scale
    for namespace, name, own in scenario.scales:
        if series.named(namespace, name):
            scale = own
    return ceil(len(series.gangs) * scale)


def demand_in(question: PlanQuestion, scenario: PlanScenario) -> tuple[Gang, ...]:
    """Return the gangs that a scenario asks for; further ones get names of their own."""
    taken = {pod.key for gang in question.instance.gangs for pod in gang.pods}
    taken |= {gang.key for gang in question.instance.gangs}
    taken |= {running.pod.key for running in question.instance.running}
    return tuple(
        gang
        for series in series_of(question.instance.gangs)
        for gang in _scaled(series, scaled_count(series, scenario), taken)
    )


def _scaled(series: Series, count: int, taken: set[tuple[str, str]]) -> Iterator[Gang]:
    yield from series.gangs[:count]
    number = 0
    for index in range(len(series.gangs), count):
        like = series.gangs[index % len(series.gangs)]
        while True:
            number += 1
            copied = _renamed(like, f"more-{number}")
            keys = {copied.key, *(pod.key for pod in copied.pods)}
            if keys.isdisjoint(taken):
                break
        taken |= keys
        yield copied


def _renamed(gang: Gang, ending: str) -> Gang:
    pods = tuple(replace(pod, name=f"{pod.name}-{ending}", uid="") for pod in gang.pods)
    name = pods[0].name if gang.lone else f"{gang.name}-{ending}"
    return replace(gang, name=name, pods=pods)
