"""Affinity between pods as a Problem has it: shapes, and nodes where running pods decide."""

from collections.abc import Iterator, Sequence

from placer.counting.account import Account
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance
from placer_models.pod import Gang, PodSpec, pods_of
from placer_models.tasks import Affinities, AffinityTask

Side = tuple[PodSpec, str]
"""The spec of a pod and its namespace: all that affinity looks at."""


def has_affinity(instance: Instance) -> bool:
    """Return whether any pod, waiting or running, asks for others."""
    return asks_for_others(instance.gangs) or any(
        runner.pod.spec.affinity for runner in instance.running
    )


def asks_for_others(gangs: tuple[Gang, ...]) -> bool:
    """Return whether any pod that waits asks for others."""
    specs = {id(pod.spec): pod.spec for pod in pods_of(gangs)}.values()
    return any(spec.affinity for spec in specs)


def affinities_of(accounts: Sequence[Account], sides: Sequence[Side]) -> Affinities:
    """Return what the shapes ask of others; a side for each shape.

    Args:
        accounts: Who runs on each node: there a term may be met, or broken, already.
        sides: What affinity looks at, one a shape.

    """
    tasks = _affinity_tasks(accounts, sides)
    return Affinities(tasks, _barred_nodes(accounts, sides, tasks))


def _affinity_tasks(accounts: Sequence[Account], sides: Sequence[Side]) -> tuple[AffinityTask, ...]:
    """Return what each shape asks of others."""
    asked = [
        (shape, namespace, term)
        for shape, (spec, namespace) in enumerate(sides)
        for term in spec.affinity
        if not term.inside
    ]
    running = frozenset[Side]().union(*(account.tenants.sides for account in accounts if asked))
    tasks = []
    for shape, namespace, term in asked:
        meant = frozenset(other for other in running if _means(namespace, term, other))
        here = {
            node: _number(meant, account)
            for node, account in enumerate(accounts)
            if not meant.isdisjoint(account.tenants.sides)
        }
        matches = frozenset(i for i, other in enumerate(sides) if _means(namespace, term, other))
        tasks.append(AffinityTask(shape, matches, term.apart, term.required, here))
    return tuple(tasks)


def _number(meant: frozenset[Side], account: Account) -> int:
    """Return how many of the pods that run there are meant."""
    found = meant & account.tenants.sides
    beyond = sum(account.tenants.more.get(side, 0) for side in found) if account.tenants.more else 0
    return len(found) + beyond


def _barred_nodes(
    accounts: Sequence[Account], sides: Sequence[Side], tasks: Sequence[AffinityTask]
) -> tuple[frozenset[int], ...]:
    """Return for each shape the nodes that running pods keep it off.

    Either the shape keeps away from a pod there, or a pod there keeps away from it.
    """
    barred: list[set[int]] = [set() for _ in sides]
    for task in tasks:
        if task.apart and task.required:
            barred[task.shape] |= task.here.keys()
    barred_by: dict[Side, tuple[int, ...]] = {}
    for node, account in enumerate(accounts):
        for side in account.tenants.affine:
            # Hashing a spec takes longer than all else here.
            found = barred_by.get(side)
            if found is None:
                found = barred_by[side] = tuple(_shapes_barred_by(side, sides))
            for shape in found:
                barred[shape].add(node)
    return tuple(map(frozenset, barred))


def _shapes_barred_by(running: Side, sides: Sequence[Side]) -> Iterator[int]:
    """Yield the shapes that a running pod keeps off its node; some of them twice."""
    spec, namespace = running
    for term in spec.affinity:
        if term.apart and term.required and not term.inside:
            for shape, other in enumerate(sides):
                if _means(namespace, term, other):
                    yield shape


def lonely_terms(spec: PodSpec) -> Iterator[AffinityTerm]:
    """Yield the required affinities that mean the pod itself: it may be the first."""
    for term in spec.affinity:
        itself = term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
        if term.required and not term.apart and itself:
            yield term


def _means(namespace: str, term: AffinityTerm, other: Side) -> bool:
    spec, where = other
    return where == namespace and term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
