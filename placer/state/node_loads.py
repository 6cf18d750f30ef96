"""Loads of nodes, and what the batch asks of them, as node strategies see it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from placer_models.cluster import Instance, Node, Nodes
from placer_models.pod import PodSpec
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Fit, Problem
from placer_models.resource_classes import ask_of, classes_of, load_of, totals_of
from placer_models.variants import spec_on


def with_loads(
    problem: Problem, instance: Instance, specs: Sequence[PodSpec], kinds: Sequence[Node]
) -> Problem:
    """Return the Problem with what a strategy needs that looks at the pods on a node.

    Args:
        problem: The Problem without that.
        instance: The nodes, the pods that run there and the strategy.
        specs: The spec of each shape of the Problem.
        kinds: The kinds of nodes.

    """
    classes = classes_of(specs)
    totals = [totals_of(kind) for kind in kinds]
    running: defaultdict[str, list[PodSpec]] = defaultdict(list)
    position, nodes = Nodes.of(instance.nodes).position, instance.nodes
    for runner in instance.running:
        at, spec = position.get(runner.placement.node), runner.pod.spec
        running[runner.placement.node].append(spec if at is None else spec_on(spec, nodes[at]))
    idle = [load_of(instance.strategy, classes, total, ()) for total in totals]

    def loaded(node: NodeState) -> NodeState:
        load = idle[node.kind]
        if here := running.get(node.name):
            load = load_of(instance.strategy, classes, totals[node.kind], here)
        return replace(node, load=load)

    def asked(fit: Fit | None, spec: PodSpec, kind: int) -> Fit | None:
        return fit and replace(fit, ask=ask_of(spec, classes, totals[kind]))

    return replace(
        problem,
        nodes=tuple(map(loaded, problem.nodes)),
        fits=tuple(
            tuple(asked(fit, spec, kind) for kind, fit in enumerate(of_shape))
            for of_shape, spec in zip(problem.fits, specs, strict=True)
        ),
    )
