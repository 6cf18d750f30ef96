"""What the specs of pods mean on the kinds of nodes: the constants of a Problem."""

from collections import Counter
from collections.abc import Iterable

from placer.state.aligned import aligned, limit_of
from placer.state.applied import lacks_devices, requests_on
from placer.state.binding import Unbindable, binding_of, has_cores_for
from placer.state.boards import device_board
from placer.state.container_fits import by_container, scopes_conflict
from placer.state.default_locality import locality_fit
from placer.state.joint import joint_fit_of
from placer.state.strategies import fewest_cpu_cells
from placer_models.alignment import (
    effective_policy,
    fewest_cells,
    width,
)
from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.links import (
    best_permitted_minimum,
    best_permitted_sum,
    has_set,
)
from placer_models.pod import PodSpec
from placer_models.policy import BINDING, AlignmentPolicy, Locality
from placer_models.problem import Fit


def admits(node: Node, spec: PodSpec) -> bool:
    """Return whether new pods of the spec may go to the node at all."""
    labels = dict(node.labels)
    return not node.cordoned and all(labels.get(k) == v for k, v in spec.node_selector)


def best_pair_minimum_of(spec: PodSpec, nodes: Iterable[Node]) -> int:
    """Return the best slowest pair of the spec's GPUs on any empty node that admits it."""
    gpus = spec.requests.count_of(GPU)
    if gpus < 2:
        return 0
    scope = spec.scope_of(GPU)
    boards = (device_board(node, GPU) for node in nodes if admits(node, spec))
    found = (best_permitted_minimum(board, gpus, scope) for board in boards)
    return max((value for value in found if value is not None), default=0)


def fit_of(spec: PodSpec, node: Node) -> Fit | None:
    """Return what the spec means on the node; None: it can never run there."""
    policy = effective_policy(spec.alignment, node.alignment)
    binding = binding_of(spec, node)
    if policy is None or not admits(node, spec) or _in_parts_of_cpus(spec):
        return None
    if isinstance(binding, Unbindable) or not _has_sets(spec, node) or lacks_devices(spec, node):
        return None
    if scopes_conflict(spec, node):
        return None
    if spec.constrained_burst and policy is not AlignmentPolicy.NONE:
        return None
    if by_container(spec, node):
        if spec.strategies or any(request.share for request in spec.requests.devices):
            return None
        policy = AlignmentPolicy.NONE  # of the pod as a whole
    owns, bound = spec.qos.owns_cpus, policy in BINDING
    needs, cells, real = aligned(requests_on(spec, node), node, by_cpu=owns or bound)
    allocatable = node.machine.topology.online - node.reserved_cpus
    if owns and needs[0] and not has_cores_for(binding, needs[0] // 1000, allocatable, node):
        return None
    if any(sum(c[i] for c in cells) < need for i, need in enumerate(needs)):
        return None
    has = dict(node.extended)
    if any(has.get(name, 0) < amount for name, amount in spec.requests.extended):
        return None
    limit, possible = limit_of(policy, real, needs)
    if not possible:
        return None
    if policy is AlignmentPolicy.RESTRICTED and limit is None:
        policy = AlignmentPolicy.NONE  # nothing has a width
    least = 0
    if policy is AlignmentPolicy.BEST_EFFORT:
        least = fewest_cells(cells, needs) or 0
    gpus = spec.requests.count_of(GPU)
    pairs = 0
    if gpus > 1:
        pairs = best_permitted_sum(device_board(node, GPU), gpus, spec.scope_of(GPU)) or 0
    return Fit(
        alignment=policy,
        cell_limit=limit,
        fewest_cells=least,
        bind=binding.policy,
        bind_required=binding.required,
        bind_asked=binding.asked,
        bind_remainder=binding.remainder,
        spread_wished=binding.spread_wished,
        best_pair_sum=pairs,
        joint=joint_fit_of(spec, node),
        fewest_packages=_fewest_groups(Locality.PACKAGE, spec, node),
        fewest_caches=_fewest_groups(Locality.LLC, spec, node),
        fewest_cpu_cells=fewest_cpu_cells(spec, node),
        locality=locality_fit(spec, node, policy),
    )


def _has_sets(spec: PodSpec, node: Node) -> bool:
    """Return whether the empty node has devices that the pod may have together."""
    if not spec.scopes and not node.honors_table:
        return True
    requests = spec.requests
    return all(  # whole devices and parts of others are one set
        has_set(device_board(node, kind), requests.count_of(kind), spec.scope_of(kind))
        for kind in sorted({request.type for request in requests.devices if request.count})
    )


def _in_parts_of_cpus(spec: PodSpec) -> bool:
    """Return whether a container wants a part of a CPU that nobody else may have (C3)."""
    return spec.qos.owns_cpus and any(c.requests.cpu_milli % 1000 for c in spec.containers)


def _fewest_groups(wish: Locality, spec: PodSpec, node: Node) -> int | None:
    """Return the packages or caches that the pod needs on the empty node.

    None where nobody wishes for few of them, or the node has just one.
    """
    if not spec.qos.owns_cpus or wish not in (spec.locality or node.locality):
        return None
    want = spec.requests.cpu_milli // 1000
    cpus = [node.machine.topology.cpu[i] for i in node.machine.topology.online - node.reserved_cpus]
    groups = Counter(cpu.package if wish is Locality.PACKAGE else cpu.llc for cpu in cpus)
    return width(list(groups.values()), want) if want and len(groups) > 1 else None
