"""What a Problem says of all nodes together: what divides their amounts, the most of any."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from placer.counting.account import Account


@dataclass(frozen=True, slots=True)
class Sums:
    """What follows from the accounts of some nodes, whichever node has which.

    Attributes:
        memory_unit: The largest number that divides what is left on every NUMA node.
        extended: Extended resource -> the largest number that divides what is left of it
            on every node, and the most that is left on any.
        bound: Pods run there that are bound to a part of their pool.
        affine: Pods run there that ask for others.
        inside: Pods run there that ask for others inside a node.

    """

    memory_unit: int
    extended: Mapping[str, tuple[int, int]]
    bound: bool
    affine: bool
    inside: bool

    def unit_of(self, name: str) -> int:
        """Return what divides all that is left of an extended resource; 0: nothing is."""
        return self.extended.get(name, _NOTHING)[0]

    def most_of(self, name: str) -> int:
        """Return the most that any node has left of an extended resource."""
        return self.extended.get(name, _NOTHING)[1]


_NOTHING = (0, 0)


def sums_of(accounts: Sequence[Account]) -> Sums:
    """Return the sums of some nodes."""
    names = set[str]().union(*(account.extended for account in accounts if account.extended))
    held = {name: [account.extended.get(name, 0) for account in accounts] for name in names}
    affine = [account.tenants.affine for account in accounts if account.tenants.affine]
    return Sums(
        gcd(*[account.memory.unit for account in accounts]),
        {name: (gcd(*amounts), max(amounts)) for name, amounts in held.items()},
        any(account.pools.bound for account in accounts),
        bool(affine),
        any(t.inside for asking in affine for spec, _ in asking for t in spec.affinity),
    )


def joined(parts: Iterable[Sums]) -> Sums:
    """Return the sums of all nodes of which the parts are."""
    known = tuple(parts)
    names = {name for part in known for name in part.extended}
    return Sums(
        gcd(*(part.memory_unit for part in known)),
        {
            name: (
                gcd(*(part.unit_of(name) for part in known)),
                max(part.most_of(name) for part in known),
            )
            for name in names
        },
        any(part.bound for part in known),
        any(part.affine for part in known),
        any(part.inside for part in known),
    )
