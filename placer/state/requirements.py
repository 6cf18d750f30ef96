"""Requirements: what the pods of a batch ask for, each once, and what it means on each kind."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

from placer.counting.node_resources import resources_of_pod
from placer.state.alignment import aligns_by_container, container_fits_of
from placer.state.device_counts import device_share_needs_of_pod
from placer.state.fits import best_pair_minimum_of, fit_of
from placer.state.network import has_domain_at_each_level, network_levels_required_by_gang
from placer.state.node_states import RelevantNodeFactNames
from placer.state.out_of_time import Stop, raise_if_out_of_time
from placer.state.problem_cache import ProblemCache
from placer_models.cluster import Instance, Node
from placer_models.device import GPU
from placer_models.node_rules import label_keys
from placer_models.pod import PodSpec
from placer_models.policy import QosClass, SameTypeDevicesScope
from placer_models.problem.dimensions import (
    SHARED_POOL,
    Dimension,
    amounts_at_milli_per_cpu,
    cell_dimensions,
)
from placer_models.problem.problem import Fit, Shape
from placer_models.variants import variant_index_on

T = TypeVar("T")


class PodRequirements(NamedTuple):
    """What a pod asks for; pods with equal requirements are interchangeable.

    Attributes:
        levels: Levels of the network that a node must have.
        namespace: The namespace of the pod; empty if no affinity looks at it.

    """

    spec: PodSpec
    levels: tuple[str, ...]
    namespace: str


class BatchShapesAndFits(NamedTuple):
    """The requirements of a batch in integers, which do not depend on what is left on the nodes.

    Attributes:
        shapes: The shape of each of them.
        fits: The fit of each on each kind of node.
        shared: The types whose shares are counted, and whether virtual functions are counted too.
        device_types: As in ``Problem``.
        on_kinds: As in ``Problem``.

    """

    shapes: tuple[Shape, ...]
    fits: tuple[tuple[Fit | None, ...], ...]
    shared: tuple[tuple[str, bool], ...]
    device_types: tuple[str, ...]
    on_kinds: Mapping[int, tuple[int, ...]]


def distinct_pod_requirements(
    instance: Instance, *, affine: bool
) -> tuple[tuple[PodRequirements, ...], tuple[int, ...]]:
    """Return what the pods ask for, each once, and the index of each pod's requirements.

    What variants ask for follows; no pod has an index of those.
    """
    requirements: dict[PodRequirements, int] = {}
    pods = tuple(
        requirements.setdefault(
            PodRequirements(pod.spec, levels, pod.namespace if affine else ""), len(requirements)
        )
        for gang in instance.gangs
        for levels in (network_levels_required_by_gang(gang),)
        for pod in gang.pods
    )
    several = [each for each in requirements if each.spec.variants]
    return (
        *requirements,
        *(each._replace(spec=one) for each in several for one in each.spec.resolved),
    ), pods


def _on_kinds(
    requirements: Sequence[PodRequirements], kinds: Sequence[Node]
) -> dict[int, tuple[int, ...]]:
    """Return index of one with variants -> for each kind of nodes the index that counts."""
    several = {i: each.spec for i, each in enumerate(requirements) if each.spec.variants}
    first = len(requirements) - sum(len(spec.variants) for spec in several.values())
    found = {}
    for i, spec in several.items():
        found[i] = tuple(first + variant_index_on(spec, kind) for kind in kinds)
        first += len(spec.variants)
    return found


def fits_with_variants(
    fits: tuple[tuple[Fit | None, ...], ...], on_kinds: Mapping[int, tuple[int, ...]]
) -> tuple[tuple[Fit | None, ...], ...]:
    """Return the fits; one with variants has those of the one that counts on each kind."""
    if not on_kinds:
        return fits
    return tuple(
        tuple(fits[one][kind] for kind, one in enumerate(on_kinds[shape]))
        if shape in on_kinds
        else own
        for shape, own in enumerate(fits)
    )


def _least_of(shapes: Sequence[Shape]) -> Shape:
    """Return what pods take at least that have any of the shapes, which differ in devices alone.

    Of GPUs that is one at most, whose links are worth nothing.
    """
    kinds = sorted({kind for shape in shapes for kind, _ in shape.devices})
    least = {kind: min(shape.whole_of(kind) for shape in shapes) for kind in kinds}
    if GPU in least:
        least[GPU] = min(least[GPU], 1)
    devices = tuple((kind, count) for kind, count in least.items() if count)
    parted = {need.type for shape in shapes for need in shape.shares}
    return replace(
        shapes[0],
        devices=devices,
        shares=(),
        scopes=(),
        best_pair_minimum=0,
        at_least=tuple(sorted({*kinds, *parted})),
    )


def relevant_facts_of(requirements: Sequence[PodRequirements]) -> RelevantNodeFactNames:
    """Return which facts of nodes the pods look at."""
    specs = [each.spec for each in requirements]
    return RelevantNodeFactNames(
        labels=frozenset(key for spec in specs for key in label_keys(spec)),
        extended=frozenset(name for spec in specs for name, _ in spec.requests.extended),
        levels=frozenset(level for each in requirements for level in each.levels),
        names=frozenset(n for s in specs if s.node_affinity for n in s.node_affinity.names),
    )


def shapes_and_fits_of_requirements(
    requirements: Sequence[PodRequirements],
    kinds: tuple[Node, ...],
    dimensions: tuple[Dimension, ...],
    cache: ProblemCache,
    stop: Stop | None = None,
) -> BatchShapesAndFits:
    """Return the requirements in integers.

    Args:
        requirements: What pods ask for, each once.
        kinds: The kinds of nodes, as ``cache`` has them.
        dimensions: The dimensions in which shapes take amounts.
        cache: What was worked out for earlier batches.
        stop: Asked for each of them whether the time is over.

    Raises:
        OutOfTimeError: It was over.

    """
    of_cells = cell_dimensions(dimensions)
    specs = [without_relations(each.spec) for each in requirements]

    def in_time(what: Iterable[T]) -> Iterator[T]:
        for one in what:
            raise_if_out_of_time(stop)
            yield one

    shapes = tuple(
        cache.memo((_shape, spec, dimensions), kinds, partial(_shape, spec, kinds, dimensions))
        for spec in in_time(specs)
    )
    fits = tuple(
        cache.memo(
            (_fits, spec, each.levels, of_cells),
            kinds,
            partial(_fits, spec, each.levels, kinds, of_cells, cache),
        )
        for spec, each in zip(specs, in_time(requirements), strict=True)
    )
    types = tuple(sorted({device.type for kind in kinds for device in kind.devices}))
    on_kinds = _on_kinds(requirements, kinds)
    shared = _shared(shapes, specs)
    # Without nodes there is no kind on which a variant counts.
    several = {i: those for i, those in on_kinds.items() if those}
    least = {i: _least_of([shapes[one] for one in set(those)]) for i, those in several.items()}
    shapes = tuple(least.get(i, shape) for i, shape in enumerate(shapes))
    return BatchShapesAndFits(shapes, fits_with_variants(fits, on_kinds), shared, types, on_kinds)


def without_relations(spec: PodSpec) -> PodSpec:
    """Return the spec without what it says of other pods, and they of it.

    A pod's shape, and what that means on a node, do not depend on it, so that services that
    differ in nothing else are looked at once.
    """
    if not (spec.labels or spec.affinity or spec.spread):
        return spec
    return replace(spec, labels=(), affinity=(), spread=())


def _fits(
    spec: PodSpec,
    levels: tuple[str, ...],
    kinds: tuple[Node, ...],
    of_cells: tuple[Dimension, ...],
    cache: ProblemCache,
) -> tuple[Fit | None, ...]:
    """Return the fit of pods on each kind of node."""
    fits: list[Fit | None] = []
    bare_kinds = cache.memo("without homes", kinds, lambda: tuple(map(cache.without_homes, kinds)))
    for whole, bare in zip(kinds, bare_kinds, strict=True):
        if not has_domain_at_each_level(whole, levels):
            fits.append(None)
            continue
        # Homes split device classes. Only devices side by side and containers look at these.
        each = aligns_by_container(spec, whole)
        kind = whole if spec.joint or each else bare
        found = cache.memo((fit_of, spec), (kind,), partial(fit_of, spec, kind))
        fit = found if isinstance(found, Fit) else None
        if fit is not None and each:
            containers = container_fits_of(spec, kind, of_cells)
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
    of_cells = cell_dimensions(dimensions)
    best_effort, exclusive = qos is QosClass.BE, qos is QosClass.LSE
    owned_cpus = requests.cpu_milli // 1000 if qos.owns_cpus else 0
    milli = 1000 * owned_cpus if qos.owns_cpus else requests.cpu_milli
    wanted = resources_of_pod(spec)
    amounts = (
        *(each.asked_by(requests) for each in of_cells),
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
        most_amounts=amounts_at_milli_per_cpu(amounts, owned_cpus, most_per_cpu),
        of_cells=len(of_cells),
        devices=tuple(
            (d.type, d.count)
            for d in requests.devices
            if d.count and not d.share and d.type not in dict(spec.strategies)
        ),
        best_pair_minimum=best_pair_minimum_of(spec, nodes),
        scopes=_scopes(spec),
        shares=device_share_needs_of_pod(spec, nodes),
        burst_cpus=spec.burst_cpus,
    )


def _scopes(spec: PodSpec) -> tuple[tuple[str, SameTypeDevicesScope], ...]:
    """Return the scopes that constrain anything: those for two devices of a type or more."""
    return tuple(
        (kind, scope)
        for kind, scope in spec.scopes
        if scope is not SameTypeDevicesScope.NODE and spec.requests.count_of(kind) > 1
    )
