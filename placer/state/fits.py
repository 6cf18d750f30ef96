"""Fits: what the specs of pods mean on the kinds of nodes, as constants of a Problem."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from placer.counting.boards import healthy_devices, linked_classes_of_node
from placer.counting.node_resources import (
    resource_amount_on_node,
    resources_of_empty_node,
    resources_of_pod,
)
from placer.state.alignment import (
    aligned_milli_per_cpu,
    aligned_needs_and_cells,
    aligned_needs_of_burst_pod,
    alignment_scopes_conflict,
    aligns_by_container,
    numa_node_limit,
)
from placer.state.binding import effective_bind_policy_on_node, has_cores_for
from placer.state.default_locality import fewest_cells_and_packages
from placer.state.device_counts import pod_requests_given_node
from placer.state.joint import joint_fit_of
from placer.state.strategies import allowed_numa_cpu_skew, fewest_cpu_cells
from placer_models.alignment import (
    CellAmounts,
    fewest_cell_count_for_all_resources,
    fewest_cell_count_for_one_resource,
)
from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.effective import effective_alignment_policy, effective_exclusive_policy
from placer_models.links.allowed import has_allowed_set_on_empty_board
from placer_models.links.permitted import best_permitted_pair_minimum, best_permitted_pair_sum
from placer_models.node_rules import NODE_RULES, missed_preference_weight_on_node, node_rules_allow
from placer_models.pod import PodSpec
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    CpuLocalityWish,
    ExclusivePolicy,
    SameTypeDevicesScope,
)
from placer_models.problem.problem import Fit

RuleInTheWay = tuple[str, str]
"""A rule that no such node can ever keep for a pod, and which device type, extended resource or
page size it counts there; empty where it counts none by itself."""


def best_pair_minimum_of(spec: PodSpec, nodes: Iterable[Node]) -> int:
    """Return the best slowest pair of the spec's GPUs on any empty node that admits it."""
    gpus = spec.requests.count_of(GPU)
    if gpus < 2:
        return 0
    scope = spec.scope_of(GPU)
    boards = (linked_classes_of_node(node, GPU) for node in nodes if node_rules_allow(node, spec))
    found = (best_permitted_pair_minimum(board, gpus, scope) for board in boards)
    return max((value for value in found if value is not None), default=0)


def fit_of(spec: PodSpec, node: Node) -> Fit | RuleInTheWay:
    """Return what the spec means on the node, or what keeps it off the node for ever.

    The rule need not be the first in the order of reasons (`search.reasons.register`).
    """
    policy = effective_alignment_policy(spec, node)
    binding = effective_bind_policy_on_node(spec, node)
    if (barred := _barred(spec, node)) is not None:
        return barred
    if isinstance(binding, str):
        return binding, ""
    if _unalignable(spec, node):
        return "alignment", ""
    assert policy is not None  # else it cannot be aligned
    if aligns_by_container(spec, node):
        policy = AlignmentPolicy.NONE  # for the pod as a whole
    owns, each = spec.qos.owns_cpus, aligned_milli_per_cpu(spec, node, policy)
    needs, cells, real = aligned_needs_and_cells(
        pod_requests_given_node(spec, node), node, milli_per_cpu=each
    )
    if spec.constrained_burst:
        needs, cells, real = aligned_needs_of_burst_pod(spec, node, needs, cells)
    if (short := _short(spec, node, needs, cells)) is not None:
        return short
    allocatable = node.machine.topology.online - node.reserved_cpus
    if owns and needs[0] and not has_cores_for(binding, needs[0] // 1000, allocatable, node):
        return binding.rule, ""
    limit, possible = numa_node_limit(policy, real, needs)
    if not possible:
        return "alignment", ""
    if policy is AlignmentPolicy.RESTRICTED and limit is None:
        policy = AlignmentPolicy.NONE  # nothing has a width
    least = 0
    if policy is AlignmentPolicy.BEST_EFFORT:
        least = fewest_cell_count_for_all_resources(cells, needs) or 0
    gpus = spec.requests.count_of(GPU)
    pairs = 0
    if gpus > 1:
        board = linked_classes_of_node(node, GPU)
        pairs = best_permitted_pair_sum(board, gpus, spec.scope_of(GPU)) or 0
    return Fit(
        alignment=policy,
        cell_limit=limit,
        fewest_cells=least,
        bind=binding.policy,
        bind_required=binding.required,
        bind_asked=binding.asked,
        bind_remainder=binding.remainder,
        bind_waived=binding.waived,
        spread_wished=binding.spread_wished,
        best_pair_sum=pairs,
        joint=joint_fit_of(spec, node),
        fewest_packages=_fewest_groups(CpuLocalityWish.PACKAGE, spec, node),
        fewest_caches=_fewest_groups(CpuLocalityWish.LLC, spec, node),
        fewest_cpu_cells=fewest_cpu_cells(spec, node),
        cpus_apart=allowed_numa_cpu_skew(spec, node),
        locality=fewest_cells_and_packages(spec, node, policy),
        weight_missed=missed_preference_weight_on_node(spec, node),
        apart=(apart := _apart(spec, node)),
        apart_required=spec.exclusive_required and apart is not ExclusivePolicy.NONE,
    )


def _rule_of_devices(spec: PodSpec, kinds: Collection[str]) -> RuleInTheWay:
    """Return the rule of the pod's requests of some types, which cannot all be met.

    Whole devices and shares of others are counted together, by the rule of the shares if there
    are any.
    """
    lacking = [request for request in spec.requests.devices if request.type in kinds]
    first = next((request for request in lacking if request.share), lacking[0])
    return spec.rule_counting(first), first.type


def _barred(spec: PodSpec, node: Node) -> RuleInTheWay | None:
    """Return what bars the pod because of what the node is, not because of how much it has."""
    for rule in NODE_RULES.values():
        if not rule.kept(spec, node):
            return rule.name, ""
    for request in spec.requests.devices:
        if request.type in dict(spec.strategies) and not healthy_devices(node, request.type):
            return spec.rule_counting(request), request.type
    if _in_parts_of_cpus(spec):
        return "cpu-count", ""
    limited = spec.scopes or node.honors_table
    for kind in sorted({r.type for r in spec.requests.devices if r.count}) if limited else ():
        # Whole devices and shares of others are one set.
        count, scope = spec.requests.count_of(kind), spec.scope_of(kind)
        if has_allowed_set_on_empty_board(linked_classes_of_node(node, kind), count, scope):
            continue
        if node.honors_table and kind == GPU:
            return "partition", ""
        if scope is not SameTypeDevicesScope.NODE and count > 1:
            return "device-scope", kind
        return _rule_of_devices(spec, {kind})
    return None


def _unalignable(spec: PodSpec, node: Node) -> bool:
    """Return whether what pod and node say about alignment excludes each other."""
    if effective_alignment_policy(spec, node) is None or alignment_scopes_conflict(spec, node):
        return True
    in_parts = spec.strategies or any(request.share for request in spec.requests.devices)
    return bool(in_parts and aligns_by_container(spec, node))


def _short(
    spec: PodSpec, node: Node, needs: CellAmounts, cells: Sequence[CellAmounts]
) -> RuleInTheWay | None:
    """Return what the empty node has too little of, or None if it has enough."""
    requests = pod_requests_given_node(spec, node)
    has = resources_of_empty_node(node)
    for resource, want in resources_of_pod(spec).items():
        if resource_amount_on_node(resource, has) < want:
            return resource
    short = [sum(cell[i] for cell in cells) < need for i, need in enumerate(needs)]
    pages = len(spec.requests.hugepages)
    if any(short[2 + pages :]):
        kinds = {request.type for request in requests.devices}
        lacking = {k for k in kinds if requests.count_of(k) > len(healthy_devices(node, k))}
        return _rule_of_devices(spec, lacking)
    if short[0]:
        of_pool = "constrained-burst" if spec.constrained_burst else "alignment"
        return "cpu-count" if spec.qos.owns_cpus else of_pool, ""
    if short[1]:
        return "memory", ""
    for asked, lacks in zip(spec.requests.hugepages, short[2 : 2 + pages], strict=True):
        if lacks:
            return "hugepages", str(asked.page_bytes)
    return None


def _apart(spec: PodSpec, node: Node) -> ExclusivePolicy:
    """Return the exclusive policy, or none without CPUs, or where the bind policy ensures it."""
    policy = effective_exclusive_policy(spec, node)
    if not spec.requests.cpu_milli:  # reasons ask for pods without their CPUs
        return ExclusivePolicy.NONE
    whole_only = spec.bind_required and spec.bind is BindPolicy.FULL_PCPUS
    ensured = whole_only and policy is ExclusivePolicy.PCPU_LEVEL
    return ExclusivePolicy.NONE if ensured else policy


def _in_parts_of_cpus(spec: PodSpec) -> bool:
    """Return whether a container asks for a part of a CPU, though the pod owns its CPUs (C3)."""
    return spec.qos.owns_cpus and any(c.requests.cpu_milli % 1000 for c in spec.containers)


def _fewest_groups(wish: CpuLocalityWish, spec: PodSpec, node: Node) -> int | None:
    """Return the packages or caches that the pod needs on the empty node.

    None if neither pod nor node wishes for few of them, or if the node has just one.
    """
    if not spec.qos.owns_cpus or wish not in (spec.locality or node.locality):
        return None
    want = spec.requests.cpu_milli // 1000
    cpus = [node.machine.topology.cpu[i] for i in node.machine.topology.online - node.reserved_cpus]
    groups = Counter(cpu.package if wish is CpuLocalityWish.PACKAGE else cpu.llc for cpu in cpus)
    return (
        fewest_cell_count_for_one_resource(list(groups.values()), want)
        if want and len(groups) > 1
        else None
    )
