"""Limits of domains as a Problem has them: domains by number, shapes that ask and that count."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from placer.counting.account import Account, Side
from placer.state.running_sides import RunningPodIndex
from placer_models.cluster import NodesWithCachedFacts
from placer_models.domains import NO_DOMAIN, DomainByNode
from placer_models.incremental import PersistentTuple
from placer_models.problem.tasks import ProblemDomainLimit
from placer_models.relations import DomainLimit, domain_limits_asked_by


def domain_limits_of_shapes(
    nodes: NodesWithCachedFacts, running: RunningPodIndex, sides: Sequence[Side]
) -> tuple[ProblemDomainLimit, ...]:
    """Return what the shapes ask of domains; ``sides`` has one side per shape."""
    return tuple(task for _, task in _limits_and_tasks(nodes, running, sides))


def domain_limit_getter_for_shapes(
    nodes: NodesWithCachedFacts, accounts: Iterable[Account]
) -> Callable[[Sequence[Side]], Iterator[tuple[DomainLimit, ProblemDomainLimit]]]:
    """Return what yields all that shapes of some sides ask of domains."""
    running = RunningPodIndex(PersistentTuple.of(accounts))
    return lambda sides: _limits_and_tasks(nodes, running, sides)


def _limits_and_tasks(
    nodes: NodesWithCachedFacts, running: RunningPodIndex, sides: Sequence[Side]
) -> Iterator[tuple[DomainLimit, ProblemDomainLimit]]:
    asking: defaultdict[tuple[str, DomainLimit], set[int]] = defaultdict(set)
    for shape, side in enumerate(sides):
        for asked in domain_limits_asked_by(*side):
            asking[asked].add(shape)
    for (rule, limit), who in asking.items():
        yield limit, _task(rule, limit, who, nodes, running, sides)


def _task(
    rule: str,
    limit: DomainLimit,
    asking: set[int],
    nodes: NodesWithCachedFacts,
    running: RunningPodIndex,
    sides: Sequence[Side],
) -> ProblemDomainLimit:
    domains = nodes.remembered(
        (rule, limit.looks), lambda: DomainByNode.named(map(limit.domain, nodes))
    )
    here = [0] * domains.number
    for side in running.counted(limit):
        for node, count in running.on_nodes(side).items():
            if (domain := domains[node]) != NO_DOMAIN:
                here[domain] += count
    return ProblemDomainLimit(
        rule=rule,
        asking=frozenset(asking),
        matches=frozenset(i for i, side in enumerate(sides) if limit.means(*side)),
        required=limit.required,
        most=limit.most,
        domains=domains,
        here=tuple(here),
        beyond_fewest=limit.is_beyond_fewest(len(here)),
    )
