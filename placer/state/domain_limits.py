"""Limits of domains as a Problem has them: domains by number, shapes that ask and that count."""

from collections.abc import Sequence

from placer.counting.account import Account, Side
from placer_models.cluster import Node
from placer_models.problem.tasks import NO_DOMAIN, DomainTask
from placer_models.relations import DomainLimit, domain_limits


def domain_tasks(
    nodes: Sequence[Node], accounts: Sequence[Account], sides: Sequence[Side]
) -> tuple[DomainTask, ...]:
    """Return what the shapes ask of domains; ``sides`` has one side per shape."""
    return tuple(
        _task(rule, limit, frozenset(asking), nodes, accounts, sides)
        for (rule, limit), asking in asked_limits(sides).items()
    )


def asked_limits(sides: Sequence[Side]) -> dict[tuple[str, DomainLimit], set[int]]:
    """Return (rule, what it asks), in the order of ``domain_tasks`` -> the shapes that ask."""
    asking: dict[tuple[str, DomainLimit], set[int]] = {}
    for shape, side in enumerate(sides):
        for asked in domain_limits(*side):
            asking.setdefault(asked, set()).add(shape)
    return asking


def _task(
    rule: str,
    limit: DomainLimit,
    asking: frozenset[int],
    nodes: Sequence[Node],
    accounts: Sequence[Account],
    sides: Sequence[Side],
) -> DomainTask:
    numbers: dict[str, int] = {}
    domains = []
    here: list[int] = []
    for node, account in zip(nodes, accounts, strict=True):
        name = limit.domain(node)
        if name is None:
            domains.append(NO_DOMAIN)
            continue
        number = numbers.setdefault(name, len(numbers))
        here += [0] if number == len(here) else []
        tenants = account.tenants
        here[number] += sum(1 + tenants.more.get(s, 0) for s in tenants.sides if limit.means(*s))
        domains.append(number)
    return DomainTask(
        rule=rule,
        asking=asking,
        matches=frozenset(i for i, side in enumerate(sides) if limit.means(*side)),
        required=limit.required,
        most=limit.most,
        domains=tuple(domains),
        here=tuple(here),
        beyond_fewest=limit.is_beyond_fewest(len(here)),
    )
