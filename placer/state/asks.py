"""Asks: what the pods of a batch ask for, each once, and what that means on kinds of nodes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

from placer.counting.memory import asked_of
from placer.counting.node_resources import wanted_by
from placer.state.alignment import by_container, containers_fit
from placer.state.device_counts import share_needs
from placer.state.fits import best_pair_minimum_of, fit_of
from placer.state.network import has_levels, required_levels
from placer.state.node_states import RelevantFacts
from placer.state.out_of_time import Stop, go_on
from placer.state.problem_cache import ProblemCache
from placer_models.cluster import Instance, Node
from placer_models.dimensions import SHARED_POOL, Dimension, amounts_at, in_cells
from placer_models.node_rules import label_keys
from placer_models.pod import PodSpec
from placer_models.policy import DeviceScope, QosClass
from placer_models.problem import Fit, Shape
from placer_models.reasons import Blocker

T = TypeVar("T")


class Ask(NamedTuple):
    """What a pod asks for; pods with equal asks are interchangeable.

    Attributes:
        levels: Levels of the network that a node must have.
        namespace: The namespace of the pod; empty if no affinity looks at it.

    """

    spec: PodSpec
    levels: tuple[str, ...]
    namespace: str


class EncodedAsks(NamedTuple):
    """The asks of a batch in integers, which do not depend on what is left on the nodes.

    Attributes:
        shapes: The shape of each ask.
        fits: The fit of each ask on each kind of node.
        shared: The types whose shares are counted, and whether virtual functions are counted too.
        device_types: As in ``Problem``.

    """

    shapes: tuple[Shape, ...]
    fits: tuple[tuple[Fit | None, ...], ...]
    shared: tuple[tuple[str, bool], ...]
    device_types: tuple[str, ...]


def asks_of(instance: Instance, *, affine: bool) -> tuple[tuple[Ask, ...], tuple[int, ...]]:
    """Return all asks of the pods, each once, and the index of each pod's ask."""
    asks: dict[Ask, int] = {}
    pods = tuple(
        asks.setdefault(Ask(pod.spec, levels, pod.namespace if affine else ""), len(asks))
        for gang in instance.gangs
        for levels in (required_levels(gang),)
        for pod in gang.pods
    )
    return tuple(asks), pods


def relevant_facts_of(asks: Sequence[Ask]) -> RelevantFacts:
    """Return which facts of nodes the pods look at."""
    specs = [ask.spec for ask in asks]
    return RelevantFacts(
        labels=frozenset(key for spec in specs for key in label_keys(spec)),
        extended=frozenset(name for spec in specs for name, _ in spec.requests.extended),
        levels=frozenset(level for ask in asks for level in ask.levels),
        names=frozenset(n for s in specs if s.node_affinity for n in s.node_affinity.names),
    )


def encoded(
    asks: Sequence[Ask],
    kinds: tuple[Node, ...],
    dimensions: tuple[Dimension, ...],
    cache: ProblemCache,
    stop: Stop | None = None,
) -> EncodedAsks:
    """Return the asks in integers.

    Args:
        asks: The asks.
        kinds: The kinds of nodes, as ``cache`` has them.
        dimensions: The dimensions in which shapes take amounts.
        cache: What was worked out for earlier batches.
        stop: Asked for each ask whether the time is over.

    Raises:
        OutOfTimeError: It was over.

    """
    of_cells = in_cells(dimensions)
    specs = [ask.spec for ask in asks]

    def in_time(what: Iterable[T]) -> Iterator[T]:
        for one in what:
            go_on(stop)
            yield one

    shapes = tuple(
        cache.memo((_shape, spec, dimensions), kinds, partial(_shape, spec, kinds, dimensions))
        for spec in in_time(specs)
    )
    fits = tuple(
        cache.memo(
            (_fits, ask.spec, ask.levels, of_cells),
            kinds,
            partial(_fits, ask, kinds, of_cells, cache),
        )
        for ask in in_time(asks)
    )
    types = tuple(sorted({device.type for kind in kinds for device in kind.devices}))
    return EncodedAsks(shapes, fits, _shared(shapes, specs), types)


def _fits(
    ask: Ask, kinds: tuple[Node, ...], of_cells: tuple[Dimension, ...], cache: ProblemCache
) -> tuple[Fit | None, ...]:
    """Return the fit of an ask on each kind of node."""
    spec = ask.spec
    fits: list[Fit | None] = []
    bare_kinds = cache.memo("without homes", kinds, lambda: tuple(map(cache.without_homes, kinds)))
    for whole, bare in zip(kinds, bare_kinds, strict=True):
        if not has_levels(whole, ask.levels):
            fits.append(None)
            continue
        # Homes split device classes. Only devices side by side and containers look at these.
        each = by_container(spec, whole)
        kind = whole if spec.joint or each else bare
        found = cache.memo((fit_of, spec), (kind,), partial(fit_of, spec, kind))
        fit = None if isinstance(found, Blocker) else found
        if fit is not None and each:
            containers = containers_fit(spec, kind, of_cells)
            fit = None if containers is None else replace(fit, containers=containers)
        fits.append(fit)
    return tuple(fits)


def _shared(shapes: Iterable[Shape], specs: Iterable[PodSpec]) -> tuple[tuple[str, bool], ...]:
    """Return the types whose shares are counted, and whether virtual functions are counted too."""
    found = {need.type: False for shape in shapes for need in shape.shares}
    found |= {kind: True for spec in specs for kind, _ in spec.functions if kind in found}
    return tuple(sorted(found.items()))


def _shape(spec: PodSpec, nodes: Sequence[Node], dimensions: Sequence[Dimension]) -> Shape:
    requests = spec.requests
    qos = spec.qos
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
        burst_cpus=spec.burst_cpus,
    )


def _scopes(spec: PodSpec) -> tuple[tuple[str, DeviceScope], ...]:
    """Return the scopes that constrain anything: those for two devices of a type or more."""
    return tuple(
        (kind, scope)
        for kind, scope in spec.scopes
        if scope is not DeviceScope.NODE and spec.requests.count_of(kind) > 1
    )
