"""The Problem of a batch: an instance in integers."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from math import gcd
from typing import NamedTuple

from placer.counting.account import Account, accounts_of
from placer.counting.cores import granularity_of
from placer.counting.memory import asked_of
from placer.counting.placements import recount
from placer.counting.resources import wanted_by
from placer.state.affinity import affinities_of, asks_for_others
from placer.state.alignment import by_container, containers_fit
from placer.state.applied import share_needs
from placer.state.fits import best_pair_minimum_of, fit_of
from placer.state.in_node_affinity import ask_inside, sides_of, with_sides
from placer.state.kept import Kept
from placer.state.network import (
    asked_levels,
    domains_of,
    has_levels,
    level_tasks,
    required_levels,
)
from placer.state.node_loads import with_loads
from placer.state.node_states import LookedAt, Terms, tiers_of_cores
from placer.state.sums import Sums, resources_of
from placer_models.cluster import Instance, Node, Nodes
from placer_models.core_granularity import CoreGranularity
from placer_models.dimensions import SHARED_POOL, Dimension, amounts_at, in_cells
from placer_models.goals import NUMA_STRATEGY
from placer_models.incremental import PersistentTuple
from placer_models.node_rules import label_keys
from placer_models.node_state import NodeState
from placer_models.node_strategy import NodeStrategy
from placer_models.optional_tiers import optional_tiers
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import PodSpec, pods_of
from placer_models.policy import (
    BINDING,
    AlignmentScope,
    BindPolicy,
    DeviceScope,
    ExclusivePolicy,
    GatherLevel,
    QosClass,
)
from placer_models.problem import Choice, Fit, Problem, Shape
from placer_models.reasons import Blocker
from placer_models.tasks import NO_AFFINITIES, GangTask, InNodeAffinity


def build_problem(
    instance: Instance,
    accounts: Sequence[Account] | None = None,
    *,
    each_core: bool = False,
    absolute: bool = False,
    kept: Kept | None = None,
) -> Problem:
    """Write the instance as a Problem.

    Args:
        instance: The nodes, what runs there and what waits.
        accounts: As `accounts_of` returns them.
        each_core: Tell cores apart one by one where it matters who shares them.
        absolute: Count in bytes and in plain units, which are the same for every batch, so that
            what nodes have left is as it was for the last one; else in the largest units.
        kept: What was worked out for earlier Problems; the Problem does not depend on it.

    """
    accounts = PersistentTuple.of(accounts_of(instance) if accounts is None else accounts)
    kept = Kept() if kept is None else kept
    left = kept.sums_of(accounts)
    affine = left.affine or asks_for_others(instance.gangs)
    asks, pods = _asks_of(instance, affine=affine)
    specs = [ask.spec for ask in asks]
    levels = asked_levels(instance)
    sides = [(ask.spec, ask.namespace) for ask in asks]
    looked_at = _looked_at_by(asks)
    kinds, kind_of = kept.kinds_of(instance.nodes, looked_at)
    asked = optional_tiers(instance)
    core_tiers = tiers_of_cores(asked, specs)
    unit = 1
    if not absolute:
        unit = _memory_unit(specs, left, _by_parts(instance, specs), instance.homes)
    resources = resources_of(specs, left, absolute=absolute)
    of_cells = _dimensions_of_cells(specs, unit)
    dimensions = (*of_cells, *resources, Dimension("shared-pool"), Dimension("be-pool"))
    shapes = tuple(
        kept.once((_shape, spec, dimensions), kinds, partial(_shape, spec, kinds, dimensions))
        for spec in specs
    )
    granularity = granularity_of(shapes, pods)
    if each_core and granularity is CoreGranularity.PAIRS:
        granularity = CoreGranularity.EACH
    met = sides_of(accounts, sides) if left.inside or ask_inside(specs) else None
    if met is not None:
        shapes = tuple(map(_with_in_node_affinity, shapes, met.of_shapes))
        granularity = CoreGranularity.WHO if met.on_cores else granularity
    priorities = tuple(sorted({gang.priority for gang in instance.gangs}, reverse=True))
    terms = Terms(
        looked_at=looked_at,
        dimensions=dimensions,
        core_tiers=core_tiers,
        numa_strategy=NUMA_STRATEGY in asked,
        shared=_shared(shapes, specs),
        granularity=granularity,
        bound=left.bound or _may_be_bound(instance, specs),
    )
    states = kept.states_of(instance.nodes, accounts, kinds, kind_of, terms)
    # The model goes through them again and again.
    nodes: Sequence[NodeState] = states if absolute else tuple(states)
    if met is not None:
        nodes = with_sides(nodes, instance.nodes, accounts, met, core_tiers, granularity)
    problem = Problem(
        nodes=nodes,
        shapes=shapes,
        pods=pods,
        gangs=_gangs(instance, priorities, levels),
        domains=tuple(domains_of(instance, level) for level in levels),
        affinity=affinities_of(instance.nodes, accounts, sides) if affine else NO_AFFINITIES,
        fits=tuple(
            kept.once(
                (_fits, ask.spec, ask.levels, of_cells),
                kinds,
                partial(_fits, ask, kinds, of_cells, kept),
            )
            for ask in asks
        ),
        priorities=priorities,
        dimensions=dimensions,
        asked=asked,
        core_tiers=core_tiers,
        most=tuple(left.most_of((d.rule, d.subject)) // d.unit for d in resources),
        device_types=kept.once(_device_types, kinds, partial(_device_types, kinds)),
        granularity=granularity,
        terms=terms,
        move_budget=instance.move_budget,
    )
    if instance.strategy is not NodeStrategy.USABLE:
        problem = with_loads(problem, instance, specs, kinds)
    if not instance.homes:
        return problem
    return replace(problem, homes=_homes(instance, accounts, problem))


def _asks_of(instance: Instance, *, affine: bool) -> tuple[tuple["_Ask", ...], tuple[int, ...]]:
    """Return all that pods ask for, each once, and the index of what each pod does."""
    asks: dict[_Ask, int] = {}
    pods = tuple(
        asks.setdefault(_Ask(pod.spec, levels, pod.namespace if affine else ""), len(asks))
        for gang in instance.gangs
        for levels in (required_levels(gang),)
        for pod in gang.pods
    )
    return tuple(asks), pods


def _looked_at_by(asks: Sequence["_Ask"]) -> LookedAt:
    """Return what pods look at of nodes."""
    specs = [ask.spec for ask in asks]
    return LookedAt(
        labels=frozenset(key for spec in specs for key in label_keys(spec)),
        extended=frozenset(name for spec in specs for name, _ in spec.requests.extended),
        levels=frozenset(level for ask in asks for level in ask.levels),
        names=frozenset(n for s in specs if s.node_affinity for n in s.node_affinity.names),
    )


def _dimensions_of_cells(specs: Iterable[PodSpec], unit: int) -> tuple[Dimension, ...]:
    """Return what cells have so much of: memory in the unit, and pages of each size asked for."""
    sizes = sorted({h.page_bytes for spec in specs for h in spec.requests.hugepages})
    return (
        Dimension("memory", "", unit, per_cell=True),
        *(Dimension("hugepages", str(size), per_cell=True) for size in sizes),
    )


def _may_be_bound(instance: Instance, specs: Iterable[PodSpec]) -> bool:
    """Return whether some pod that waits may be bound to a part of its pool."""
    somewhere = Nodes.of(instance.nodes).bind_pools
    return any(
        spec.constrained_burst
        or (not spec.qos.owns_cpus and (somewhere or spec.alignment in BINDING))
        for spec in specs
    )


def _homes(
    instance: Instance, accounts: Sequence[Account], problem: Problem
) -> tuple[tuple[int, Choice | None], ...]:
    """Return where pods run now that may move, in counts."""
    here = {node.name for node in instance.nodes}
    index_of = {pod.key: index for index, pod in enumerate(pods_of(instance.gangs))}
    inside = Placement(
        tuple(h for h in instance.homes if h.node in here and h.key not in instance.gone)
    )
    known = recount(instance, accounts, problem, inside)
    return tuple(sorted((i, known.get(i)) for i in (index_of[h.key] for h in instance.homes)))


def _device_types(kinds: Iterable[Node]) -> tuple[str, ...]:
    return tuple(sorted({device.type for kind in kinds for device in kind.devices}))


def _with_in_node_affinity(shape: Shape, affinity: InNodeAffinity | None) -> Shape:
    return replace(shape, in_node_affinity=affinity)


def _fits(
    ask: "_Ask", kinds: tuple[Node, ...], of_cells: tuple[Dimension, ...], kept: Kept
) -> tuple[Fit | None, ...]:
    """Return what is asked for on each kind of node."""
    spec = ask.spec
    fits: list[Fit | None] = []
    bare_kinds = kept.once("without homes", kinds, lambda: tuple(map(kept.without_homes, kinds)))
    for whole, bare in zip(kinds, bare_kinds, strict=True):
        if not has_levels(whole, ask.levels):
            fits.append(None)
            continue
        # Homes split classes of devices, which only those side by side and containers look at.
        each = by_container(spec, whole)
        kind = whole if spec.joint or each else bare
        found = kept.once((fit_of, spec), (kind,), partial(fit_of, spec, kind))
        fit = None if isinstance(found, Blocker) else found
        if fit is not None and each:
            containers = containers_fit(spec, kind, of_cells)
            fit = None if containers is None else replace(fit, containers=containers)
        fits.append(fit)
    return tuple(fits)


class _Ask(NamedTuple):
    """What makes pods interchangeable.

    Attributes:
        levels: Levels of the network that a node must have.
        namespace: Empty where no affinity looks at it.

    """

    spec: PodSpec
    levels: tuple[str, ...]
    namespace: str


def _shared(shapes: Iterable[Shape], specs: Iterable[PodSpec]) -> tuple[tuple[str, bool], ...]:
    """Return the types of which shares are counted, and whether virtual functions are too."""
    found = {need.type: False for shape in shapes for need in shape.shares}
    found |= {kind: True for spec in specs for kind, _ in spec.functions if kind in found}
    return tuple(sorted(found.items()))


def _shape(spec: PodSpec, nodes: Sequence[Node], dimensions: Sequence[Dimension]) -> Shape:
    requests = spec.requests
    qos = spec.qos
    whole_only = spec.bind_required and spec.bind is BindPolicy.FULL_PCPUS
    sees_to_it = whole_only and spec.exclusive is ExclusivePolicy.PCPU_LEVEL
    minds = qos.owns_cpus and not sees_to_it
    of_cells = in_cells(dimensions)
    best_effort, exclusive = qos is QosClass.BE, qos is QosClass.LSE
    owned_cpus = requests.cpu_milli // 1000 if qos.owns_cpus else 0
    milli = 1000 * owned_cpus if qos.owns_cpus else requests.cpu_milli
    wanted = wanted_by(spec)
    amounts = (
        *(asked_of(requests, each) for each in of_cells),
        *(wanted.get(d[:2], 0) // d.unit for d in dimensions[len(of_cells) : SHARED_POOL]),
        0 if best_effort else milli,
        milli if best_effort or exclusive else 0,
    )
    most_per_cpu = max((node.milli_per_cpu for node in nodes), default=1000)
    return Shape(
        owned_cpus=owned_cpus,
        exclusive=exclusive,
        shared=qos is QosClass.LS,
        best_effort=best_effort,
        amounts=amounts,
        most_amounts=amounts_at(amounts, owned_cpus, most_per_cpu),
        of_cells=len(of_cells),
        devices=tuple(
            (d.type, d.count)
            for d in requests.devices
            if d.count and not d.share and d.type not in dict(spec.strategies)
        ),
        best_pair_minimum=best_pair_minimum_of(spec, nodes),
        scopes=_scopes(spec),
        shares=share_needs(spec, nodes),
        apart=spec.exclusive if minds else ExclusivePolicy.NONE,
        apart_required=minds and spec.exclusive_required,
        burst_cpus=spec.burst_cpus,
    )


def _scopes(spec: PodSpec) -> tuple[tuple[str, DeviceScope], ...]:
    """Return the scopes that say anything: of devices that come in twos or more."""
    return tuple(
        (kind, scope)
        for kind, scope in spec.scopes
        if scope is not DeviceScope.NODE and spec.requests.count_of(kind) > 1
    )


def _gangs(
    instance: Instance, priorities: tuple[int, ...], levels: tuple[str, ...]
) -> tuple[GangTask, ...]:
    group_of = {key: i for i, group in enumerate(instance.groups) for key in group.gangs}
    tasks = []
    first = 0
    for gang in instance.gangs:
        tasks.append(
            GangTask(
                pods=tuple(range(first, first + len(gang.pods))),
                minimum=gang.minimum,
                weight=gang.weight,
                level=priorities.index(gang.priority),
                group=group_of.get(gang.key),
                gathered=gang.gather is GatherLevel.NODE,
                levels=level_tasks(gang, levels),
            )
        )
        first += len(gang.pods)
    return tuple(tasks)


def _by_parts(instance: Instance, specs: Iterable[PodSpec]) -> list[PodSpec]:
    """Return the specs whose containers may be aligned each for itself on some node."""
    somewhere = Nodes.of(instance.nodes).align_containers
    return [spec for spec in specs if somewhere or spec.scope is AlignmentScope.CONTAINER]


def _memory_unit(
    specs: Iterable[PodSpec],
    left: Sums,
    by_parts: Iterable[PodSpec],
    homes: Iterable[PodPlacement],
) -> int:
    """Return the largest unit that divides every amount, so that nothing is rounded.

    Args:
        specs: All that waits.
        left: What the nodes have left.
        by_parts: Those of which the containers' own amounts count, too.
        homes: Of running pods that may move.

    """
    amounts = [left.memory_unit, *(spec.requests.memory_bytes for spec in specs)]
    amounts += [c.requests.memory_bytes for spec in by_parts for c in spec.containers]
    amounts += [amount for home in homes for _, amount in home.memory_bytes]
    return gcd(*amounts) or 1
