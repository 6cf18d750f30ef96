"""The extended resources of a Problem: which there are, and in what units."""

from collections.abc import Iterable, Mapping
from math import gcd

from placer.state.sums import Sums
from placer_models.pod import PodSpec

Units = Mapping[str, int]
"""Extended resource -> the amount that its unit stands for, ascending by name."""


def extended_units(specs: Iterable[PodSpec], left: Sums) -> Units:
    """Return the resources that the specs ask for; a unit divides all amounts of its own."""
    asked: dict[str, int] = {}
    for spec in specs:
        for name, amount in spec.requests.extended:
            asked[name] = gcd(asked.get(name, 0), amount)
    return {name: gcd(unit, left.unit_of(name)) or 1 for name, unit in sorted(asked.items())}


def in_units(amounts: Mapping[str, int], units: Units) -> tuple[int, ...]:
    """Return the amounts of the resources that have a unit; pods may have overfilled a node."""
    return tuple(max(0, amounts.get(name, 0)) // unit for name, unit in units.items())
