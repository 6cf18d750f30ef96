"""Affinity between pods as a Problem has it: by shape, and by node for running pods."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from placer.counting.account import Account, Side
from placer.state.domain_limits import domain_tasks
from placer.state.label_index import LabelIndex, traits_of
from placer_models.cluster import Instance, Node
from placer_models.pod import Gang, pods_of
from placer_models.problem.tasks import NO_DOMAIN, Affinities, AffinityTask, DomainTask
from placer_models.relations import goes_on_asking, looks_at_others


def has_affinity(instance: Instance) -> bool:
    """Return whether any pod, waiting or running, asks for others."""
    return asks_for_others(instance.gangs) or any(
        goes_on_asking(runner.pod.spec) for runner in instance.running
    )


def asks_for_others(gangs: tuple[Gang, ...]) -> bool:
    """Return whether any pod that waits asks for others."""
    specs = {id(pod.spec): pod.spec for pod in pods_of(gangs)}.values()
    return any(map(looks_at_others, specs))


def affinities_of(
    nodes: Sequence[Node], accounts: Sequence[Account], sides: Sequence[Side]
) -> Affinities:
    """Return what the shapes ask of others.

    Args:
        nodes: The nodes, which tell the domains.
        accounts: The account of each node; pods that run there may meet, or break, a term already.
        sides: The side of each shape: what affinity looks at.

    """
    domains = _Domains(nodes)
    tasks = _affinity_tasks(domains, accounts, sides)
    limits = domain_tasks(nodes, accounts, sides)
    barred = _barred_nodes(domains, accounts, sides, tasks, limits)
    return Affinities(tasks, limits, barred)


class _Domains:
    """The domains of nodes, by the keys that are asked for."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Begin with no key asked for."""
        self._nodes = nodes
        self._known: dict[str, tuple[int, ...]] = {}

    def of(self, key: str) -> tuple[int, ...]:
        """Return the number of each node's domain; empty if each node is a domain of its own."""
        if key and key not in self._known:
            numbers: dict[str, int] = {}
            self._known[key] = tuple(
                NO_DOMAIN if name is None else numbers.setdefault(name, len(numbers))
                for name in (node.topology_domain(key) for node in self._nodes)
            )
        return self._known.get(key, ())

    def spread(self, key: str, on_nodes: Mapping[int, int]) -> dict[int, int]:
        """Return node -> sum of the numbers in its domain; nodes without a domain have none."""
        domains = self.of(key)
        if not domains or not on_nodes:
            return dict(on_nodes)
        total: Counter[int] = Counter()
        for node, number in on_nodes.items():
            total[domains[node]] += number
        del total[NO_DOMAIN]
        return {node: total[d] for node, d in enumerate(domains) if total[d]}


def _affinity_tasks(
    domains: _Domains, accounts: Sequence[Account], sides: Sequence[Side]
) -> tuple[AffinityTask, ...]:
    """Return what each shape asks of others."""
    asked = [
        (shape, namespace, term)
        for shape, (spec, namespace) in enumerate(sides)
        for term in spec.affinity
        if not term.inside
    ]
    running = frozenset[Side]().union(*(account.tenants.sides for account in accounts if asked))
    those_running = LabelIndex((side, traits_of(*side)) for side in running)
    those_waiting = index_of(sides)
    tasks = []
    for shape, namespace, term in asked:
        meant = frozenset(those_running.meant(term, namespace))
        here = {
            node: _number(meant, account)
            for node, account in enumerate(accounts if meant else ())
            if not meant.isdisjoint(account.tenants.sides)
        }
        matches = frozenset(those_waiting.meant(term, namespace))
        here = domains.spread(term.topology, here)
        key = domains.of(term.topology)
        tasks.append(
            AffinityTask(shape, matches, term.apart, term.required, term.weight, here, key)
        )
    return tuple(tasks)


def _number(meant: frozenset[Side], account: Account) -> int:
    """Return how many of the pods that run there are meant."""
    found = meant & account.tenants.sides
    beyond = sum(account.tenants.more.get(side, 0) for side in found) if account.tenants.more else 0
    return len(found) + beyond


def _barred_nodes(
    domains: _Domains,
    accounts: Sequence[Account],
    sides: Sequence[Side],
    tasks: Sequence[AffinityTask],
    limits: Sequence[DomainTask],
) -> tuple[frozenset[int], ...]:
    """Return for each shape the nodes that are barred to it.

    Running pods bar a node if the shape keeps away from a pod there, or a pod there from the
    shape. Nodes in no domain are barred, too, if the shape needs one.
    """
    barred: list[set[int]] = [set() for _ in sides]
    for task in tasks:
        if task.apart and task.required:
            barred[task.shape] |= task.here.keys()
        elif task.required:
            barred[task.shape].update(n for n, d in enumerate(task.domains) if d == NO_DOMAIN)
    for limit in limits:
        for shape in limit.asking if limit.required else ():
            barred[shape].update(n for n, d in enumerate(limit.domains) if d == NO_DOMAIN)
    barred_by: dict[Side, tuple[tuple[str, int], ...]] = {}
    waiting = index_of(sides)
    beyond: defaultdict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for node, account in enumerate(accounts):
        for side in account.tenants.affine:
            # Hashing a spec takes longer than all else here.
            found = barred_by.get(side)
            if found is None:
                found = barred_by[side] = tuple(_shapes_barred_by(side, waiting))
            for key, shape in found:
                if key:
                    beyond[key, shape][node] = 1
                else:
                    barred[shape].add(node)
    for (key, shape), nodes in beyond.items():
        barred[shape] |= domains.spread(key, nodes).keys()
    return tuple(map(frozenset, barred))


def _shapes_barred_by(running: Side, waiting: LabelIndex[int]) -> Iterator[tuple[str, int]]:
    """Yield (key of the domain, shape) for shapes that a running pod keeps off; some twice."""
    spec, namespace = running
    for term in spec.affinity:
        if term.apart and term.required and not term.inside:
            yield from ((term.topology, shape) for shape in waiting.meant(term, namespace))


def index_of(sides: Sequence[Side]) -> LabelIndex[int]:
    """Return the shapes that have these sides, by their labels."""
    return LabelIndex((shape, traits_of(*side)) for shape, side in enumerate(sides))
