"""Limits of domains as a Problem has them: domains by number, shapes that ask and that count."""

from collections.abc import Sequence

from placer.counting.account import Side
from placer.state.running_sides import RunningSides
from placer_models.cluster import Nodes
from placer_models.domains import NO_DOMAIN, NodeDomains
from placer_models.problem.tasks import DomainTask
from placer_models.relations import DomainLimit, domain_limits


def domain_tasks(
    nodes: Nodes, running: RunningSides, sides: Sequence[Side]
) -> tuple[DomainTask, ...]:
    """Return what the shapes ask of domains; ``sides`` has one side per shape."""
    return tuple(
        _task(rule, limit, frozenset(asking), nodes, running, sides)
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
    nodes: Nodes,
    running: RunningSides,
    sides: Sequence[Side],
) -> DomainTask:
    domains = nodes.remembered(
        (rule, limit.looks), lambda: NodeDomains.named(map(limit.domain, nodes))
    )
    here = [0] * domains.number
    for side in running.counted(limit):
        for node, count in running.on_nodes(side).items():
            if (domain := domains[node]) != NO_DOMAIN:
                here[domain] += count
    return DomainTask(
        rule=rule,
        asking=asking,
        matches=frozenset(i for i, side in enumerate(sides) if limit.means(*side)),
        required=limit.required,
        most=limit.most,
        domains=domains,
        here=tuple(here),
        beyond_fewest=limit.is_beyond_fewest(len(here)),
    )
