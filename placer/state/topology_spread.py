"""Topology spread as a Problem has it: domains by number, shapes that ask and that count."""

from collections.abc import Sequence

from placer.counting.account import Account, Side
from placer_models.cluster import Node
from placer_models.problem.tasks import NO_DOMAIN, SpreadTask
from placer_models.spreading import Spreading, spreadings_of


def spread_tasks(
    nodes: Sequence[Node], accounts: Sequence[Account], sides: Sequence[Side]
) -> tuple[SpreadTask, ...]:
    """Return what the shapes ask of domains; ``sides`` has one side per shape."""
    asking = asked_spreadings(sides).items()
    return tuple(_task(s, frozenset(a), nodes, accounts, sides) for s, a in asking)


def asked_spreadings(sides: Sequence[Side]) -> dict[Spreading, set[int]]:
    """Return what is asked of domains, in the order of ``spread_tasks`` -> the shapes that ask."""
    asking: dict[Spreading, set[int]] = {}
    for shape, (spec, namespace) in enumerate(sides):
        for spreading in spreadings_of(spec, namespace):
            asking.setdefault(spreading, set()).add(shape)
    return asking


def _task(
    spreading: Spreading,
    asking: frozenset[int],
    nodes: Sequence[Node],
    accounts: Sequence[Account],
    sides: Sequence[Side],
) -> SpreadTask:
    numbers: dict[str, int] = {}
    domains = []
    here: list[int] = []
    for node, account in zip(nodes, accounts, strict=True):
        name = spreading.domain(node)
        if name is None:
            domains.append(NO_DOMAIN)
            continue
        number = numbers.setdefault(name, len(numbers))
        here += [0] if number == len(here) else []
        tenants = account.tenants
        here[number] += sum(
            1 + tenants.more.get(s, 0) for s in tenants.sides if spreading.means(*s)
        )
        domains.append(number)
    constraint = spreading.constraint
    return SpreadTask(
        asking=asking,
        matches=frozenset(i for i, side in enumerate(sides) if spreading.means(*side)),
        required=constraint.required,
        max_skew=constraint.max_skew,
        domains=tuple(domains),
        here=tuple(here),
        is_short=constraint.required and len(here) < constraint.min_domains,
    )
