"""Affinity between pods as a Problem has it: by shape, and by node for running pods."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from placer.counting.account import Side
from placer.state.domain_limits import domain_limits_of_shapes
from placer.state.label_index import PodLabelIndex, traits_seen_by_affinity_terms
from placer.state.running_sides import RunningPodIndex
from placer_models.cluster import Instance, NodesWithCachedFacts
from placer_models.domains import EACH_NODE, CountInDomainByNode, DomainByNode
from placer_models.pod import Gang, pods_of_gangs
from placer_models.problem.tasks import ProblemAffinities, ProblemAffinityTerm, ProblemDomainLimit
from placer_models.relations import asks_something_of_newcomers, asks_something_of_other_pods


def any_asks_for_others(instance: Instance) -> bool:
    """Return whether any pod, waiting or running, asks for others."""
    return any_waiting_asks_for_others(instance.gangs) or any(
        asks_something_of_newcomers(runner.pod.spec) for runner in instance.running
    )


def any_waiting_asks_for_others(gangs: tuple[Gang, ...]) -> bool:
    """Return whether any pod that waits asks for others."""
    specs = {id(pod.spec): pod.spec for pod in pods_of_gangs(gangs)}.values()
    return any(map(asks_something_of_other_pods, specs))


def pod_affinities_of_shapes(
    nodes: NodesWithCachedFacts, running: RunningPodIndex, sides: Sequence[Side]
) -> ProblemAffinities:
    """Return what the shapes ask of others.

    Args:
        nodes: The nodes, which tell the domains.
        running: Pods that run there may meet, or break, a term already.
        sides: The side of each shape: what affinity looks at.

    """
    waiting = PodLabelIndex(
        (shape, traits_seen_by_affinity_terms(*side)) for shape, side in enumerate(sides)
    )
    tasks = _affinity_tasks(nodes, running, sides, waiting)
    limits = domain_limits_of_shapes(nodes, running, sides)
    barred = _barred_nodes(nodes, running, len(sides), waiting, tasks, limits)
    return ProblemAffinities(tasks, limits, barred)


def _domains(nodes: NodesWithCachedFacts, key: str) -> DomainByNode:
    """Return each node's domain by a key; empty if each node is a domain of its own."""
    if not key:
        return EACH_NODE
    return nodes.remembered(
        (_domains, key), lambda: DomainByNode.named(node.topology_domain(key) for node in nodes)
    )


def _in_domains(domains: DomainByNode, on_nodes: Mapping[int, int]) -> Mapping[int, int]:
    """Return node -> sum of the numbers in its domain; nodes without a domain have none."""
    if not domains:
        return dict(sorted(on_nodes.items()))
    return CountInDomainByNode(domains, on_nodes)


def _affinity_tasks(
    nodes: NodesWithCachedFacts,
    running: RunningPodIndex,
    sides: Sequence[Side],
    waiting: PodLabelIndex[int],
) -> tuple[ProblemAffinityTerm, ...]:
    """Return what each shape asks of others."""
    tasks = []
    for shape, (spec, namespace) in enumerate(sides):
        for term in spec.affinity:
            if term.inside:
                continue
            here = Counter[int]()
            for side in running.meant(term, namespace):
                here.update(running.on_nodes(side))
            domains = _domains(nodes, term.topology)
            tasks.append(
                ProblemAffinityTerm(
                    shape,
                    frozenset(waiting.meant(term, namespace)),
                    term.apart,
                    term.required,
                    term.weight,
                    _in_domains(domains, here),
                    domains,
                )
            )
    return tuple(tasks)


def _barred_nodes(
    nodes: NodesWithCachedFacts,
    running: RunningPodIndex,
    shapes: int,
    waiting: PodLabelIndex[int],
    tasks: Sequence[ProblemAffinityTerm],
    limits: Sequence[ProblemDomainLimit],
) -> tuple[frozenset[int], ...]:
    """Return for each shape the nodes that are barred to it.

    Running pods bar a node if the shape keeps away from a pod there, or a pod there from the
    shape. Nodes in no domain are barred, too, if the shape needs one.
    """
    barred: list[set[int]] = [set() for _ in range(shapes)]
    for task in tasks:
        if task.apart and task.required:
            barred[task.shape] |= task.here.keys()
        elif task.required:
            barred[task.shape] |= task.domains.outside
    for limit in limits:
        for shape in limit.asking if limit.required else ():
            barred[shape] |= limit.domains.outside
    beyond: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for side in running.affine:
        for key, shape in _shapes_barred_by(side, waiting):
            beyond[key, shape] |= running.on_nodes(side).keys()
    for (key, shape), those in beyond.items():
        barred[shape] |= _in_domains(_domains(nodes, key), dict.fromkeys(those, 1)).keys()
    return tuple(map(frozenset, barred))


def _shapes_barred_by(running: Side, waiting: PodLabelIndex[int]) -> Iterator[tuple[str, int]]:
    """Yield (key of the domain, shape) for shapes that a running pod keeps off; some twice."""
    spec, namespace = running
    for term in spec.affinity:
        if term.apart and term.required and not term.inside:
            yield from ((term.topology, shape) for shape in waiting.meant(term, namespace))
