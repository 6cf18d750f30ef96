"""Loads of nodes, and what the batch asks of them, as node strategies see it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from placer.counting.account import Account, Side
from placer.state.problem_cache import ProblemCache
from placer_models.cluster import Node
from placer_models.incremental import PersistentTuple
from placer_models.node_strategy import NodeStrategy, StrategyNodeLoad
from placer_models.pod import PodSpec
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Fit, Problem
from placer_models.resource_classes import (
    resource_class_amounts_taken_by_pod,
    resource_class_request_of_pod,
    resource_class_totals_of_node,
    scored_resource_classes_asked_by_any,
)


def problem_with_strategy_loads(
    problem: Problem,
    strategy: NodeStrategy,
    specs: Sequence[PodSpec],
    kinds: tuple[Node, ...],
    accounts: Sequence[Account],
    cache: ProblemCache,
    *,
    absolute: bool,
) -> Problem:
    """Return the Problem with what a strategy needs that looks at the pods on a node.

    Args:
        problem: The Problem without that.
        strategy: Any but ``usable``.
        specs: The spec of each shape of the Problem.
        kinds: The kinds of nodes, as the cache returns them.
        accounts: What is left on each node, and who runs there.
        cache: Keeps the loads of nodes for the next Problem, as long as nothing changes there.
        absolute: Tell all resource classes that nodes have, so that loads are the same for every
            batch; else only those that the batch asks for.

    """
    totals = tuple(
        cache.memo(
            resource_class_totals_of_node, (kind,), partial(resource_class_totals_of_node, kind)
        )
        for kind in kinds
    )
    if absolute:
        classes = tuple(sorted({name for total in totals for name in total}))
    else:
        classes = scored_resource_classes_asked_by_any(specs)

    def loads(kind: int, tenants: Mapping[Side, int]) -> StrategyNodeLoad:
        used: Counter[str] = Counter()
        count = 0
        for (spec, _), many in tenants.items():
            count += many
            known = (kinds[kind],)
            taken = cache.memo(
                (resource_class_amounts_taken_by_pod, spec),
                known,
                partial(resource_class_amounts_taken_by_pod, spec, totals[kind]),
            )
            for name, amount in taken.items():
                used[name] += many * amount
        return StrategyNodeLoad(
            strategy,
            count,
            tuple(used[name] for name in classes),
            tuple(totals[kind].get(name, 0) for name in classes),
        )

    idle: dict[int, StrategyNodeLoad] = {}

    def loaded(position: int, node: NodeState) -> NodeState:
        tenants = accounts[position].tenants
        if tenants:
            return node.loaded(loads(node.kind, tenants))
        if node.kind not in idle:
            idle[node.kind] = loads(node.kind, tenants)
        return node.loaded(idle[node.kind])

    def asked(fit: Fit | None, spec: PodSpec, kind: int) -> Fit | None:
        return fit and replace(fit, ask=resource_class_request_of_pod(spec, classes, totals[kind]))

    def asks() -> tuple[tuple[Fit | None, ...], ...]:
        return tuple(
            tuple(asked(fit, spec, kind) for kind, fit in enumerate(of_shape))
            for of_shape, spec in zip(problem.fits, specs, strict=True)
        )

    nodes: Sequence[NodeState] = problem.nodes
    if isinstance(nodes, PersistentTuple):
        nodes = cache.viewed((strategy, classes, problem.encoding), kinds, nodes, loaded)
    else:
        nodes = tuple(loaded(at, node) for at, node in enumerate(nodes))
    known = (asks.__qualname__, problem.fits, tuple(specs), classes)
    return replace(problem, nodes=nodes, fits=cache.batch_memo(known, kinds, asks))
