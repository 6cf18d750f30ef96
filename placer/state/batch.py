"""The Problem of a batch: an instance in integers."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from math import gcd

from placer.counting.account import Account, accounts_of
from placer.counting.cores import core_distinction_for_pods
from placer.counting.placements import choices_from_placement
from placer.state.affinity import any_waiting_asks_for_others, pod_affinities_of_shapes
from placer.state.in_node_affinity import (
    any_has_in_node_affinity,
    pod_affinity_sides_in_node,
    with_affinity_guests,
)
from placer.state.network import (
    domain_numbers_of_nodes,
    network_levels_asked_by_gangs,
    problem_level_rules_of_gang,
)
from placer.state.node_loads import problem_with_strategy_loads
from placer.state.node_states import StateEncoding, tiers_distinguishing_cores
from placer.state.out_of_time import Stop
from placer.state.problem_cache import ProblemCache
from placer.state.requirements import (
    distinct_pod_requirements,
    fits_with_variants,
    relevant_facts_of,
    shapes_and_fits_of_requirements,
)
from placer.state.sums import FleetLimits, resource_dimensions
from placer_models.cluster import Instance, NodesWithCachedFacts
from placer_models.device import GPU
from placer_models.goals import NUMA_STRATEGY
from placer_models.incremental import PersistentTuple
from placer_models.node_strategy import LOOK_AT_WHAT_IS_LEFT
from placer_models.optional_tiers import tiers_asked_by_instance
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import PodSpec, pods_of_gangs
from placer_models.policy import BINDING, AlignmentScope, GatherLevel
from placer_models.problem.dimensions import SHARED_POOL, Dimension, cell_dimensions
from placer_models.problem.node_state import CoreClassGranularity, NodeState
from placer_models.problem.problem import Choice, Problem
from placer_models.problem.tasks import NO_AFFINITIES, ProblemGang


def build_problem(
    instance: Instance,
    accounts: Sequence[Account] | None = None,
    *,
    each_core: bool = False,
    absolute: bool = False,
    scored: bool = False,
    cache: ProblemCache | None = None,
    stop: Stop | None = None,
) -> Problem:
    """Write the instance as a Problem.

    Args:
        instance: The nodes, the pods that run there and those that wait.
        accounts: As `accounts_of` returns them.
        each_core: Tell cores apart one by one where it matters which pods share them.
        absolute: Count in bytes and other units of 1. They are the same for every batch, so the
            states of nodes stay as they were for the last one. Else count in the largest units.
        scored: Say what is left of each GPU, ascending by minor, whatever the batch asks for.
        cache: What was worked out for earlier Problems; the Problem does not depend on it.
        stop: Asked now and then whether the time is over, if nobody has to have a Problem.

    Raises:
        OutOfTimeError: It was over.

    """
    accounts = PersistentTuple.of(accounts_of(instance) if accounts is None else accounts)
    cache = ProblemCache() if cache is None else cache
    left = cache.sums_of(accounts)
    affine = left.affine or any_waiting_asks_for_others(instance.gangs)
    asks, pods = distinct_pod_requirements(instance, affine=affine)
    specs = [ask.spec for ask in asks]
    levels = network_levels_asked_by_gangs(instance)
    sides = [(ask.spec, ask.namespace) for ask in asks]
    relevant = cache.batch_memo((relevant_facts_of, asks), (), partial(relevant_facts_of, asks))
    kinds, kind_of = cache.kinds_of(instance.nodes, relevant, stop)
    asked = tiers_asked_by_instance(instance)
    core_tiers = tiers_distinguishing_cores(asked, specs)
    if absolute:
        known = _dimensions, asks, frozenset(left.resources)
        plain = partial(_dimensions, specs, left, 1, absolute=True)
        dimensions = cache.batch_memo(known, (), plain)
    else:
        unit = _memory_unit(specs, left, _by_parts(instance, specs), instance.homes)
        dimensions = _dimensions(specs, left, unit, absolute=False)
    shapes, fits, shared, device_types, on_kinds = cache.batch_memo(
        (shapes_and_fits_of_requirements, asks, dimensions),
        kinds,
        partial(shapes_and_fits_of_requirements, asks, kinds, dimensions, cache, stop),
    )
    if scored and GPU in device_types and GPU not in dict(shared):
        shared = tuple(sorted((*shared, (GPU, False))))
    granularity = core_distinction_for_pods(fits, pods)
    if each_core and granularity is CoreClassGranularity.PAIRS:
        granularity = CoreClassGranularity.EACH
    met = (
        pod_affinity_sides_in_node(accounts, sides)
        if left.inside or any_has_in_node_affinity(specs)
        else None
    )
    if met is not None:
        own = [met.of_shapes[i] for i in range(len(shapes))]
        for shape, those in on_kinds.items():
            for one in those:
                own[one] = own[shape]
        shapes = tuple(
            replace(shape, in_node_affinity=one) for shape, one in zip(shapes, own, strict=True)
        )
        granularity = CoreClassGranularity.WHO if met.on_cores else granularity
    priorities = tuple(sorted({gang.priority for gang in instance.gangs}, reverse=True))
    encoding = StateEncoding(
        relevant=relevant,
        dimensions=dimensions,
        core_tiers=core_tiers,
        numa_strategy=NUMA_STRATEGY in asked,
        shared=shared,
        granularity=granularity,
        bound=left.bound or _may_be_bound(instance, specs),
        by_minor=scored,
    )
    states = cache.states_of(instance.nodes, accounts, kinds, kind_of, encoding, stop)
    # The model goes through them again and again.
    nodes: Sequence[NodeState] = states if absolute else tuple(states)
    if met is not None:
        nodes = with_affinity_guests(nodes, instance.nodes, accounts, met, core_tiers, granularity)
    problem = Problem(
        nodes=nodes,
        shapes=shapes,
        pods=pods,
        gangs=_gangs(instance, priorities, levels),
        domains=tuple(domain_numbers_of_nodes(instance, level) for level in levels),
        affinity=(
            pod_affinities_of_shapes(
                NodesWithCachedFacts.of(instance.nodes), cache.running_of(accounts), sides
            )
            if affine
            else NO_AFFINITIES
        ),
        fits=fits,
        priorities=priorities,
        dimensions=dimensions,
        asked=asked,
        core_tiers=core_tiers,
        most=tuple(
            left.most_of((d.rule, d.subject)) // d.unit
            for d in dimensions[len(cell_dimensions(dimensions)) : SHARED_POOL]
        ),
        device_types=device_types,
        granularity=granularity,
        encoding=encoding,
        on_kinds=on_kinds,
        move_budget=instance.move_budget,
    )
    if instance.strategy not in LOOK_AT_WHAT_IS_LEFT:
        problem = problem_with_strategy_loads(
            problem, instance.strategy, specs, kinds, accounts, cache, absolute=absolute
        )
        problem = replace(problem, fits=fits_with_variants(problem.fits, on_kinds))
    if not instance.homes:
        return problem
    return replace(problem, homes=_homes(instance, accounts, problem))


def _dimensions(
    specs: Sequence[PodSpec], left: FleetLimits, unit: int, *, absolute: bool
) -> tuple[Dimension, ...]:
    """Return the dimensions: memory in the unit, pages of each size asked for, resources, pools."""
    sizes = sorted({h.page_bytes for spec in specs for h in spec.requests.hugepages})
    return (
        Dimension("memory", "", unit, per_cell=True),
        *(Dimension("hugepages", str(size), per_cell=True) for size in sizes),
        *resource_dimensions(specs, left, absolute=absolute),
        Dimension("shared-pool"),
        Dimension("be-pool"),
    )


def _may_be_bound(instance: Instance, specs: Iterable[PodSpec]) -> bool:
    """Return whether some pod that waits may be bound to a part of its pool."""
    somewhere = NodesWithCachedFacts.of(instance.nodes).bind_pools
    return any(
        spec.constrained_burst
        or (not spec.qos.owns_cpus and (somewhere or spec.alignment in BINDING))
        for spec in specs
    )


def _homes(
    instance: Instance, accounts: Sequence[Account], problem: Problem
) -> tuple[tuple[int, Choice | None], ...]:
    """Return the pods that may move, by index, each with its place now in counts."""
    here = {node.name for node in instance.nodes}
    index_of = {pod.key: index for index, pod in enumerate(pods_of_gangs(instance.gangs))}
    inside = Placement(
        tuple(h for h in instance.homes if h.node in here and h.key not in instance.gone)
    )
    known = choices_from_placement(instance, accounts, problem, inside)
    return tuple(sorted((i, known.get(i)) for i in (index_of[h.key] for h in instance.homes)))


def _gangs(
    instance: Instance, priorities: tuple[int, ...], levels: tuple[str, ...]
) -> tuple[ProblemGang, ...]:
    group_of = {key: i for i, group in enumerate(instance.groups) for key in group.gangs}
    tasks = []
    first = 0
    for gang in instance.gangs:
        tasks.append(
            ProblemGang(
                pods=tuple(range(first, first + len(gang.pods))),
                minimum=gang.minimum,
                weight=gang.weight,
                level=priorities.index(gang.priority),
                group=group_of.get(gang.key),
                gathered=gang.gather is GatherLevel.NODE,
                levels=problem_level_rules_of_gang(gang, levels),
            )
        )
        first += len(gang.pods)
    return tuple(tasks)


def _by_parts(instance: Instance, specs: Iterable[PodSpec]) -> list[PodSpec]:
    """Return the specs whose containers may each be aligned by themselves on some node."""
    somewhere = NodesWithCachedFacts.of(instance.nodes).align_containers
    return [spec for spec in specs if somewhere or spec.scope is AlignmentScope.CONTAINER]


def _memory_unit(
    specs: Iterable[PodSpec],
    left: FleetLimits,
    by_parts: Iterable[PodSpec],
    homes: Iterable[PodPlacement],
) -> int:
    """Return the largest unit that divides every amount, so that nothing is rounded.

    Args:
        specs: The specs of all pods that wait.
        left: What the nodes have left.
        by_parts: Those specs for which the amounts of each container count, too.
        homes: The homes of running pods that may move.

    """
    amounts = [left.memory_unit, *(spec.requests.memory_bytes for spec in specs)]
    amounts += [c.requests.memory_bytes for spec in by_parts for c in spec.containers]
    amounts += [amount for home in homes for _, amount in home.memory_bytes]
    return gcd(*amounts) or 1
