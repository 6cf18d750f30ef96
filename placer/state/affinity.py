"""Affinity between pods as a Problem has it: shapes, and nodes where running pods decide."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

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


def affinities_of(instance: Instance, sides: Sequence[Side]) -> Affinities:
    """Return what the shapes ask of others; a side for each shape."""
    tasks = _affinity_tasks(instance, sides)
    return Affinities(tasks, _barred_nodes(instance, sides, tasks))


def _affinity_tasks(instance: Instance, sides: Sequence[Side]) -> tuple[AffinityTask, ...]:
    """Return what each shape asks of others.

    Args:
        instance: Its running pods say where a term is met, or broken, already.
        sides: What affinity looks at, one a shape.

    """
    running = _running_sides(instance)
    tasks = []
    for shape, (spec, namespace) in enumerate(sides):
        for term in spec.affinity:
            if term.inside:
                continue
            here = frozenset(
                node
                for node, tenants in running.items()
                if any(_means(namespace, term, other) for other in tenants)
            )
            matches = frozenset(
                i for i, other in enumerate(sides) if _means(namespace, term, other)
            )
            tasks.append(AffinityTask(shape, matches, term.apart, term.required, here))
    return tuple(tasks)


def _barred_nodes(
    instance: Instance, sides: Sequence[Side], tasks: Sequence[AffinityTask]
) -> tuple[frozenset[int], ...]:
    """Return for each shape the nodes that running pods keep it off.

    Either the shape keeps away from a pod there, or a pod there keeps away from it.
    """
    barred: list[set[int]] = [set() for _ in sides]
    for task in tasks:
        if task.apart and task.required:
            barred[task.shape] |= task.here
    for node, tenants in _running_sides(instance).items():
        for spec, namespace in tenants:
            for term in spec.affinity:
                if term.apart and term.required and not term.inside:
                    for shape, other in enumerate(sides):
                        if _means(namespace, term, other):
                            barred[shape].add(node)
    return tuple(map(frozenset, barred))


def lonely_terms(spec: PodSpec) -> Iterator[AffinityTerm]:
    """Yield the required affinities that mean the pod itself: it may be the first."""
    for term in spec.affinity:
        itself = term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
        if term.required and not term.apart and itself:
            yield term


def _running_sides(instance: Instance) -> dict[int, set[Side]]:
    index = {node.name: i for i, node in enumerate(instance.nodes)}
    found: defaultdict[int, set[Side]] = defaultdict(set)
    for runner in instance.running:
        found[index[runner.placement.node]].add((runner.pod.spec, runner.pod.namespace))
    return found


def _means(namespace: str, term: AffinityTerm, other: Side) -> bool:
    spec, where = other
    return where == namespace and term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
