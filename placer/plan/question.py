"""The question of a plan: what is there, what is asked for, and what can be bought."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil

from placer_models.cluster import Instance, Node
from placer_models.placement import NamespacedName
from placer_models.pod import Gang, without_replica_number
from placer_models.typed import TypeChecked
from placer_models.whatif.change import InstanceChange, waiting_gang_and_pod_keys

SPARE = "-headroom"
"""What names of pods of the headroom end in."""


@dataclass(frozen=True, slots=True)
class NodeOffer(TypeChecked):
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

    @property
    def name(self) -> str:
        """The offer's name."""
        return self.node.name


@dataclass(frozen=True, slots=True)
class PlanScenario:
    """A time that may come: what is asked for then, and how everything else is.

    Attributes:
        scale: How many times as much of everything.
        scales: (namespace, name of a series, how many times as much of it) instead.
        changes: Changes to the instance, which are made before anything is scaled.
        prices: (offer, its price then).
        limits: (offer, the most nodes of it that there are then).

    """

    name: str
    scale: Fraction = Fraction(1)
    scales: tuple[tuple[str, str, Fraction], ...] = ()
    changes: tuple[InstanceChange, ...] = ()
    prices: tuple[tuple[str, Decimal], ...] = ()
    limits: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class FailureTolerance:
    """What may be lost without a pod losing its place for good.

    Attributes:
        domain: A label or a level of the network: whole domains are lost; empty: any one node.
        count: How many domains are lost at once.
        priority: Gangs that wait with less than this need no place then; None: all need one.

    """

    domain: str = ""
    count: int = 1
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """All that a plan is made from.

    Attributes:
        instance: The nodes that are there, what runs on them, and the demand.
        offers: What can be bought; names are unique, and no node has one.
        scenarios: One or more; what is bought has to do for each.
        currency: What prices are in, as people call it.
        survive: What may be lost in each scenario; None: nothing.
        headroom: Gangs that have to have room besides, in each scenario as long as nothing is
            lost; they are never scaled.

    """

    instance: Instance
    offers: tuple[NodeOffer, ...]
    scenarios: tuple[PlanScenario, ...] = (PlanScenario("as asked"),)
    currency: str = ""
    name: str = ""
    survive: FailureTolerance | None = None
    headroom: tuple[Gang, ...] = ()

    @property
    def decimals(self) -> int:
        """How many digits after the point prices have."""
        prices = [offer.price for offer in self.offers]
        prices += [price for scenario in self.scenarios for _, price in scenario.prices]
        exponents = (price.normalize().as_tuple().exponent for price in prices)
        return max((-e for e in exponents if isinstance(e, int) and e < 0), default=0)

    def in_units(self, price: Decimal) -> int:
        """Return a price as a whole number of the smallest unit that prices have."""
        return int(price.scaleb(self.decimals))

    def in_currency(self, units: int) -> Decimal:
        """Return a whole number of the smallest unit as a price."""
        return Decimal(units).scaleb(-self.decimals)


@dataclass(frozen=True, slots=True)
class PlanDemandGangReplicas:
    """Gangs of the demand that differ in their names alone; they are scaled together."""

    gangs: tuple[Gang, ...]

    @property
    def name(self) -> str:
        """The name of its gangs without the number that replicas end with."""
        return without_replica_number(self.gangs[0].name)

    def named(self, namespace: str, name: str) -> bool:
        """Return whether some of its gangs have the name, or the name and a number."""
        return any(
            gang.namespace == namespace and name in (gang.name, without_replica_number(gang.name))
            for gang in self.gangs
        )


def group_gangs_that_are_replicas(gangs: Sequence[Gang]) -> tuple[PlanDemandGangReplicas, ...]:
    """Return the series of a demand, in the order of their first gangs."""
    found: dict[object, list[Gang]] = {}
    for gang in gangs:
        specs = tuple(pod.spec for pod in gang.pods)
        key = (
            gang.namespace,
            without_replica_number(gang.name),
            gang.minimum,
            gang.priority,
            gang.weight,
            gang.gather,
            gang.lone,
            gang.levels,
            specs,
        )
        found.setdefault(key, []).append(gang)
    return tuple(PlanDemandGangReplicas(tuple(gangs)) for gangs in found.values())


def gang_count_in_scenario(series: PlanDemandGangReplicas, scenario: PlanScenario) -> int:
    """Return how many gangs of a series a scenario asks for, rounded up."""
    scale = scenario.scale
    for namespace, name, own in scenario.scales:
        if series.named(namespace, name):
            scale = own
    return ceil(len(series.gangs) * scale)


def question_per_scenario(question: PlanQuestion) -> tuple[PlanQuestion, ...]:
    """Return a question for each scenario, with the prices and limits that offers have in it."""
    return tuple(replace(question, scenarios=(scenario,)) for scenario in question.scenarios)


def question_with_fewest_offered_nodes(question: PlanQuestion) -> PlanQuestion:
    """Return the question with the fewest nodes of each offer that any scenario leaves.

    Raises:
        ValueError: A scenario has prices of its own, so that one mix has no one price.

    """
    for scenario in question.scenarios:
        if scenario.prices and len(question.scenarios) > 1:
            raise ValueError(
                f"scenario {scenario.name!r} has another price of {scenario.prices[0][0]}, and one "
                "mix for all has one price: ask for one mix a scenario (--each)"
            )
    if not any(s.prices or s.limits for s in question.scenarios):
        return question
    offers = tuple(_in_all(offer, question.scenarios) for offer in question.offers)
    return replace(question, offers=offers)


def _in_all(offer: NodeOffer, scenarios: Sequence[PlanScenario]) -> NodeOffer:
    limits = [most for s in scenarios for name, most in s.limits if name == offer.name]
    prices = [price for s in scenarios for name, price in s.prices if name == offer.name]
    if offer.most is not None:
        limits.append(offer.most)
    most = min(limits, default=None)
    return replace(offer, most=most, price=prices[0] if prices else offer.price)


def gangs_of_scenario(instance: Instance, scenario: PlanScenario) -> tuple[Gang, ...]:
    """Return the gangs that a scenario asks for; further ones get names of their own.

    Args:
        instance: The instance with the scenario's changes made.
        scenario: The scenario.

    """
    taken = pod_and_gang_names_in_use(instance)
    return tuple(
        gang
        for series in group_gangs_that_are_replicas(instance.gangs)
        for gang in _scaled(series, gang_count_in_scenario(series, scenario), taken)
    )


def _scaled(
    series: PlanDemandGangReplicas, count: int, taken: set[NamespacedName]
) -> Iterator[Gang]:
    yield from series.gangs[:count]
    more = range(len(series.gangs), count)
    yield from renamed_copies_of_gangs([series.gangs[i % len(series.gangs)] for i in more], taken)


def pod_and_gang_names_in_use(instance: Instance) -> set[NamespacedName]:
    """Return the keys of all gangs that wait, and of all pods."""
    running = (one.pod.key for one in instance.running)
    return {*waiting_gang_and_pod_keys(instance), *running}


def renamed_copies_of_gangs(
    each_like: Iterable[Gang], taken: set[NamespacedName]
) -> Iterator[Gang]:
    """Yield gangs like some, with names of their own: with the first numbers that are not taken.

    Args:
        each_like: The gangs that they are like, one each.
        taken: The keys that are in use; gets theirs.

    """
    number = 0
    for like in each_like:
        while True:
            number += 1
            copied = _renamed_gang(like, f"more-{number}")
            keys = {copied.key, *(pod.key for pod in copied.pods)}
            if keys.isdisjoint(taken):
                break
        taken |= keys
        yield copied


def _renamed_gang(gang: Gang, ending: str) -> Gang:
    """Return a gang like it, whose names end in something."""
    pods = tuple(replace(pod, name=f"{pod.name}-{ending}", uid="") for pod in gang.pods)
    name = pods[0].name if gang.lone else f"{gang.name}-{ending}"
    return replace(gang, name=name, pods=pods)
