"""Sums over all nodes of a Problem: what divides their amounts, and the most that any has."""

from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from operator import attrgetter

from placer.counting.account import Account
from placer.counting.node_resources import NO_LIMIT, NODE_RESOURCES, ResourceKey, resources_of_pod
from placer_models.pod import PodSpec
from placer_models.problem.dimensions import Dimension
from placer_models.records import record


@record(frozen=True, slots=True)
class FleetLimits:
    """What follows from the accounts of some nodes, whichever node has which.

    Attributes:
        memory_unit: The largest number that divides what is left on every NUMA node.
        resources: Resource of nodes -> the largest number that divides what is left of it
            on every node, and the most that is left on any.
        bound: Whether pods run there that are bound to a part of their pool.
        affine: Whether pods run there that ask for others.
        inside: Whether pods run there that ask for others inside a node.

    """

    memory_unit: int
    resources: Mapping[ResourceKey, tuple[int, int]]
    bound: bool
    affine: bool
    inside: bool

    def unit_of(self, resource: ResourceKey) -> int:
        """Return what divides all amounts left of a resource; 0: nothing is left of it."""
        return self.resources.get(resource, _NOTHING)[0]

    def most_of(self, resource: ResourceKey) -> int:
        """Return the most that any node has left of a resource."""
        return self.resources.get(resource, _NOTHING)[1]


_NOTHING = (0, 0)

_AFFINE = attrgetter("affine")
_RESOURCES = attrgetter("resources")
_BOUND = attrgetter("pools.bound")
_MEMORY_UNIT = attrgetter("memory.unit")


def fleet_limits_of_accounts(accounts: Sequence[Account]) -> FleetLimits:
    """Return the sums of some nodes."""
    resources = list(filter(None, map(_RESOURCES, accounts)))
    none = [0] * (len(resources) < len(accounts))
    held = {
        key: [*none, *(of.get(key, 0) for of in resources)]
        for key in set[ResourceKey]().union(*resources)
    }
    affine = list(filter(None, map(_AFFINE, accounts)))
    return FleetLimits(
        gcd(*map(_MEMORY_UNIT, accounts)),
        {key: (gcd(*amounts), max(amounts)) for key, amounts in held.items()},
        any(map(_BOUND, accounts)),
        bool(affine),
        any(t.inside for asking in affine for spec, _ in asking for t in spec.affinity),
    )


def merge_fleet_limits(parts: Iterable[FleetLimits]) -> FleetLimits:
    """Return the sums of all nodes, given the sums of parts of them."""
    known = tuple(parts)
    keys = {key for part in known for key in part.resources}
    return FleetLimits(
        gcd(*[part.memory_unit for part in known]),
        {
            key: (
                gcd(*(part.unit_of(key) for part in known)),
                max(part.most_of(key) for part in known),
            )
            for key in keys
        },
        any(map(attrgetter("bound"), known)),
        any(map(attrgetter("affine"), known)),
        any(map(attrgetter("inside"), known)),
    )


def resource_dimensions(
    specs: Iterable[PodSpec], left: FleetLimits, *, absolute: bool
) -> tuple[Dimension, ...]:
    """Return the resources that pods take, ascending; limits that no node has are left out.

    Each is in the largest unit that divides all of its amounts, or in units of 1 if ``absolute``.
    """
    units: dict[ResourceKey, int] = {}
    for spec in specs:
        for key, want in resources_of_pod(spec).items():
            if key in left.resources or NODE_RESOURCES[key[0]].unnamed < NO_LIMIT:
                units[key] = gcd(units.get(key, 0), want)
    return tuple(
        Dimension(*key, (not absolute and gcd(unit, left.unit_of(key))) or 1)
        for key, unit in sorted(units.items())
    )
